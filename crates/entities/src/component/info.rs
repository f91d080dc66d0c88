//! Type-erased component metadata: sizes, options, and functions on columns.

#![expect(unsafe_code, reason = "functions on columns whose type was erased")]

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::mem::{self, align_of, needs_drop, size_of};
use std::num::NonZero;
use std::ptr::{self, slice_from_raw_parts_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr};
use std::{fmt, slice};

use super::component_type::stable_name;
use super::probe::How;
use super::registry::keep_name;
use super::require::{Requirements, requirements_of};
use super::{Component, ComponentType, REMEDY, RelationshipInfo, WriteGroup};
use crate::entity::Entity;
use crate::field::{
    EntityRemap, Shape, StateHasher, ValueError, ValueReader, ValueWriter, unreadable,
};

/// Type-erased metadata of a component type. There is one for each type of the program, which is created at registration and
/// never freed.
///
/// The functions operate on *columns*: contiguous values at an address that is aligned for the type.
pub(crate) struct TypeInfo {
    /// The index of the type in order of registration. Results must not depend on it, because several threads may register types.
    pub(crate) index: u32,
    pub(crate) name: &'static str,
    /// The name of the type in state hashes and files. Unlike `name`, it contains no path, and several types may have the same
    /// one.
    pub(crate) stable_name: &'static str,
    pub(crate) stable_hash: u64,
    /// True if another type of the program has the same stable name. The registry sets it.
    pub(crate) shares_stable_name: AtomicBool,
    pub(crate) size: usize,
    pub(crate) align: usize,
    pub(crate) shape: &'static Shape,
    pub(crate) enableable: bool,
    pub(crate) cleanup: bool,
    /// True if writes are recorded per row.
    pub(crate) tracked: bool,
    pub(crate) write_groups: &'static [WriteGroup],
    /// The remedy in errors about entities without the component.
    pub(crate) remedy: &'static str,
    /// The maximum number of entities in a chunk with this type, if the type sets one.
    pub(crate) maximum_capacity: Option<NonZero<u32>>,
    /// True if several threads may read a value at the same time. Otherwise the memory of values is never shared with forks.
    pub(crate) sync: bool,
    /// The Rust type, or `None` for runtime types.
    pub(crate) type_id: Option<TypeId>,
    pub(crate) drop: Option<DropColumn>,
    pub(crate) copying: Copying,
    pub(crate) beginning: Beginning,
    pub(crate) hash: HashColumn,
    pub(crate) remap: Option<RemapColumn>,
    pub(crate) write: WriteColumn,
    pub(crate) read: ReadColumn,
    /// Function that finds the elements of a buffer. `None` for other components.
    pub(crate) elements: Option<FindElements>,
    /// The type and default of the per-chunk value, if the type is a chunk component. The column then has no bytes.
    pub(crate) per_chunk: Option<ChunkValue>,
    /// The functions on shared values, if the type is a shared component. The column then has no bytes.
    pub(crate) shared: Option<SharedFunctions>,
    /// The components that arrive together with the type.
    pub(crate) requirements: Requirements,
    /// The relationship that the type is the source of.
    pub(crate) relationship: Option<&'static RelationshipInfo>,
    /// The relationship whose sources a buffer of the type contains.
    pub(crate) reverse_of: Option<&'static RelationshipInfo>,
}

/// The description of a value that exists once per chunk.
#[derive(Clone, Copy)]
pub(crate) struct ChunkValue {
    /// The type of the value, as a component of entities.
    pub(crate) of: ComponentType,
    /// Writes the initial value of a chunk, which is the default of the type. The initial value for entities may be another one.
    pub(crate) write_default: InitialColumn,
}

/// A type-erased shared component value.
#[doc(hidden)]
pub type SharedValue = Arc<dyn Any + Send + Sync>;

/// Functions on the values of a shared component. They panic if a value has another type.
#[derive(Clone, Copy)]
pub(crate) struct SharedFunctions {
    /// Hashes a value. Equal values have equal hashes.
    pub(crate) hash: fn(&(dyn Any + Send + Sync)) -> u64,
    pub(crate) equal: fn(&(dyn Any + Send + Sync), &(dyn Any + Send + Sync)) -> bool,
    /// The shape of a value.
    pub(crate) shape: &'static Shape,
    /// Feeds a value to a hasher, field by field.
    pub(crate) feed: fn(&(dyn Any + Send + Sync), &mut StateHasher),
    /// Writes a value field by field.
    pub(crate) write: fn(&(dyn Any + Send + Sync), &mut dyn ValueWriter),
    /// Reads a value field by field.
    pub(crate) read: fn(&mut dyn ValueReader) -> Result<SharedValue, ValueError>,
    /// Creates the default value, if the type has one.
    pub(crate) default: Option<fn() -> SharedValue>,
    /// Creates a copy of a shared value with replaced entities. `None` if values of the type cannot refer to entities.
    pub(crate) remap: Option<RemapShared>,
}

/// Creates a copy of a shared value with replaced entities. Returns `None` if no entity is replaced.
pub(crate) type RemapShared =
    fn(&(dyn Any + Send + Sync), &mut EntityRemap<'_>) -> Option<SharedValue>;

/// Drops `count` values, beginning at an address.
///
/// # Safety
///
/// - the address has `count` values of the type
/// - the values are not used afterwards
pub(crate) type DropColumn = unsafe fn(*mut u8, usize);

/// Clones `count` values from the first address to the second. If it panics, no clone remains.
///
/// # Safety
///
/// - the first address has `count` values of the type
/// - the second address has room for `count` values and does not overlap the first
pub(crate) type CloneColumn = unsafe fn(*const u8, *mut u8, usize);

/// Writes `count` initial values to an address. If it panics, no value remains.
///
/// # Safety
///
/// - the address has room for `count` values
pub(crate) type InitialColumn = unsafe fn(*mut u8, usize);

/// Feeds `count` values, beginning at an address, to a hasher.
///
/// # Safety
///
/// - the address has `count` values of the type
pub(crate) type HashColumn = unsafe fn(&'static Shape, *const u8, usize, &mut StateHasher);

/// Replaces the entities in `count` values, beginning at an address.
///
/// # Safety
///
/// - the address has `count` values of the type, which no other code uses during the call
///
/// The function [records](EntityRemap::begin_value) the start of each value before user code runs for the value, because user
/// code may panic.
pub(crate) type RemapColumn = unsafe fn(&'static Shape, *mut u8, usize, &mut EntityRemap<'_>);

/// Writes `count` values, beginning at an address, field by field. Each value follows a call of [`ValueWriter::element`].
///
/// # Safety
///
/// - the address has `count` values of the type
pub(crate) type WriteColumn = unsafe fn(&'static Shape, *const u8, usize, &mut dyn ValueWriter);

/// Reads `count` values field by field, and writes them to an address. If it fails or panics, no value remains.
///
/// # Safety
///
/// - the address has room for `count` values
pub(crate) type ReadColumn =
    unsafe fn(&'static Shape, *mut u8, usize, &mut dyn ValueReader) -> Result<(), ValueError>;

/// Returns the elements of a buffer: the element shape, the address of the first element and the count.
///
/// # Safety
///
/// - the address has a value of the type, which does not change during the call
pub(crate) type FindElements = unsafe fn(*const u8) -> (&'static Shape, *const u8, usize);

#[derive(Clone, Copy)]
pub(crate) enum Copying {
    NotAtAll,
    Bytes,
    /// Values are cloned by a function that runs no user code and does not panic.
    Deep(CloneColumn),
    Clone(CloneColumn),
}

#[derive(Clone, Copy)]
pub(crate) enum Beginning {
    None,
    /// The value consists of zero bytes. Used for runtime types, and for types without bytes.
    Zero,
    Default(InitialColumn),
}

impl TypeInfo {
    /// Creates the metadata of a type with this shape, without options, drop glue or references. Its values are duplicated by
    /// copying their bytes.
    pub(crate) fn new(
        index: u32,
        (name, stable_name): (&'static str, &'static str),
        shape: &'static Shape,
        type_id: Option<TypeId>,
    ) -> Self {
        Self {
            index,
            name,
            stable_name,
            stable_hash: stable_hash(stable_name),
            shares_stable_name: AtomicBool::new(false),
            size: shape.size,
            align: shape.align,
            shape,
            enableable: false,
            cleanup: false,
            tracked: false,
            write_groups: &[],
            remedy: REMEDY,
            maximum_capacity: None,
            sync: true,
            type_id,
            drop: None,
            copying: Copying::Bytes,
            beginning: Beginning::Zero,
            hash: hash_bytes,
            remap: None,
            write: write_opaque,
            read: read_opaque,
            elements: None,
            per_chunk: None,
            shared: None,
            requirements: Requirements::default(),
            relationship: None,
            reverse_of: None,
        }
    }

    /// Creates the metadata of a wrapper such as `Buffer<T>`, with this shape and without options. `name` is the name of `T`.
    pub(crate) fn of_wrapper<W: 'static, T>(
        index: u32,
        wrapper: &str,
        name: &'static str,
        shape: &'static Shape,
    ) -> Self {
        let wrap = |name: &str| keep_name(format!("{wrapper}<{name}>"));
        let names = (wrap(name), wrap(stable_name::<T>(name)));
        Self::new(index, names, shape, Some(TypeId::of::<W>()))
    }

    pub(super) fn of<T: Component>(index: u32) -> Self {
        const {
            assert!(!(T::ENABLEABLE && T::CLEANUP), "a cleanup component cannot be enableable");
        }
        let name = T::name();
        let names = (name, stable_name::<T>(name));
        Self {
            size: size_of::<T>(),
            align: align_of::<T>(),
            enableable: T::ENABLEABLE,
            cleanup: T::CLEANUP,
            tracked: T::TRACK_CHANGES,
            write_groups: T::WRITE_GROUPS,
            remedy: T::REMEDY,
            maximum_capacity: T::MAXIMUM_CHUNK_CAPACITY,
            drop: needs_drop::<T>().then_some(drop_column::<T> as DropColumn),
            copying: match T::duplicate().how {
                How::NotAtAll => Copying::NotAtAll,
                How::Bytes(_) => Copying::Bytes,
                How::Clone(_) => Copying::Clone(clone_column::<T>),
            },
            beginning: match T::initial().make {
                None => Beginning::None,
                Some(_) => Beginning::Default(initial_column::<T>),
            },
            hash: hash_column::<T>,
            remap: T::HAS_ENTITIES.then_some(remap_column::<T> as RemapColumn),
            requirements: requirements_of::<T>(),
            // The functions of another type would misread the values.
            relationship: T::RELATIONSHIP.filter(|info| (info.rust_types)().0 == TypeId::of::<T>()),
            write: write_column::<T>,
            read: read_column::<T>,
            ..Self::new(index, names, T::SHAPE, Some(TypeId::of::<T>()))
        }
    }
}

/// Hashes a stable name with 64-bit FNV-1a, which is simple and gives the same result on every machine.
pub(crate) fn stable_hash(stable_name: &str) -> u64 {
    stable_name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Implements [`DropColumn`] for the type `T`.
///
/// # Safety
///
/// - the column has `count` values of type `T`
/// - the values are not used afterwards
pub(crate) unsafe fn drop_column<T>(column: *mut u8, count: usize) {
    // SAFETY: the column has `count` values of type `T`, which are not used afterwards. Dropping a slice drops all elements, even
    // if a drop panics.
    unsafe { ptr::drop_in_place(slice_from_raw_parts_mut(column.cast::<T>(), count)) }
}

/// A guard that drops the written values of a column if writing a later value panics.
pub(crate) struct Written {
    drop: Option<DropColumn>,
    first: *mut u8,
    count: usize,
}

impl Written {
    /// Writes `count` values returned by `make`, beginning at `first`. If `make` panics, no value remains.
    ///
    /// # Safety
    ///
    /// - `first` has room for `count` values
    #[inline(always)]
    pub(crate) unsafe fn fill<T>(first: *mut T, count: usize, mut make: impl FnMut(usize) -> T) {
        let drop = needs_drop::<T>().then_some(drop_column::<T> as DropColumn);
        // SAFETY: `first` has room for `count` values, and each call of the function writes the next of them.
        unsafe {
            Self::fill_with(first.cast(), count, drop, |index| {
                let value = make(index);
                first.add(index).write(value);
            });
        }
    }

    /// Calls `write` for each of `count` values, which begin at `first`. If a call panics, no value remains.
    ///
    /// # Safety
    ///
    /// - the function writes a value at the given index of the column at `first`, unless it panics
    /// - `drop` drops leading values of the column, and is `None` only if they need not be dropped
    #[inline(always)]
    pub(crate) unsafe fn fill_with(
        first: *mut u8,
        count: usize,
        drop: Option<DropColumn>,
        mut write: impl FnMut(usize),
    ) {
        let mut written = Self { drop, first, count: 0 };
        for index in 0..count {
            write(index);
            written.count = index + 1;
        }
        mem::forget(written);
    }
}

impl Written {
    /// Writes `count` values returned by `make`, beginning at `first`. If `make` fails or panics, no value remains.
    ///
    /// # Safety
    ///
    /// - `first` has room for `count` values
    pub(crate) unsafe fn try_fill<T>(
        first: *mut T,
        count: usize,
        mut make: impl FnMut() -> Result<T, ValueError>,
    ) -> Result<(), ValueError> {
        let drop = needs_drop::<T>().then_some(drop_column::<T> as DropColumn);
        let mut written = Self { drop, first: first.cast(), count: 0 };
        for index in 0..count {
            let value = make()?;
            // SAFETY: `first` has room for `count` values, and `index` is less than `count`.
            unsafe { first.add(index).write(value) };
            written.count = index + 1;
        }
        mem::forget(written);
        Ok(())
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            // SAFETY: `count` values were written at `first`, and no other code has access to them.
            unsafe { drop(self.first, self.count) }
        }
    }
}

/// Implements [`CloneColumn`] for the component type `T`.
///
/// # Safety
///
/// - `from` has `count` values of type `T`
/// - `to` has room for `count` values and does not overlap `from`
unsafe fn clone_column<T: Component>(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: `from` has `count` values of type `T`.
    let values = unsafe { slice::from_raw_parts(from.cast::<T>(), count) };
    // `duplicate` is called again, because the function cannot be stored without its type. A different result is harmless.
    let How::Clone(clone) = T::duplicate().how else {
        panic!("`{}` is no longer duplicated by cloning", T::name());
    };
    // SAFETY: `to` has room for `count` values.
    unsafe { Written::fill(to.cast::<T>(), count, |index| clone(&values[index])) }
}

/// Implements [`InitialColumn`] for the component type `T`.
///
/// # Safety
///
/// - `to` has room for `count` values of type `T`
unsafe fn initial_column<T: Component>(to: *mut u8, count: usize) {
    let Some(make) = T::initial().make else {
        panic!("`{}` no longer has an initial value", T::name());
    };
    // SAFETY: `to` has room for `count` values.
    unsafe { Written::fill(to.cast::<T>(), count, |_| make()) }
}

/// Implements [`HashColumn`] for the component type `T`.
///
/// # Safety
///
/// - the column has `count` values of type `T`
unsafe fn hash_column<T: Component>(
    _: &'static Shape,
    column: *const u8,
    count: usize,
    state: &mut StateHasher,
) {
    // SAFETY: the column has `count` values of type `T`.
    T::hash_states(unsafe { slice::from_raw_parts(column.cast::<T>(), count) }, state);
}

/// Implements [`RemapColumn`] for the component type `T`.
///
/// # Safety
///
/// - the column has `count` values of type `T`, which no other code uses during the call
unsafe fn remap_column<T: Component>(
    _: &'static Shape,
    column: *mut u8,
    count: usize,
    map: &mut EntityRemap<'_>,
) {
    // SAFETY: the column has `count` values of type `T`, which no other code uses during the call.
    for value in unsafe { slice::from_raw_parts_mut(column.cast::<T>(), count) } {
        map.begin_value();
        value.remap(map);
    }
}

/// Implements [`WriteColumn`] for the component type `T`.
///
/// # Safety
///
/// - the column has `count` values of type `T`
unsafe fn write_column<T: Component>(
    _: &'static Shape,
    column: *const u8,
    count: usize,
    out: &mut dyn ValueWriter,
) {
    // SAFETY: the column has `count` values of type `T`.
    for value in unsafe { slice::from_raw_parts(column.cast::<T>(), count) } {
        out.element();
        value.write_value(out);
    }
}

/// Implements [`ReadColumn`] for the component type `T`.
///
/// # Safety
///
/// - `to` has room for `count` values of type `T`
unsafe fn read_column<T: Component>(
    _: &'static Shape,
    to: *mut u8,
    count: usize,
    from: &mut dyn ValueReader,
) -> Result<(), ValueError> {
    // SAFETY: `to` has room for `count` values.
    unsafe { Written::try_fill(to.cast::<T>(), count, || T::read_value(from)) }
}

/// Implements [`WriteColumn`] for types whose values are written in another way.
///
/// # Safety
///
/// - the column has `count` values of the shape
unsafe fn write_opaque(shape: &'static Shape, _: *const u8, _: usize, out: &mut dyn ValueWriter) {
    out.opaque(shape.name);
}

/// Implements [`ReadColumn`] for types whose values are read in another way. It always fails.
///
/// # Safety
///
/// - `to` has room for `count` values of the shape
unsafe fn read_opaque(
    shape: &'static Shape,
    _: *mut u8,
    _: usize,
    from: &mut dyn ValueReader,
) -> Result<(), ValueError> {
    Err(unreadable(from, shape.name))
}

/// Implements [`HashColumn`] for types all of whose bytes are initialised.
///
/// # Safety
///
/// - the column has `count` values of the shape
unsafe fn hash_bytes(
    shape: &'static Shape,
    column: *const u8,
    count: usize,
    state: &mut StateHasher,
) {
    // SAFETY: the column has `count` values of the shape, and all their bytes are initialised.
    state.write_bytes(unsafe { slice::from_raw_parts(column, count * shape.size) });
}

/// Implements [`RemapColumn`] for runtime types, whose entities are at offsets of the shape.
///
/// # Safety
///
/// - the column has `count` values of the shape, which no other code uses during the call
pub(super) unsafe fn remap_bytes(
    shape: &'static Shape,
    column: *mut u8,
    count: usize,
    map: &mut EntityRemap<'_>,
) {
    for field in shape.fields().iter().filter(|field| field.shape.has_entities) {
        for at in 0..count {
            let entity = column.wrapping_add(at * shape.size + field.offset).cast::<Entity>();
            // SAFETY: the field is inside the value, which no other code uses; any bytes are a valid entity.
            unsafe { entity.write_unaligned(map.apply(entity.read_unaligned())) };
        }
    }
}

/// A cache for the registration of one component type, which reduces a lookup to one load.
///
/// The derive creates a slot for each type that is not generic. The slot is typed, so that safe code cannot use the slot of
/// another type. It is also invariant, because `for<'a> fn(&'a T)` is a subtype of `fn(&'static T)` but a different component
/// type. With one slot for both, a value of one type would be read as the other.
#[doc(hidden)]
pub struct TypeSlot<T> {
    info: AtomicPtr<TypeInfo>,
    of: PhantomData<fn(T) -> T>,
}

impl<T> TypeSlot<T> {
    /// Creates an empty slot.
    pub const fn new() -> Self {
        Self { info: AtomicPtr::new(ptr::null_mut()), of: PhantomData }
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&'static TypeInfo> {
        // Acquire pairs with the release in `set`: a thread that reads the pointer also sees the metadata.
        let info = self.info.load(Acquire);
        // SAFETY: the pointer is null, or was created from a `&'static TypeInfo` in `set`.
        unsafe { info.as_ref() }
    }

    pub(crate) fn set(&self, info: &'static TypeInfo) {
        self.info.store(ptr::from_ref(info).cast_mut(), Release);
    }
}

impl<T> Default for TypeSlot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for TypeSlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(info) => write!(f, "TypeSlot({})", info.name),
            None => f.write_str("TypeSlot(unregistered)"),
        }
    }
}

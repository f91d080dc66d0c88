//! Type-erased component metadata: sizes, and functions on columns.

#![expect(unsafe_code, reason = "functions on columns whose type was erased")]

use std::any::{Any, TypeId};
use std::mem::{self, align_of, needs_drop, size_of};
use std::num::NonZero;
use std::ptr::{self, slice_from_raw_parts_mut};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::component_type::stable_name;
use super::probe::How;
use super::{Component, ComponentType, WriteGroup};
use crate::field::{EntityRemap, Shape, StateHasher};

/// Type-erased metadata of a component type. Each type of the program has one, created at registration and never freed.
///
/// The functions work on *columns*: contiguous values from an address that is aligned for the type.
pub(crate) struct TypeInfo {
    /// The index in order of registration. No result may depend on it: threads may register types.
    pub(crate) index: u32,
    pub(crate) name: &'static str,
    /// The name of the type in state hashes and files. Unlike `name` it contains no path, and several types may share it.
    pub(crate) stable_name: &'static str,
    pub(crate) stable_hash: u64,
    /// Set by the registry if another type of the program has the same stable name.
    pub(crate) shares_stable_name: AtomicBool,
    pub(crate) size: usize,
    pub(crate) align: usize,
    pub(crate) shape: &'static Shape,
    pub(crate) enableable: bool,
    pub(crate) cleanup: bool,
    /// Records writes per row.
    pub(crate) tracked: bool,
    pub(crate) write_groups: &'static [WriteGroup],
    /// The maximum number of entities in a chunk with this type, if the type sets one.
    pub(crate) maximum_capacity: Option<NonZero<u32>>,
    /// Several threads may read a value at once. If not, its memory is never shared with forks.
    pub(crate) sync: bool,
    /// `None` for runtime types.
    pub(crate) type_id: Option<TypeId>,
    pub(crate) drop: Option<DropColumn>,
    pub(crate) copying: Copying,
    pub(crate) beginning: Beginning,
    pub(crate) hash: HashColumn,
    pub(crate) remap: Option<RemapColumn>,
    /// Set for buffers only.
    pub(crate) elements: Option<FindElements>,
    /// The per-chunk value, if the type is a chunk component. Its column then has no bytes.
    pub(crate) per_chunk: Option<ChunkValue>,
    /// Functions on values of a shared component. Its column then has no bytes.
    pub(crate) shared: Option<SharedFunctions>,
}

/// A value per chunk instead of per entity.
#[derive(Clone, Copy)]
pub(crate) struct ChunkValue {
    /// The type of the value, as a component of entities.
    pub(crate) of: ComponentType,
    /// Writes the initial value of a chunk. The type always has a default, whatever its initial value for entities is.
    pub(crate) write_default: InitialColumn,
}

/// A type-erased shared component value.
pub(crate) type SharedValue = Arc<dyn Any + Send + Sync>;

/// Functions on shared values. They panic if the value is of another type.
#[derive(Clone, Copy)]
pub(crate) struct SharedFunctions {
    /// Hashes a value. Equal values have equal hashes.
    pub(crate) hash: fn(&(dyn Any + Send + Sync)) -> u64,
    pub(crate) equal: fn(&(dyn Any + Send + Sync), &(dyn Any + Send + Sync)) -> bool,
    /// The shape of a value.
    pub(crate) shape: &'static Shape,
    /// Feeds a value to a hasher, field by field.
    pub(crate) feed: fn(&(dyn Any + Send + Sync), &mut StateHasher),
    /// Creates the default value, if the type has one.
    pub(crate) default: Option<fn() -> SharedValue>,
    /// Creates a copy with remapped entities, if values of the type refer to entities.
    pub(crate) remap: Option<RemapShared>,
}

/// Creates a copy of a shared value with remapped entities. `None` if all entities stay the same.
pub(crate) type RemapShared =
    fn(&(dyn Any + Send + Sync), &mut EntityRemap<'_>) -> Option<SharedValue>;

/// Drops `count` values from an address on.
///
/// # Safety
///
/// - they are values of the type
/// - they are not used afterwards
pub(crate) type DropColumn = unsafe fn(*mut u8, usize);

/// Clones `count` values from the first address to the second: all of them, or none if it panics.
///
/// # Safety
///
/// - the first address has `count` values of the type
/// - the second address has room for `count` values and does not overlap the first
pub(crate) type CloneColumn = unsafe fn(*const u8, *mut u8, usize);

/// Writes `count` initial values to an address: all of them, or none if it panics.
///
/// # Safety
///
/// - the address has room for `count` values
pub(crate) type InitialColumn = unsafe fn(*mut u8, usize);

/// Feeds `count` values to a hasher.
///
/// # Safety
///
/// - the address has `count` values of the type
pub(crate) type HashColumn = unsafe fn(&'static Shape, *const u8, usize, &mut StateHasher);

/// Replaces the entities in `count` values.
///
/// # Safety
///
/// - the address has `count` values of the type, which no other code uses during the call
///
/// It [records](EntityRemap::begin_value) the start of each value before user code runs for it, which may panic.
pub(crate) type RemapColumn = unsafe fn(&'static Shape, *mut u8, usize, &mut EntityRemap<'_>);

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
    /// Cloned by a function that runs no user code and does not panic.
    Deep(CloneColumn),
    Clone(CloneColumn),
}

#[derive(Clone, Copy)]
pub(crate) enum Beginning {
    None,
    /// For runtime types, and types without bytes.
    Zero,
    Default(InitialColumn),
}

impl TypeInfo {
    pub(super) fn of<T: Component>(index: u32) -> Self {
        const {
            assert!(!(T::ENABLEABLE && T::CLEANUP), "a cleanup component cannot be enableable");
        }
        let name = T::name();
        let stable_name = stable_name::<T>(name);
        Self {
            index,
            name,
            stable_name,
            stable_hash: stable_hash(stable_name),
            shares_stable_name: AtomicBool::new(false),
            size: size_of::<T>(),
            align: align_of::<T>(),
            shape: T::SHAPE,
            enableable: T::ENABLEABLE,
            cleanup: T::CLEANUP,
            tracked: T::TRACK_CHANGES,
            write_groups: T::WRITE_GROUPS,
            maximum_capacity: T::MAXIMUM_CHUNK_CAPACITY,
            sync: true,
            type_id: Some(TypeId::of::<T>()),
            drop: needs_drop::<T>().then_some(drop_column::<T> as DropColumn),
            copying: match T::duplicate().how {
                How::NotAtAll => Copying::NotAtAll,
                How::Bytes => Copying::Bytes,
                How::Clone(_) => Copying::Clone(clone_column::<T>),
            },
            beginning: match T::initial().make {
                None => Beginning::None,
                Some(_) => Beginning::Default(initial_column::<T>),
            },
            hash: hash_column::<T>,
            remap: T::HAS_ENTITIES.then_some(remap_column::<T> as RemapColumn),
            per_chunk: None,
            shared: None,
            elements: None,
        }
    }
}

/// Hashes a stable name with 64-bit FNV-1a, which is short and the same on every machine.
pub(crate) fn stable_hash(stable_name: &str) -> u64 {
    stable_name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Implements [`DropColumn`].
///
/// # Safety
///
/// - the column has `count` values of type `T`
/// - they are not used afterwards
pub(crate) unsafe fn drop_column<T>(column: *mut u8, count: usize) {
    // SAFETY: the column has `count` values of type `T`, which are not used afterwards. A slice drops all its elements, even if one
    // drop panics.
    unsafe { ptr::drop_in_place(slice_from_raw_parts_mut(column.cast::<T>(), count)) }
}

/// A guard over written values that drops them if a later step panics.
pub(crate) struct Written<T> {
    first: *mut T,
    count: usize,
}

impl<T> Written<T> {
    /// Writes `count` values returned by `make`, starting at `first`.
    ///
    /// # Safety
    ///
    /// - `first` has room for `count` values
    pub(crate) unsafe fn fill(first: *mut T, count: usize, mut make: impl FnMut(usize) -> T) {
        let mut written = Self { first, count: 0 };
        for index in 0..count {
            let value = make(index);
            // SAFETY: `first` has room for `count` values, and `index` is less than `count`.
            unsafe { first.add(index).write(value) };
            written.count = index + 1;
        }
        mem::forget(written);
    }
}

impl<T> Drop for Written<T> {
    fn drop(&mut self) {
        // SAFETY: `count` values were written at `first`, and no other code has access to them.
        unsafe { ptr::drop_in_place(slice_from_raw_parts_mut(self.first, self.count)) }
    }
}

/// Implements [`CloneColumn`].
///
/// # Safety
///
/// - `from` has `count` values of type `T`
/// - `to` has room for `count` values and does not overlap `from`
unsafe fn clone_column<T: Component>(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: `from` has `count` values of type `T`.
    let values = unsafe { slice::from_raw_parts(from.cast::<T>(), count) };
    // Calls `duplicate` again, since the function cannot be stored without its type. A differing result is harmless.
    let How::Clone(clone) = T::duplicate().how else {
        panic!("`{}` is no longer duplicated by cloning", T::name());
    };
    // SAFETY: `to` has room for `count` values.
    unsafe { Written::fill(to.cast::<T>(), count, |index| clone(&values[index])) }
}

/// Implements [`InitialColumn`].
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

/// Implements [`HashColumn`].
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

/// Implements [`RemapColumn`].
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

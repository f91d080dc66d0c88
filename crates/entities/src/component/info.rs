//! What is known of a component type once its own name is gone: sizes, and functions on its columns.

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

/// What is known of a component type. One for each type of the program, made when it is registered, kept for good.
///
/// The functions work on *columns*: a number of values side by side, from an address that is aligned for the type.
pub(crate) struct TypeInfo {
    /// The how manieth type it was to be registered. Never lets a result depend on it: threads may register types.
    pub(crate) index: u32,
    pub(crate) name: &'static str,
    /// The name that state hashes and files know the type by. Unlike `name` it depends on no path, and several types may have it.
    pub(crate) stable_name: &'static str,
    pub(crate) stable_hash: u64,
    /// Whether another type of the program has the same stable name. Set by the registry.
    pub(crate) shares_stable_name: AtomicBool,
    pub(crate) size: usize,
    pub(crate) align: usize,
    pub(crate) shape: &'static Shape,
    pub(crate) enableable: bool,
    pub(crate) cleanup: bool,
    /// Whether it is noted row by row when values were written.
    pub(crate) tracked: bool,
    pub(crate) write_groups: &'static [WriteGroup],
    /// How many entities a chunk with the type has room for at most, if it says so.
    pub(crate) maximum_capacity: Option<NonZero<u32>>,
    /// Whether several threads may read a value at once. If not, its memory is never shared with forks.
    pub(crate) sync: bool,
    /// `None` for runtime types.
    pub(crate) type_id: Option<TypeId>,
    pub(crate) drop: Option<DropColumn>,
    pub(crate) copying: Copying,
    pub(crate) beginning: Beginning,
    pub(crate) hash: HashColumn,
    pub(crate) remap: Option<RemapColumn>,
    /// Of buffers only.
    pub(crate) elements: Option<FindElements>,
    /// The value that chunks have, if the type is one of chunks. Then its column has no bytes.
    pub(crate) per_chunk: Option<ChunkValue>,
    /// What can be done with values that chunks have in common. The column has no bytes then.
    pub(crate) shared: Option<SharedFunctions>,
}

/// A value of chunks, and not of their entities.
#[derive(Clone, Copy)]
pub(crate) struct ChunkValue {
    /// The type of the value, as a component of entities.
    pub(crate) of: ComponentType,
    /// Writes what chunks begin with. The type always has a default, whatever it says of entities.
    pub(crate) write_default: InitialColumn,
}

/// A value that chunks have in common, whose type was erased.
pub(crate) type SharedValue = Arc<dyn Any + Send + Sync>;

/// Functions on shared values. They are given values of the type, or panic.
#[derive(Clone, Copy)]
pub(crate) struct SharedFunctions {
    /// A number that equal values have in common.
    pub(crate) hash: fn(&(dyn Any + Send + Sync)) -> u64,
    pub(crate) equal: fn(&(dyn Any + Send + Sync), &(dyn Any + Send + Sync)) -> bool,
    /// What a value consists of.
    pub(crate) shape: &'static Shape,
    /// Feeds a value to a hasher, field by field.
    pub(crate) feed: fn(&(dyn Any + Send + Sync), &mut StateHasher),
    /// Makes the value of entities that are given none, if there is one.
    pub(crate) default: Option<fn() -> SharedValue>,
    /// Makes a value that refers to other entities, if values of the type refer to entities.
    pub(crate) remap: Option<RemapShared>,
}

/// Makes a value that refers to other entities of one that others may have. `None` if all of them stay.
pub(crate) type RemapShared =
    fn(&(dyn Any + Send + Sync), &mut EntityRemap<'_>) -> Option<SharedValue>;

/// Drops so many values from an address on.
///
/// # Safety
///
/// - they are values of the type
/// - they are not used afterwards
pub(crate) type DropColumn = unsafe fn(*mut u8, usize);

/// Clones so many values from the first address to the second: all of them, or, when it panics, none.
///
/// # Safety
///
/// - the first address has values of the type
/// - the second has room for as many, apart from them
pub(crate) type CloneColumn = unsafe fn(*const u8, *mut u8, usize);

/// Writes so many initial values to an address: all of them, or, when it panics, none.
///
/// # Safety
///
/// - the address has room for as many
pub(crate) type InitialColumn = unsafe fn(*mut u8, usize);

/// Feeds so many values to a hasher.
///
/// # Safety
///
/// - the address has values of the type
pub(crate) type HashColumn = unsafe fn(&'static Shape, *const u8, usize, &mut StateHasher);

/// Replaces the entities in so many values.
///
/// # Safety
///
/// - the address has values of the type, which nobody else uses meanwhile
///
/// It [notes](EntityRemap::begin_value) each value before code of the user runs for it, which may panic.
pub(crate) type RemapColumn = unsafe fn(&'static Shape, *mut u8, usize, &mut EntityRemap<'_>);

/// Finds the elements of a buffer: what one consists of, where the first is, and how many there are.
///
/// # Safety
///
/// - the address has a value of the type, which nobody changes meanwhile
pub(crate) type FindElements = unsafe fn(*const u8) -> (&'static Shape, *const u8, usize);

#[derive(Clone, Copy)]
pub(crate) enum Copying {
    NotAtAll,
    Bytes,
    /// By a function that runs no code of the user's, and does not panic.
    Deep(CloneColumn),
    Clone(CloneColumn),
}

#[derive(Clone, Copy)]
pub(crate) enum Beginning {
    None,
    /// Of runtime types, and of types without bytes.
    Zero,
    Default(InitialColumn),
}

impl TypeInfo {
    pub(super) fn of<T: Component>(index: u32) -> Self {
        const {
            assert!(
                !(T::ENABLEABLE && T::CLEANUP),
                "a component that stays cannot be switched off"
            );
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

/// FNV-1a, 64 bits: short, and the same everywhere and always.
pub(crate) fn stable_hash(stable_name: &str) -> u64 {
    stable_name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// See [`DropColumn`].
///
/// # Safety
///
/// - as there
pub(crate) unsafe fn drop_column<T>(column: *mut u8, count: usize) {
    // SAFETY: as the caller promises. A slice drops all its elements, also when one of them panics.
    unsafe { ptr::drop_in_place(slice_from_raw_parts_mut(column.cast::<T>(), count)) }
}

/// Values that were written and not yet handed over: dropped if something panics before that.
pub(crate) struct Written<T> {
    first: *mut T,
    count: usize,
}

impl<T> Written<T> {
    /// Writes so many values that `make` makes, from an address on.
    ///
    /// # Safety
    ///
    /// - the address has room for as many
    pub(crate) unsafe fn fill(first: *mut T, count: usize, mut make: impl FnMut(usize) -> T) {
        let mut written = Self { first, count: 0 };
        for index in 0..count {
            let value = make(index);
            // SAFETY: there is room for `count` of them.
            unsafe { first.add(index).write(value) };
            written.count = index + 1;
        }
        mem::forget(written);
    }
}

impl<T> Drop for Written<T> {
    fn drop(&mut self) {
        // SAFETY: `count` of them were written, and nobody else knows of them.
        unsafe { ptr::drop_in_place(slice_from_raw_parts_mut(self.first, self.count)) }
    }
}

/// See [`CloneColumn`].
///
/// # Safety
///
/// - as there
unsafe fn clone_column<T: Component>(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: there are so many values.
    let values = unsafe { slice::from_raw_parts(from.cast::<T>(), count) };
    // Asked again, since the function cannot be kept without its type. An answer that differs is no harm.
    let How::Clone(clone) = T::duplicate().how else {
        panic!("`{}` is no longer duplicated by cloning", T::name());
    };
    // SAFETY: there is room for as many.
    unsafe { Written::fill(to.cast::<T>(), count, |index| clone(&values[index])) }
}

/// See [`InitialColumn`].
///
/// # Safety
///
/// - as there
unsafe fn initial_column<T: Component>(to: *mut u8, count: usize) {
    let Some(make) = T::initial().make else {
        panic!("`{}` no longer has an initial value", T::name());
    };
    // SAFETY: there is room for as many.
    unsafe { Written::fill(to.cast::<T>(), count, |_| make()) }
}

/// See [`HashColumn`].
///
/// # Safety
///
/// - as there
unsafe fn hash_column<T: Component>(
    _: &'static Shape,
    column: *const u8,
    count: usize,
    state: &mut StateHasher,
) {
    // SAFETY: there are so many values.
    T::hash_states(unsafe { slice::from_raw_parts(column.cast::<T>(), count) }, state);
}

/// See [`RemapColumn`].
///
/// # Safety
///
/// - as there
unsafe fn remap_column<T: Component>(
    _: &'static Shape,
    column: *mut u8,
    count: usize,
    map: &mut EntityRemap<'_>,
) {
    // SAFETY: there are so many values, and nobody else uses them.
    for value in unsafe { slice::from_raw_parts_mut(column.cast::<T>(), count) } {
        map.begin_value();
        value.remap(map);
    }
}

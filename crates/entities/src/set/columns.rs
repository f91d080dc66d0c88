//! Columns of components, from which many entities are created.

#![expect(unsafe_code, reason = "values are moved from columns to chunks")]

use std::fmt;
use std::mem::{self, ManuallyDrop, MaybeUninit, needs_drop};

use ancho_burst::dispatch;

use super::{ComponentSet, SetValues};
use crate::component::{Component, Written};

/// A column of one component type, with a value for each new entity: a `Vec`, a boxed slice, an array, or a slice of `Copy`
/// values.
///
/// # Safety
///
/// - `values` returns the same values each time, until the column is dropped or forgotten
/// - after `forget`, only the caller owns the values
pub unsafe trait ComponentColumn {
    /// The type of the components.
    type Item: Component;

    /// Returns the values.
    #[doc(hidden)]
    fn values(&self) -> &[Self::Item];

    /// Frees the column without dropping its values, because the caller has moved them.
    #[doc(hidden)]
    fn forget(self);
}

// SAFETY: a vector owns its values, and `values` returns the same slice each time. With a length of zero, `forget` drops no
// values.
unsafe impl<T: Component> ComponentColumn for Vec<T> {
    type Item = T;

    fn values(&self) -> &[T] {
        self
    }

    fn forget(mut self) {
        // SAFETY: zero is at most the capacity, and a length of zero needs no initialised elements.
        unsafe { self.set_len(0) };
    }
}

// SAFETY: a boxed slice owns its values, and `values` returns the same slice each time. `forget` converts it to a vector with a
// length of zero, which drops no values.
unsafe impl<T: Component> ComponentColumn for Box<[T]> {
    type Item = T;

    fn values(&self) -> &[T] {
        self
    }

    fn forget(self) {
        self.into_vec().forget();
    }
}

// SAFETY: an array contains its values, and `values` returns the same slice each time. `forget` passes it to `mem::forget`, which
// drops no values.
unsafe impl<T: Component, const N: usize> ComponentColumn for [T; N] {
    type Item = T;

    fn values(&self) -> &[T] {
        self
    }

    fn forget(self) {
        mem::forget(self);
    }
}

// SAFETY: the values of a slice do not change. They are `Copy`, so that the caller may own copies of them.
unsafe impl<T: Component + Copy> ComponentColumn for &[T] {
    type Item = T;

    fn values(&self) -> &[T] {
        self
    }

    fn forget(self) {}
}

/// Columns of components with one value per new entity, for [`spawn_columns`](crate::EntityManager::spawn_columns).
///
/// The implementor is either a tuple of columns with existing values, or [`Columns`] whose values are computed while they are
/// written. A column with existing values is a `Vec`, a boxed slice, an array, or a slice of `Copy` values.
///
/// # Safety
///
/// The trait must not be implemented outside of this crate. Columns are numbered in the order of the types of `Set`. After
/// `forget`, only the caller owns the existing values.
pub unsafe trait ComponentColumns {
    /// The set of components that each entity gets: one of each column.
    type Set: ComponentSet;

    /// Returns the length of all columns. Returns an error for the first column whose length differs from that of column 0.
    #[doc(hidden)]
    fn length(&self) -> Result<usize, WrongLength>;

    /// Returns `true` if the values of a column are computed while they are written.
    #[doc(hidden)]
    fn is_made(column: usize) -> bool;

    /// Writes `count` values of one column, beginning with the value at index `from`. If it panics, no value remains.
    ///
    /// Existing values are copied as bytes, and the column still owns them.
    ///
    /// # Safety
    ///
    /// - the column exists, and has `count` values that begin at index `from`
    /// - the address has room for `count` values
    #[doc(hidden)]
    unsafe fn write(&mut self, column: usize, from: usize, to: *mut u8, count: usize);

    /// Frees the columns without dropping their values, because the caller has moved them.
    #[doc(hidden)]
    fn forget(self);
}

/// The error for a column whose length differs from that of the first column.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[expect(unnameable_types, reason = "only the trait's own methods speak of it")]
pub struct WrongLength {
    pub(crate) column: usize,
    pub(crate) expected: usize,
    pub(crate) found: usize,
}

/// Columns whose values are computed by functions of the entity's index, and written directly to chunks.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Columns, Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32, f32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// let orcs = Columns::new(10_000)
///     .with(|index| Position((index % 100) as f32, (index / 100) as f32))
///     .with(|_| Health(20));
/// let orcs: Vec<_> = world.spawn_columns(orcs).unwrap().collect();
/// assert_eq!(world.get::<Position>(orcs[205]).unwrap().1, 2.0);
/// ```
#[must_use = "columns are made when entities are created of them"]
#[derive(Clone, Copy)]
pub struct Columns<Makers = ()> {
    count: usize,
    makers: Makers,
}

impl Columns {
    /// Creates columns for `count` entities. Without further columns, the entities have no components.
    pub const fn new(count: usize) -> Self {
        Self { count, makers: () }
    }
}

impl<Makers: ColumnMakers> Columns<Makers> {
    /// Adds a column whose values are the results of the function for 0, 1, 2 and so on.
    ///
    /// The function is called for all entities of a chunk, before the function of the next column is called for the same
    /// entities. The order of the columns is that of the chunk. If a function panics, no entity is created. Ids that were
    /// reserved for some of them are not reused.
    pub fn with<T, F>(self, make: F) -> Columns<(Makers, F)>
    where
        T: Component,
        F: FnMut(usize) -> T,
    {
        Columns { count: self.count, makers: (self.makers, make) }
    }
}

impl<Makers> fmt::Debug for Columns<Makers> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Columns").field("count", &self.count).finish_non_exhaustive()
    }
}

/// A list of functions that compute columns.
///
/// # Safety
///
/// The trait must not be implemented outside of this crate. `make` writes values of the types of `Set`.
#[doc(hidden)]
#[expect(unnameable_types, reason = "users need not implement it")]
pub unsafe trait ColumnMakers {
    /// The set of components that each entity gets: one of each column.
    type Set: ComponentSet;

    /// Computes `count` values of one column, beginning with the value at index `from`. If it panics, no value remains.
    ///
    /// # Safety
    ///
    /// - the column exists
    /// - the address has room for `count` values of the column's type
    unsafe fn make(&mut self, column: usize, from: usize, to: *mut u8, count: usize);
}

// SAFETY: there are no columns, and `Set` has no types.
unsafe impl ColumnMakers for () {
    type Set = ();

    unsafe fn make(&mut self, _: usize, _: usize, _: *mut u8, _: usize) {}
}

// SAFETY: the function's column follows the columns of `Before`, and its type follows their types in `Set`.
unsafe impl<Before, T, F> ColumnMakers for (Before, F)
where
    Before: ColumnMakers,
    T: Component,
    F: FnMut(usize) -> T,
{
    type Set = (Before::Set, T);

    #[inline]
    unsafe fn make(&mut self, column: usize, from: usize, to: *mut u8, count: usize) {
        if column < Before::Set::COUNT {
            // SAFETY: the column is one of `Before`, and the address has room for `count` values of its type.
            return unsafe { self.0.make(column, from, to, count) };
        }
        let make = &mut self.1;
        dispatch(
            #[inline(always)]
            || {
                let make = |index: usize| make(from + index);
                if size_of::<T>() == 12 && align_of::<T>() == 4 && !needs_drop::<T>() {
                    // SAFETY: the address has room for `count` values of `T`, which has 12 bytes, has an alignment of 4 and needs
                    // no drop.
                    unsafe { write_in_fours(to.cast::<T>(), count, make) }
                } else {
                    // SAFETY: the address has room for `count` values of `T`.
                    unsafe { Written::fill(to.cast::<T>(), count, make) }
                }
            },
        );
    }
}

/// Writes values of 12 bytes, such as vectors of three 32-bit numbers, four at a time.
///
/// A register holds four words. Writing one value takes two stores, and writing four values together takes three.
///
/// # Safety
///
/// - the address has room for `count` values
/// - the type has 12 bytes, an alignment of 4, and needs no drop
#[inline(always)]
unsafe fn write_in_fours<T>(to: *mut T, count: usize, mut make: impl FnMut(usize) -> T) {
    let mut words = |index: usize| -> [MaybeUninit<u32>; 3] {
        let value = ManuallyDrop::new(make(index));
        // SAFETY: both types have the same size, and the words may be uninitialised.
        unsafe { mem::transmute_copy(&value) }
    };
    let to = to.cast::<[MaybeUninit<u32>; 3]>();
    let whole = count - count % 4;
    for first in (0..whole).step_by(4) {
        let a = words(first);
        let b = words(first + 1);
        let c = words(first + 2);
        let d = words(first + 3);
        let four = [[a[0], a[1], a[2], b[0]], [b[1], b[2], c[0], c[1]], [c[2], d[0], d[1], d[2]]];
        // SAFETY: the address has room for four more values, and has the alignment of words.
        unsafe { to.add(first).cast::<[[MaybeUninit<u32>; 4]; 3]>().write(four) };
    }
    for index in whole..count {
        // SAFETY: the address has room for one more value.
        unsafe { to.add(index).write(words(index)) };
    }
}

// SAFETY: the makers write values of the types of `Set`, in its order. There are no existing values.
unsafe impl<Makers: ColumnMakers> ComponentColumns for Columns<Makers> {
    type Set = Makers::Set;

    fn length(&self) -> Result<usize, WrongLength> {
        Ok(self.count)
    }

    fn is_made(_: usize) -> bool {
        true
    }

    #[inline]
    unsafe fn write(&mut self, column: usize, from: usize, to: *mut u8, count: usize) {
        // SAFETY: the column exists, and the address has room for `count` values of its type.
        unsafe { self.makers.make(column, from, to, count) }
    }

    fn forget(self) {}
}

//! Components of many entities, a column for each type.

#![expect(unsafe_code, reason = "values are moved from columns to chunks")]

use std::fmt;
use std::mem::{self, ManuallyDrop, MaybeUninit, needs_drop};

use ancho_burst::dispatch;

use super::ComponentSet;
use crate::component::{Component, Written};

/// Values of one component type, for as many new entities: a `Vec`, a boxed slice, an array, or a slice of values
/// that can be copied.
///
/// # Safety
///
/// - `as_ptr` leads to `count` values until the column is dropped or forgotten
/// - after `forget` the values are nobody's but the caller's
pub unsafe trait ComponentColumn {
    /// The type of the components.
    type Item: Component;

    /// How many there are.
    #[doc(hidden)]
    fn count(&self) -> usize;

    /// Where they are.
    #[doc(hidden)]
    fn as_ptr(&self) -> *const Self::Item;

    /// Frees the column and not what was in it, which has been moved.
    #[doc(hidden)]
    fn forget(self);
}

// SAFETY: a vector's values are where it says; those of an empty one are nobody's.
unsafe impl<T: Component> ComponentColumn for Vec<T> {
    type Item = T;

    fn count(&self) -> usize {
        self.len()
    }

    fn as_ptr(&self) -> *const T {
        self.as_ptr()
    }

    fn forget(mut self) {
        // SAFETY: zero is at most the capacity, and no elements are all initialised.
        unsafe { self.set_len(0) };
    }
}

// SAFETY: as for the vector it becomes.
unsafe impl<T: Component> ComponentColumn for Box<[T]> {
    type Item = T;

    fn count(&self) -> usize {
        (**self).len()
    }

    fn as_ptr(&self) -> *const T {
        (**self).as_ptr()
    }

    fn forget(self) {
        self.into_vec().forget();
    }
}

// SAFETY: an array's values are in it; forgotten, it drops none.
unsafe impl<T: Component, const N: usize> ComponentColumn for [T; N] {
    type Item = T;

    fn count(&self) -> usize {
        N
    }

    fn as_ptr(&self) -> *const T {
        self.as_slice().as_ptr()
    }

    fn forget(self) {
        mem::forget(self);
    }
}

// SAFETY: the values of a slice stay where they are; since they can be copied, a copy is a value of its own.
unsafe impl<T: Component + Copy> ComponentColumn for &[T] {
    type Item = T;

    fn count(&self) -> usize {
        (**self).len()
    }

    fn as_ptr(&self) -> *const T {
        (**self).as_ptr()
    }

    fn forget(self) {}
}

/// Columns of components, a value of each for every new entity: what [`spawn_columns`](crate::EntityManager::spawn_columns)
/// makes entities of. A tuple of columns that are there, or [`Columns`] that are made on the way.
///
/// # Safety
///
/// Not to be implemented outside of this crate. Columns are numbered in the order of `Set`'s types; after `forget` the
/// values that were there are nobody's but the caller's.
pub unsafe trait ComponentColumns {
    /// One component of each column.
    type Set: ComponentSet;

    /// How many values each column has, or which column has not as many as the first.
    #[doc(hidden)]
    fn length(&self) -> Result<usize, WrongLength>;

    /// Whether the values of a column are made when they are written, and are not there before.
    #[doc(hidden)]
    fn is_made(column: usize) -> bool;

    /// Writes values of one column, from a number on, to an address: all of them, or, when it panics, none.
    ///
    /// Values that are there are copied, and still belong to the column.
    ///
    /// # Safety
    ///
    /// - there is such a column, with so many values from that number on
    /// - the address has room for as many
    #[doc(hidden)]
    unsafe fn write(&mut self, column: usize, from: usize, to: *mut u8, count: usize);

    /// Frees the columns and not what was in them, which has been moved.
    #[doc(hidden)]
    fn forget(self);
}

/// A column that is shorter or longer than the first.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[expect(unnameable_types, reason = "only the trait's own methods speak of it")]
pub struct WrongLength {
    pub(crate) column: usize,
    pub(crate) expected: usize,
    pub(crate) found: usize,
}

/// Columns whose values functions make, each for the number of the entity: straight to where they are kept.
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
    /// Columns for so many entities. None yet: entities without components.
    pub const fn new(count: usize) -> Self {
        Self { count, makers: () }
    }
}

impl<Makers: ColumnMakers> Columns<Makers> {
    /// One more column, of the values that the function makes of 0, 1, 2 and so on.
    ///
    /// The function is called for all entities of a chunk, then the next column's is for the same ones, in whichever order
    /// the columns have there. If it panics, no entity is created; ids that were meant for some are not used again.
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

/// Functions that make columns, one after the other.
///
/// # Safety
///
/// Not to be implemented outside of this crate. `make` writes columns of `Set`'s types.
#[doc(hidden)]
#[expect(unnameable_types, reason = "nobody else is to implement it")]
pub unsafe trait ColumnMakers {
    /// One component of each column.
    type Set: ComponentSet;

    /// Makes values of one column, from a number on, at an address: all of them, or, when it panics, none.
    ///
    /// # Safety
    ///
    /// - there is such a column
    /// - the address has room for as many values of its type
    unsafe fn make(&mut self, column: usize, from: usize, to: *mut u8, count: usize);
}

// SAFETY: there are no columns.
unsafe impl ColumnMakers for () {
    type Set = ();

    unsafe fn make(&mut self, _: usize, _: usize, _: *mut u8, _: usize) {}
}

// SAFETY: the function's column follows those before it, as its type does.
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
            // SAFETY: it is one of those, and the caller promises the rest.
            return unsafe { self.0.make(column, from, to, count) };
        }
        let make = &mut self.1;
        dispatch(
            #[inline(always)]
            || {
                let make = |index: usize| make(from + index);
                if size_of::<T>() == 12 && align_of::<T>() == 4 && !needs_drop::<T>() {
                    // SAFETY: there is room for so many values of this type.
                    unsafe { write_in_fours(to.cast::<T>(), count, make) }
                } else {
                    // SAFETY: as above.
                    unsafe { Written::fill(to.cast::<T>(), count, make) }
                }
            },
        );
    }
}

/// Writes values of three words that need not be dropped, such as vectors of three numbers, four at a time.
///
/// Registers hold four words. Values that are written one by one take two stores each, four at a time three together.
///
/// # Safety
///
/// - the address has room for so many
/// - the type has 12 bytes, and is aligned to 4
#[inline(always)]
unsafe fn write_in_fours<T>(to: *mut T, count: usize, mut make: impl FnMut(usize) -> T) {
    let mut words = |index: usize| -> [MaybeUninit<u32>; 3] {
        let value = ManuallyDrop::new(make(index));
        // SAFETY: they have the same size, and words need not be initialised.
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
        // SAFETY: there is room for four more, which are aligned as words are.
        unsafe { to.add(first).cast::<[[MaybeUninit<u32>; 4]; 3]>().write(four) };
    }
    for index in whole..count {
        // SAFETY: there is room for one more.
        unsafe { to.add(index).write(words(index)) };
    }
}

// SAFETY: the makers make columns of their set's types.
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
        // SAFETY: as the caller promises.
        unsafe { self.makers.make(column, from, to, count) }
    }

    fn forget(self) {}
}

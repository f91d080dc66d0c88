//! Components of many entities, a column for each type.

#![expect(unsafe_code, reason = "values are moved from columns to chunks")]

use std::mem;

use super::ComponentSet;
use crate::component::Component;

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

/// A tuple of columns: what [`spawn_columns`](crate::World::spawn_columns) makes entities of.
///
/// # Safety
///
/// Not to be implemented outside of this crate. `lengths` and `addresses` are in the order of `Set`'s types; after
/// `forget` the values are nobody's but the caller's.
pub unsafe trait ComponentColumns {
    /// One component of each column.
    type Set: ComponentSet;

    /// Adds the length of each column.
    #[doc(hidden)]
    fn lengths(&self, into: &mut Vec<usize>);

    /// Adds where the values of each column are.
    #[doc(hidden)]
    fn addresses(&self, into: &mut Vec<*const u8>);

    /// Frees the columns and not what was in them, which has been moved.
    #[doc(hidden)]
    fn forget(self);
}

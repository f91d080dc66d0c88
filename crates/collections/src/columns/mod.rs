//! A table in columns: a structure of arrays.

mod native;
mod row;

pub use native::{ColumnsRead, ColumnsWrite, NativeColumns};
pub use row::Row;

use std::fmt;

use crate::allocator::Allocator;
use crate::error::{AllocationError, expect_memory, index_outside};

/// A table with contiguous columns: a structure of arrays.
///
/// A row is a tuple of up to eight values. Loops over columns read only the fields that they use,
/// and whole vectors of each, which suits SIMD. Every column begins at a cache line.
///
/// # Examples
///
/// ```
/// use ancho_collections::Columns;
///
/// let mut particles = Columns::<(f32, f32, u8)>::new();
/// particles.push((1.0, 0.5, 3));
/// particles.push((2.0, 0.25, 4));
/// let (positions, velocities, _) = particles.slices_mut();
/// for (position, velocity) in positions.iter_mut().zip(velocities) {
///     *position += *velocity;
/// }
/// assert_eq!(particles.get(1), Some((&2.25, &0.25, &4)));
/// ```
pub struct Columns<R: Row> {
    storage: R::Storage,
    allocator: Allocator,
}

impl<R: Row> Columns<R> {
    /// Creates an empty table, without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Columns::<(f32, u8)>::new().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::new_in(&Allocator::PERSISTENT)
    }

    /// Creates an empty table that uses the allocator.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{Allocator, Columns};
    /// assert!(Columns::<(f32, u8)>::new_in(&Allocator::PERSISTENT).is_empty());
    /// ```
    pub fn new_in(allocator: &Allocator) -> Self {
        Self { storage: R::storage_in(allocator), allocator: allocator.clone() }
    }

    /// Returns the number of rows.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Columns::from_iter([(1, 'a'), (2, 'b')]).len(), 2);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        R::len(&self.storage)
    }

    /// Returns whether there are no rows.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(ancho_collections::Columns::<(f32, u8)>::new().is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of rows that fit without reallocation, including the existing rows.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut table = ancho_collections::Columns::<(f32, u8)>::new();
    /// table.reserve(100);
    /// assert!(table.capacity() >= 100);
    /// ```
    pub fn capacity(&self) -> usize {
        R::capacity(&self.storage)
    }

    /// Reserves room for `additional` more rows.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no memory. The rows are unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut table = ancho_collections::Columns::<(f32, u8)>::new();
    /// table.try_reserve(100).unwrap();
    /// assert!(table.try_reserve(usize::MAX).unwrap_err().to_string().starts_with("A0017: "));
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        let length = self.len();
        let no_room_for = |elements| AllocationError::of::<R>(self.allocator.name(), elements);
        // Zero-sized rows have room up to the maximum count.
        let needed = length.checked_add(additional).ok_or_else(|| no_room_for(usize::MAX))?;
        if needed <= self.capacity() {
            return Ok(());
        }
        let grown = needed.checked_next_power_of_two().unwrap_or(needed).max(16);
        if R::try_reserve_exact(&mut self.storage, grown - length) {
            return Ok(());
        }
        Err(no_room_for(grown))
    }

    /// Reserves room for `additional` more rows.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut table = ancho_collections::Columns::<(f32, u8)>::new();
    /// table.reserve(100);
    /// assert!(table.capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        expect_memory(self.try_reserve(additional));
    }

    /// Frees the capacity that the rows do not need (Unity's `TrimExcess`).
    ///
    /// The rows are moved to smaller memory. Each column for which there is no memory stays as it
    /// is.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut table = ancho_collections::Columns::from_iter([(1, 'a'), (2, 'b')]);
    /// table.reserve(100);
    /// table.shrink_to_fit();
    /// assert_eq!(table.capacity(), 2);
    /// ```
    #[doc(alias = "TrimExcess")]
    #[doc(alias = "trim")]
    pub fn shrink_to_fit(&mut self) {
        R::shrink_to_fit(&mut self.storage);
    }

    /// Adds a row at the end.
    ///
    /// # Panics
    ///
    /// Panics with code A0017 if the table has to grow and there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut table = ancho_collections::Columns::new();
    /// table.push((1, 'a'));
    /// assert_eq!(table.slices(), (&[1][..], &['a'][..]));
    /// ```
    #[track_caller]
    #[inline]
    pub fn push(&mut self, row: R) {
        self.reserve(1);
        R::push(&mut self.storage, row);
    }

    /// Removes the last row, if there is one, and returns it.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut table = ancho_collections::Columns::from_iter([(1, 'a')]);
    /// assert_eq!([table.pop(), table.pop()], [Some((1, 'a')), None]);
    /// ```
    pub fn pop(&mut self) -> Option<R> {
        R::pop(&mut self.storage)
    }

    /// Removes a row and returns it. The last row takes its place.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the row's index is out of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut table = ancho_collections::Columns::from_iter([(1, 'a'), (2, 'b'), (3, 'c')]);
    /// assert_eq!(table.swap_remove(0), (1, 'a'));
    /// assert_eq!(table.slices().1, ['c', 'b']);
    /// ```
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> R {
        if index >= self.len() {
            index_outside("a table", index, self.len());
        }
        R::swap_remove(&mut self.storage, index)
    }

    /// Shortens the table to `length` rows, if it has more.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut table = ancho_collections::Columns::from_iter([(1, 'a'), (2, 'b'), (3, 'c')]);
    /// table.truncate(1);
    /// assert_eq!(table.slices().0, [1]);
    /// ```
    pub fn truncate(&mut self, length: usize) {
        R::truncate(&mut self.storage, length);
    }

    /// Removes all rows, and keeps the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut table = ancho_collections::Columns::from_iter([(1, 'a'), (2, 'b')]);
    /// table.clear();
    /// assert!(table.is_empty() && table.capacity() >= 2);
    /// ```
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Returns the columns as slices of the same length.
    ///
    /// # Examples
    ///
    /// ```
    /// let table = ancho_collections::Columns::from_iter([(1, 'a'), (2, 'b')]);
    /// let (numbers, letters) = table.slices();
    /// assert_eq!((numbers, letters), (&[1, 2][..], &['a', 'b'][..]));
    /// ```
    #[inline]
    pub fn slices(&self) -> R::Slices<'_> {
        R::slices(&self.storage)
    }

    /// Returns the columns as slices of the same length, mutably.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut table = ancho_collections::Columns::from_iter([(1, 'a'), (2, 'b')]);
    /// table.slices_mut().0[1] = 20;
    /// assert_eq!(table.get(1), Some((&20, &'b')));
    /// ```
    #[inline]
    pub fn slices_mut(&mut self) -> R::SlicesMut<'_> {
        R::slices_mut(&mut self.storage)
    }

    /// Returns the row at `index`, if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// let table = ancho_collections::Columns::from_iter([(1, 'a'), (2, 'b')]);
    /// assert_eq!((table.get(1), table.get(2)), (Some((&2, &'b')), None));
    /// ```
    #[inline]
    pub fn get(&self, index: usize) -> Option<R::Refs<'_>> {
        (index < self.len()).then(|| R::refs(self.slices(), index))
    }

    /// Replaces the row at `index`.
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if the row's index is out of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut table = ancho_collections::Columns::from_iter([(1, 'a'), (2, 'b')]);
    /// table.set(0, (7, 'z'));
    /// assert_eq!(table.get(0), Some((&7, &'z')));
    /// ```
    #[track_caller]
    pub fn set(&mut self, index: usize, row: R) {
        if index >= self.len() {
            index_outside("a table", index, self.len());
        }
        R::replace(&mut self.storage, index, row);
    }
}

impl<R: Row> Default for Columns<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Row> Extend<R> for Columns<R> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = R>>(&mut self, rows: I) {
        let rows = rows.into_iter();
        self.reserve(rows.size_hint().0);
        // Not `for_each`: a closure would hide the caller's location from the panic.
        for row in rows {
            self.push(row);
        }
    }
}

impl<R: Row> FromIterator<R> for Columns<R> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> Self {
        let mut columns = Self::new();
        columns.extend(rows);
        columns
    }
}

impl<R: Row> fmt::Debug for Columns<R>
where
    for<'v> R::Slices<'v>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Columns").field(&self.slices()).finish()
    }
}

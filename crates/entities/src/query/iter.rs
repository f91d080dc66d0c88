//! The entities of a query, one after the other.

#![expect(unsafe_code, reason = "values of chunks of a world that is borrowed")]

use std::any::type_name;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::cursor::Cursor;
use super::data::QueryData;
use super::kept_cursor::KeptCursor;
use super::loops::refuse;

/// What a query gives for each entity, one after the other.
///
/// [`for_each`](crate::Query::for_each) is compiled for the CPU at hand, and this for the one that the program is built for,
/// so that loops with much arithmetic are faster there. Neither allocates anything, but where shared values are asked for, or
/// changes of components that are tracked: a few hundred bytes are kept by the thread from one loop to the next.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// world.spawn_many(Health(20), 10);
/// let mut sum = 0;
/// for health in world.query::<&Health>() {
///     sum += health.0;
/// }
/// assert_eq!(sum, 200);
/// ```
///
/// It stays on the thread of its world:
///
/// ```compile_fail,E0277
/// use ancho_entities::{Entity, World};
///
/// let world = World::new("Simulation");
/// let iter = world.query::<Entity>().iter();
/// std::thread::scope(|scope| {
///     scope.spawn(move || iter.count());
/// });
/// ```
#[must_use = "an iterator does nothing until it is asked for something"]
pub struct QueryIter<'w, D: QueryData> {
    /// Somewhere else, so that what changes with each row does not lie beside something whose address is given away: then it
    /// stays in registers, and a loop takes half the time.
    cursor: KeptCursor<'w>,
    /// Of the chunk at hand. There is one if the row is before the end.
    fetch: MaybeUninit<D::Fetch>,
    row: usize,
    end: usize,
    items: PhantomData<D::Item<'w>>,
}

impl<'w, D: QueryData> QueryIter<'w, D> {
    /// What is found by a cursor.
    ///
    /// # Safety
    ///
    /// - the cursor is that of a query of this data, and writes it, unless it cannot be changed
    #[inline]
    pub(super) unsafe fn new(cursor: Cursor<'w>) -> Self {
        let fetch = MaybeUninit::uninit();
        Self { cursor: KeptCursor::new(cursor), fetch, row: 0, end: 0, items: PhantomData }
    }

    /// Goes to the next run. Returns whether there is one.
    #[inline]
    fn find_run(&mut self) -> bool {
        loop {
            if let Some((first, end)) = self.cursor.next_run() {
                (self.row, self.end) = (first as usize, end as usize);
                return true;
            }
            if !self.cursor.next_chunk() {
                return match self.cursor.end() {
                    Ok(()) => false,
                    Err(error) => refuse(error.into()),
                };
            }
            let (view, places) = (self.cursor.view(), self.cursor.places());
            // SAFETY: these are the places of the data in the archetype of the chunk, which matches.
            self.fetch.write(unsafe { D::fetch(view, places) });
        }
    }

    /// What is given for the row at hand, which is before the end.
    #[inline(always)]
    fn give(&mut self) -> D::Item<'w> {
        let row = self.row;
        self.row += 1;
        // SAFETY: the row is one of the run at hand, of the chunk that the fetch is of. No row comes twice, so that nobody else
        // uses what can be changed of it, and the cursor has made it the world's alone.
        unsafe { D::get(self.fetch.assume_init(), row) }
    }

    /// Notes that so many rows from the one at hand on, all of the run, are given.
    #[inline(always)]
    fn track(&self, rows: usize) {
        if D::TRACKS && rows > 0 {
            // SAFETY: as in `give`.
            unsafe { D::track(self.fetch.assume_init(), self.row, rows, false) };
        }
    }
}

impl<'w, D: QueryData> Iterator for QueryIter<'w, D> {
    type Item = D::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<D::Item<'w>> {
        if self.row == self.end && !self.find_run() {
            return None;
        }
        // One by one: who stops has not been given the others.
        self.track(1);
        Some(self.give())
    }

    #[inline]
    fn fold<B, G: FnMut(B, D::Item<'w>) -> B>(mut self, init: B, mut function: G) -> B {
        let mut folded = init;
        loop {
            self.track(self.end - self.row);
            while self.row < self.end {
                folded = function(folded, self.give());
            }
            if !self.find_run() {
                return folded;
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.row, None)
    }
}

impl<D: QueryData> FusedIterator for QueryIter<'_, D> {}

impl<D: QueryData> fmt::Debug for QueryIter<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryIter<{}>", type_name::<D>())
    }
}

//! What entities that were found are given: clones of a set, or defaults.

#![expect(unsafe_code, reason = "writes components to rows that were reserved for them")]

use super::plan::{Piece, Plan, Step, Way};
use crate::component::{ComponentType, Copying};
use crate::set::CloneSet;
use crate::storage::{
    ArchetypeShape, NewRows, RowPlace, Staged, Storage, Transfer, Transfers, repeat_bytes,
    write_initial,
};

/// What entities are given.
pub(super) enum Values<'a> {
    Nothing,
    /// The defaults of the types.
    Initial,
    /// Clones of a set.
    Clones(&'a dyn Clones),
}

/// A set whose type was erased, to be cloned.
pub(super) trait Clones {
    /// See [`CloneSet::fill`].
    ///
    /// # Safety
    ///
    /// - as there
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize);
}

impl<S: CloneSet> Clones for S {
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize) {
        // SAFETY: as the caller promises.
        unsafe { CloneSet::fill(self, place, rows, done) }
    }
}

/// A plan whose values are there: nothing can go wrong any more.
pub(super) struct Written<'s> {
    pub(super) plan: Plan<'s>,
    pub(super) values: Staging,
}

/// Values that are not in rows yet.
pub(super) enum Staging {
    /// There are none.
    Nothing,
    /// One row, whose bytes are repeated.
    Pattern(Staged),
    /// The rows of each step that replaces values, in their order.
    Rows(Vec<Staged>),
}

impl<'s> Plan<'s> {
    /// Makes all values: those for rows that move are written there, the others kept apart. If that panics, nothing is left.
    pub(super) fn write_values(
        self,
        transfers: &Transfers,
        types: &[ComponentType],
        values: &Values<'_>,
    ) -> Written<'s> {
        let values = match *values {
            Values::Nothing => Staging::Nothing,
            Values::Initial => {
                self.write_initial(transfers);
                Staging::Nothing
            }
            Values::Clones(set) => {
                if is_pattern(types) {
                    // SAFETY: the set has these types, and is borrowed here alone.
                    let fill = |place, done: &mut usize| unsafe { set.fill(place, 1, done) };
                    // SAFETY: the function writes one row of them.
                    Staging::Pattern(unsafe { Staged::new(types, 1, fill) })
                } else {
                    Staging::Rows(self.write_clones(transfers, types, set))
                }
            }
        };
        Written { plan: self, values }
    }

    /// Writes initial values to the new rows.
    fn write_initial(&self, transfers: &Transfers) {
        let mut filled = Vec::new();
        for piece in &self.pieces {
            let transfer = &transfers[piece.transfer];
            let mut new = self.new_rows(piece);
            let chunk = &self.reserved.storage.chunks[piece.to.chunk];
            for &column in &transfer.written {
                let (first, rows) = (piece.to.first, piece.to.rows);
                // SAFETY: the rows are reserved; that there is an initial value was checked.
                unsafe { write_initial(chunk.shape(), chunk.data(), column, first, rows) };
                if has_drop(chunk.shape(), column) {
                    new.columns.push(column);
                }
            }
            if !new.columns.is_empty() {
                filled.push(new);
            }
        }
        for (step, transfer, shape) in self.whole_steps(transfers) {
            let data = self.reserved.storage.chunks[step.chunk].data();
            for &column in &transfer.written {
                // SAFETY: the columns have no bytes, in this chunk or any other; that there is an initial value was checked.
                unsafe { write_initial(shape, data, column, 0, step.rows) };
            }
        }
        filled.into_iter().for_each(NewRows::keep);
    }

    /// Writes clones to the new rows, and returns those for rows that stay where they are.
    fn write_clones(
        &self,
        transfers: &Transfers,
        types: &[ComponentType],
        set: &dyn Clones,
    ) -> Vec<Staged> {
        /// Rows of which the first columns of a set are written: those are dropped if something panics.
        struct Filling<'a> {
            rows: NewRows<'a>,
            columns: &'a [u32],
            done: usize,
        }

        impl Filling<'_> {
            /// Says that the rows have an owner now.
            fn keep(mut self) {
                self.done = 0;
            }
        }

        impl Drop for Filling<'_> {
            fn drop(&mut self) {
                self.rows.columns.extend_from_slice(&self.columns[..self.done]);
            }
        }

        // The columns of the set in each archetype that rows go to, since the order of a set is not that of its columns.
        let columns_in = |shape: &ArchetypeShape| -> Box<[u32]> {
            types.iter().filter_map(|&ty| shape.index.find(ty)).map(|found| found.column).collect()
        };
        let mut columns: Vec<(u32, Box<[u32]>)> = Vec::new();
        for piece in &self.pieces {
            let to = transfers[piece.transfer].to;
            if columns.iter().all(|&(archetype, _)| archetype != to) {
                columns.push((to, columns_in(&self.reserved.storage.archetypes[to].shape)));
            }
        }
        let mut filled = Vec::new();
        for piece in &self.pieces {
            let transfer = &transfers[piece.transfer];
            let (_, columns) =
                columns.iter().find(|(to, _)| *to == transfer.to).expect("listed above");
            let mut filling = Filling { rows: self.new_rows(piece), columns, done: 0 };
            let place =
                self.reserved.storage.chunks[piece.to.chunk].row(piece.to.first, &transfer.offsets);
            // SAFETY:
            // - the offsets are those of the set in the archetype that the chunk is of
            // - the rows are reserved, behind the last of the chunk
            // - the set is borrowed here alone
            unsafe { set.fill(place, piece.to.rows as usize, &mut filling.done) };
            filled.push(filling);
        }
        for (step, transfer, _) in self.whole_steps(transfers) {
            let place = self.reserved.storage.chunks[step.chunk].row(0, &transfer.offsets);
            // SAFETY: no type of the set has bytes, or something to be dropped. An address that is aligned for them is enough.
            unsafe { set.fill(place, step.rows as usize, &mut 0) };
        }
        let mut staged = Vec::new();
        for step in self.steps.iter().filter(|step| step.way == Way::Replace) {
            let rows = step.rows as usize;
            // SAFETY: the set has these types, and is borrowed here alone.
            let fill = |place, done: &mut usize| unsafe { set.fill(place, rows, done) };
            // SAFETY: the function writes so many rows of them.
            staged.push(unsafe { Staged::new(types, rows, fill) });
        }
        filled.into_iter().for_each(Filling::keep);
        staged
    }

    /// The steps in which whole chunks go to another archetype, with the shapes of those.
    fn whole_steps<'a>(
        &'a self,
        transfers: &'a Transfers,
    ) -> impl Iterator<Item = (&'a Step, &'a Transfer, &'a ArchetypeShape)> {
        let whole = self.steps.iter().filter(|step| matches!(step.way, Way::Whole(_)));
        whole.map(move |step| {
            let transfer = &transfers[step.transfer];
            (step, transfer, &*self.reserved.storage.archetypes[transfer.to].shape)
        })
    }

    /// The rows that a piece goes to, without any values.
    fn new_rows(&self, piece: &Piece) -> NewRows<'_> {
        let chunk = &self.reserved.storage.chunks[piece.to.chunk];
        // SAFETY: columns are added when they are written, and the rows are nobody's yet.
        unsafe { NewRows::new(chunk.shape(), chunk.data(), piece.to.first, piece.to.rows) }
    }
}

/// Whether the values of a set are duplicated by copying their bytes: then one row of it is enough.
pub(super) fn is_pattern(types: &[ComponentType]) -> bool {
    types.iter().all(|ty| matches!(ty.0.copying, Copying::Bytes))
}

fn has_drop(shape: &ArchetypeShape, column: u32) -> bool {
    shape.types[column as usize].0.drop.is_some()
}

/// Writes the values of one row to others, for all types of a set that have bytes.
///
/// # Safety
///
/// - the chunk has room for the rows, and is the world's alone; there are no values in them that have to be dropped
/// - it has all types of the set, whose values are duplicated by copying their bytes
pub(super) unsafe fn repeat_pattern(
    storage: &Storage,
    pattern: &Staged,
    chunk: u32,
    first: u32,
    rows: u32,
) {
    let chunk = &storage.chunks[chunk];
    for (ty, value) in pattern.columns().filter(|(ty, _)| ty.size() > 0) {
        let found = chunk.find(ty).expect("the archetype has all types of the set");
        let to = chunk.column(found.offset).wrapping_add(first as usize * ty.size());
        // SAFETY: there is one value, and room for so many.
        unsafe { repeat_bytes(value, to, ty.size(), rows as usize) };
    }
}

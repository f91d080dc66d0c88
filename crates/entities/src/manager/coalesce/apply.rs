//! Application of a coalesced batch: moves values and ids. It cannot fail.

#![expect(unsafe_code, reason = "moves rows between chunks, and values to them")]

use super::archetype_cache::{ArchetypeMove, ColumnMap, ColumnMaps};
use super::record::{OpKind, RecordedOp, StagedValue, ValueOwner};
use super::{CoalesceTarget, CoalescedBatch, TouchedEntity};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::manager::EntityManager;
use crate::manager::Sets;
use crate::storage::{
    ArchetypeShape, Chunk, Location, NOWHERE, RowMove, RowPlace, RowRange, StagingArena, Storage,
    copy_value,
};

/// The write function of a type-erased set.
pub(crate) struct WriteFn {
    /// Moves the set at an address to a row.
    ///
    /// # Safety
    ///
    /// - there is a set of the type at the address, and it is not used afterwards
    /// - the contract of [`ComponentSet::write`](crate::ComponentSet) holds
    pub(crate) write: unsafe fn(*mut u8, RowPlace),
}

/// The changes to the columns of a row, with one bit per column.
#[derive(Clone, Copy, Default)]
struct RowChanges {
    /// The columns that got a new value.
    written: u64,
    /// The columns that were removed and added again.
    renewed: u64,
    /// The columns whose component was enabled or disabled.
    switched: u64,
    /// The columns whose component was enabled.
    on: u64,
}

// SAFETY: the addresses are those of commands and of `Send` values, and are used only while a buffer is played back.
unsafe impl Send for CoalescedBatch {}

impl EntityManager {
    /// Applies the prepared batch. This cannot fail. Remaining values are dropped when the batch is
    /// [cleared](CoalescedBatch::clear).
    pub(crate) fn apply_coalesced(&mut self) {
        let Self { coalesced, storage, sets, runs, .. } = self;
        let mut runs = runs.iter();
        for at in 0..coalesced.targets.len() {
            let &CoalesceTarget { archetype, first, rows, .. } = &coalesced.targets[at];
            let (mut next, mut left) = (first, rows);
            while left > 0 {
                let &run = runs.next().expect("there is room for all of them");
                left -= run.rows;
                // In chunks with a version per row, each row is filled separately.
                let is_tracked = storage.chunks[run.chunk].is_tracked();
                let step = if is_tracked { 1 } else { run.rows };
                for first in (run.first..run.first + run.rows).step_by(step as usize) {
                    let run = RowRange { first, rows: step, ..run };
                    // SAFETY: `prepare_coalesced` has reserved the rows for the entities of this target, and has made the chunks
                    // of their old rows unshared.
                    unsafe { coalesced.fill(storage, sets, archetype, run, &mut next) };
                }
            }
        }
        coalesced.change_in_place(storage, sets);
        coalesced.drop_despawned(storage);
        coalesced.leave(storage);
        for &at in &coalesced.gone {
            let touched = &coalesced.touched[at as usize];
            if touched.chunk == NOWHERE {
                let was_free = storage.table.consume_id(touched.entity);
                debug_assert!(was_free, "an entity that never was has its id");
            } else {
                storage.table.free(touched.entity);
            }
        }
    }
}

impl CoalescedBatch {
    /// Fills reserved rows of a chunk with the next entities of a target.
    ///
    /// # Safety
    ///
    /// - the rows are reserved, in an unshared chunk of the archetype
    /// - there is a next entity for each row, which ends in the archetype and whose old row is in an unshared chunk
    unsafe fn fill(
        &mut self,
        storage: &mut Storage,
        sets: &Sets,
        archetype: u32,
        run: RowRange,
        next: &mut u32,
    ) {
        let Self { shapes, column_maps, moves, touched, ops, staging, .. } = self;
        let chunk = &storage.chunks[run.chunk];
        // SAFETY: archetypes live as long as the storage.
        let shape = unsafe { chunk.unbound_shape() };
        let (data, version) = (chunk.data(), storage.version);
        let is_masked = !chunk.enabled.is_empty();
        let is_observed = chunk.is_observed();
        let mut writer = RowWriter { column_maps, sets, staging, archetype, shape, data, taken: 0 };
        let (mut changed, mut is_new, mut is_uniform) = (0, false, false);
        let mut followed = NOWHERE;
        for row in run.first..run.first + run.rows {
            let one = &touched[*next as usize];
            *next = one.next;
            // SAFETY:
            // - the row is reserved and has no values, and the recorded values exist and were not written yet
            // - the ids are at the beginning of the chunk, which has room for the row
            let done = unsafe {
                data.cast::<Entity>().add(row as usize).write(one.entity);
                writer.write(ops, one.last, row, false)
            };
            let location = Location { chunk: run.chunk, row };
            if one.chunk == NOWHERE {
                debug_assert_eq!(done.written.count_ones() as usize, shape.types.len());
                storage.table.place_reserved(one.entity, location);
                if is_observed {
                    storage.log_entity(one.entity, NOWHERE, archetype);
                }
                is_new = true;
                if is_masked {
                    storage.chunks[run.chunk].enabled.set_all_rows(row, 1, true);
                }
            } else {
                let ArchetypeMove { transfer, dropped } =
                    moves.get(shapes[one.from].archetype, archetype, &storage.archetypes);
                let taken = if is_observed || storage.chunks[one.chunk].is_observed() {
                    // SAFETY: the row has values, in a chunk that was made unshared. The values that the log takes are not
                    // dropped.
                    unsafe { log_change(storage, one, Some((archetype, shape)), done.written) }
                } else {
                    0
                };
                // SAFETY: both chunks exist. They differ, because their archetypes differ.
                let [source, target] =
                    unsafe { storage.chunks.get_pair_unchecked_mut(one.chunk, run.chunk) };
                let old = source.data();
                for carried in &transfer.moves {
                    if done.written >> carried.column & 1 != 0 {
                        continue;
                    }
                    let place = |start: u32, row: u32| {
                        start as usize + row as usize * carried.size as usize
                    };
                    // SAFETY: both rows are within their chunks, in columns of the same type. The chunks differ.
                    unsafe {
                        let from = old.add(place(carried.from, one.row));
                        copy_value(from, data.add(place(carried.to, row)), carried.size);
                    }
                }
                let replaced = dropped.iter().filter(|&&(_, new)| done.written >> new & 1 != 0);
                for &column in replaced.map(|(old, _)| old).chain(&transfer.left) {
                    if taken >> column & 1 != 0 {
                        continue;
                    }
                    // SAFETY: the row has a value in this column, which was not moved, because the column has a new value or the
                    // new archetype lacks it. The value is not used afterwards.
                    unsafe { drop_later_at(writer.staging, source.shape(), old, column, one.row) };
                }
                let moved = RowMove { from: one.row, to: row, rows: 1 };
                if followed != one.chunk {
                    followed = one.chunk;
                    is_uniform |= target.follow(moved, source, transfer, version);
                }
                if is_masked {
                    let (kept, new) = (&transfer.masks_kept, &transfer.masks_new);
                    target.enabled.follow_rows(moved, &source.enabled, kept, new);
                }
                storage.table.relocate(one.entity, location);
                changed |= done.written;
            }
            if is_masked {
                done.switch(&mut storage.chunks[run.chunk], row);
                changed |= done.switched;
            }
        }
        let chunk = &mut storage.chunks[run.chunk];
        if is_new {
            is_uniform |= chunk.note_new(run.first, run.rows, version);
        }
        if is_uniform {
            storage.chunks.note_uniform(run.chunk);
        }
        storage.add_rows(run.chunk, run.rows);
        let chunk = &mut storage.chunks[run.chunk];
        for column in bits(changed) {
            chunk.note_written(column, run.first, run.rows, version);
        }
    }

    /// Writes the new values of entities that are not moved.
    fn change_in_place(&mut self, storage: &mut Storage, sets: &Sets) {
        let Self { column_maps, touched, ops, staging, stay, .. } = self;
        let version = storage.version;
        for &at in &*stay {
            let one = &touched[at as usize];
            let chunk = &storage.chunks[one.chunk];
            let (archetype, data) = (chunk.archetype, chunk.data());
            // SAFETY: archetypes live as long as the storage.
            let shape = unsafe { chunk.unbound_shape() };
            let is_observed = chunk.is_observed();
            let mut writer =
                RowWriter { column_maps, sets, staging, archetype, shape, data, taken: 0 };
            if is_observed {
                let written = writer.columns_to_write(ops, one.last);
                // SAFETY: the row has values, in a chunk that was made unshared. The writer does not drop the values that the log
                // takes.
                writer.taken =
                    unsafe { log_change(storage, one, Some((archetype, shape)), written) };
            }
            let chunk = &mut storage.chunks[one.chunk];
            // SAFETY: the row has values, in a chunk that was made unshared. The recorded values exist, and were not written yet.
            let done = unsafe { writer.write(ops, one.last, one.row, true) };
            if !chunk.enabled.is_empty() {
                done.switch(chunk, one.row);
            }
            for column in bits(done.written | done.switched) {
                chunk.note_written(column, one.row, 1, version);
            }
        }
    }

    /// Moves those values of despawned entities that have drop glue to the staging arena.
    fn drop_despawned(&mut self, storage: &mut Storage) {
        for &at in &self.gone {
            let one = &self.touched[at as usize];
            let &TouchedEntity { chunk, row, .. } = one;
            if chunk == NOWHERE {
                continue;
            }
            let taken = if storage.chunks[chunk].is_observed() {
                // SAFETY: the row has values, in a chunk that was made unshared. The values that the log takes are not dropped.
                unsafe { log_change(storage, one, None, 0) }
            } else {
                0
            };
            let chunk = &storage.chunks[chunk];
            for &column in &chunk.shape().dropped {
                if taken >> column & 1 != 0 {
                    continue;
                }
                // SAFETY: the row has a value in this column. It is not used afterwards, because its entity is despawned.
                unsafe {
                    drop_later_at(&mut self.staging, chunk.shape(), chunk.data(), column, row);
                }
            }
        }
    }

    /// Removes the rows that entities have left. These rows have no values to be dropped.
    fn leave(&mut self, storage: &mut Storage) {
        self.leaving.sort_unstable();
        let mut rest = &self.leaving[..];
        while let Some(&last) = rest.last() {
            let number = (last >> 32) as u32;
            let others = rest.iter().rposition(|&place| place >> 32 != last >> 32);
            let (before, mut rows) = rest.split_at(others.map_or(0, |at| at + 1));
            rest = before;
            if rows.len() == storage.chunks[number].len as usize {
                storage.chunks[number].note_order(storage.version);
                drop(storage.close_chunk(number).into_parts());
                continue;
            }
            // The last rows are removed first, so that no removed row is moved into the gap of another.
            while let Some(&last) = rows.last() {
                let end = last as u32;
                let side_by_side =
                    rows.iter().rev().zip(0..).take_while(|&(&row, back)| row as u32 + back == end);
                let count = side_by_side.count();
                rows = &rows[..rows.len() - count];
                let first = end + 1 - count as u32;
                // SAFETY: the chunk has these rows and more, and was made unshared. Their entities are in other rows, or are
                // freed next. Their values with drop glue were moved.
                unsafe {
                    if count == 1 {
                        storage.remove_row(number, first, Some(&[]));
                    } else {
                        storage.close_gap(number, first, count as u32, &[]);
                    }
                }
            }
        }
    }
}

impl RowChanges {
    /// Sets the enabled bits of a row. Components that were removed and added again are enabled.
    fn switch(self, chunk: &mut Chunk, row: u32) {
        if self.renewed | self.switched == 0 {
            return;
        }
        // SAFETY: archetypes live as long as the storage.
        let shape = unsafe { chunk.unbound_shape() };
        for (mask, &column) in (0..).zip(&shape.enableable) {
            if (self.renewed | self.switched) >> column & 1 != 0 {
                let is_on = self.switched >> column & 1 == 0 || self.on >> column & 1 != 0;
                chunk.enabled.set(mask, row, is_on);
            }
        }
    }
}

/// Writes recorded values to the rows of a chunk.
struct RowWriter<'w> {
    column_maps: &'w mut ColumnMaps,
    sets: &'w Sets,
    staging: &'w mut StagingArena,
    archetype: u32,
    shape: &'w ArchetypeShape,
    data: *mut u8,
    /// The columns whose old values the log has taken, with one bit per column.
    taken: u64,
}

impl RowWriter<'_> {
    /// Returns the columns that the recorded operations of an entity write, with one bit per column.
    #[cold]
    fn columns_to_write(&mut self, ops: &[RecordedOp], last: u32) -> u64 {
        let (mut columns, mut at) = (0, last);
        while let Some(op) = ops.get(at as usize) {
            at = op.before;
            if let OpKind::Insert(_) = op.kind {
                let types = &self.sets.get(op.set).types;
                columns |= self.column_maps.get(self.archetype, self.shape, op.set, types).columns;
            }
        }
        columns
    }

    /// Writes the recorded values of an entity to a row, beginning with its last operation. Each component is written once. With
    /// `replaces`, old values are moved to the staging arena.
    ///
    /// # Safety
    ///
    /// - the chunk has the row, and is unshared; with `replaces`, the row has values, and otherwise nothing to be dropped
    /// - the recorded values exist, and were not written yet
    #[inline]
    unsafe fn write(
        &mut self,
        ops: &[RecordedOp],
        last: u32,
        row: u32,
        replaces: bool,
    ) -> RowChanges {
        let mut done = RowChanges::default();
        let mut at = last;
        while let Some(op) = ops.get(at as usize) {
            at = op.before;
            let (number, shape) = (self.archetype, self.shape);
            match op.kind {
                OpKind::Insert(given) => {
                    let types = &self.sets.get(op.set).types;
                    let map = self.column_maps.get(number, shape, op.set, types);
                    let new = map.columns & !done.written;
                    if new == 0 {
                        // Later operations have written all columns of the set. The owner of the set drops it.
                        continue;
                    }
                    if !map.is_whole || new != map.columns {
                        // SAFETY: both functions have the same contract.
                        unsafe { self.write_partly(given, op.set, row, done.written, replaces) };
                    } else {
                        if replaces && map.has_drops {
                            for &column in &map.each {
                                if self.taken >> column & 1 != 0 {
                                    continue;
                                }
                                // SAFETY: with `replaces`, the row has a value in this column, which is overwritten next.
                                unsafe {
                                    drop_later_at(self.staging, shape, self.data, column, row);
                                }
                            }
                        }
                        let place = RowPlace::new(self.data, &map.offsets, row as usize);
                        // SAFETY:
                        // - the recorded set exists, and the offsets are those of the set in the archetype of the chunk, which
                        //   has the row
                        // - the set is moved once, and its command exists until the batch is cleared
                        unsafe {
                            (given.write_fn.write)(given.values, place);
                            moved(given, self.staging);
                        }
                    }
                    done.written |= new;
                }
                OpKind::Remove => {
                    let types = &self.sets.get(op.set).types;
                    let map = self.column_maps.get(number, shape, op.set, types);
                    done.renewed |= map.columns;
                    debug_assert_eq!(map.columns & !done.written, 0, "it was passed again");
                }
                OpKind::SetEnabled(ty, is_on) => {
                    let Some(found) = shape.index.find(ty) else { continue };
                    let column = 1 << found.column;
                    if (done.switched | done.renewed) & column == 0 {
                        done.switched |= column;
                        done.on |= if is_on { column } else { 0 };
                    }
                }
            }
        }
        done
    }

    /// Writes those components of a set that the archetype has and that later operations have not written.
    ///
    /// # Safety
    ///
    /// - the contract of [`write`](Self::write) holds
    #[cold]
    unsafe fn write_partly(
        &mut self,
        given: StagedValue,
        set: u32,
        row: u32,
        written: u64,
        replaces: bool,
    ) {
        let types = &self.sets.get(set).types;
        let map = self.column_maps.get(self.archetype, self.shape, set, types);
        let ColumnMap { apart, each, .. } = map;
        let (layout, apart_offsets) = apart.as_ref().expect("the values are in memory already");
        let values = self.staging.place(*layout);
        // SAFETY: the recorded set exists, and is moved once. The memory has room for it, with an offset for each of its types.
        unsafe {
            (given.write_fn.write)(given.values, RowPlace::new(values, apart_offsets, 0));
            moved(given, self.staging);
        }
        for ((&ty, &column), &offset) in types.iter().zip(each).zip(apart_offsets) {
            // SAFETY: the memory has a value of the type, which has no other owner. With `replaces`, the row has a value, which
            // is overwritten next.
            unsafe {
                let value = values.add(offset as usize);
                if column == NOWHERE || written >> column & 1 != 0 {
                    self.staging.drop_later(ty, value);
                    continue;
                }
                if replaces && self.taken >> column & 1 == 0 {
                    drop_later_at(self.staging, self.shape, self.data, column, row);
                }
                let size = self.shape.columns[column as usize].size;
                copy_value(value, place_of(self.shape, self.data, column, row), size);
            }
        }
    }
}

/// Marks staged values as moved, so that their owner does not drop them.
///
/// # Safety
///
/// - the command that owns the values exists
unsafe fn moved(given: StagedValue, staging: &mut StagingArena) {
    match given.owner {
        ValueOwner::Nobody => {}
        // SAFETY: the command exists, and so does its target. Nothing else uses the target.
        ValueOwner::Command(target) => unsafe { *target = Entity::USED },
        ValueOwner::StagingArena(at) => staging.cancel_drop(at),
    }
}

/// Returns the address of the value in a column and row of a chunk.
fn place_of(shape: &ArchetypeShape, data: *mut u8, column: u32, row: u32) -> *mut u8 {
    let column = shape.columns[column as usize];
    data.wrapping_add(column.offset as usize + row as usize * column.size as usize)
}

/// Moves a value out of a row into the staging arena, which drops it later.
///
/// # Safety
///
/// - the memory is that of a chunk of the shape; the row has a value in the column, which is not used afterwards
unsafe fn drop_later_at(
    staging: &mut StagingArena,
    shape: &ArchetypeShape,
    data: *mut u8,
    column: u32,
    row: u32,
) {
    let ty: ComponentType = shape.types[column as usize];
    // SAFETY: there is a value of the type at the address, and it is not used there afterwards.
    unsafe { staging.discard(ty, place_of(shape, data, column, row)) };
}

/// Logs the change of an entity to another archetype, or to none, and the columns of that archetype that are overwritten. Returns
/// the columns of the old archetype whose values the log has taken.
///
/// # Safety
///
/// - the old row of the entity has values, in an unshared chunk
/// - the values of the returned columns are not used or dropped afterwards
#[cold]
#[inline(never)]
unsafe fn log_change(
    storage: &mut Storage,
    one: &TouchedEntity,
    to: Option<(u32, &ArchetypeShape)>,
    written: u64,
) -> u64 {
    let chunk = &storage.chunks[one.chunk];
    let (from, data) = (chunk.archetype, chunk.data());
    // SAFETY: archetypes live as long as the storage.
    let shape = unsafe { chunk.unbound_shape() };
    let changed = storage.log_entity(one.entity, from, to.map_or(NOWHERE, |(to, _)| to));
    let mut taken = 0;
    let mut take = |storage: &mut Storage, place, column: u32, ty: ComponentType| {
        if ty.is_shared() {
            return storage.keep_one_shared(place, one.chunk, ty);
        }
        let value = place_of(shape, data, column, one.row);
        // SAFETY: the row has a value in the column. By the contract of this function it is not used if the log takes it.
        if unsafe { storage.take_one(place, from, ty, value) } {
            taken |= 1 << column;
        }
    };
    let in_target = |ty| to.and_then(|(_, to)| to.index.find(ty));
    // The values of a run follow the run, so those of removed components come first.
    for (column, &ty) in (0..).zip(&shape.types) {
        if let (Some(place), None) = (changed, in_target(ty)) {
            take(storage, place, column, ty);
        }
    }
    for (column, &ty) in (0..).zip(&shape.types) {
        if in_target(ty).is_some_and(|found| written >> found.column & 1 != 0)
            && let Some(place) = storage.log_overwritten(one.entity, from, ty)
        {
            take(storage, place, column, ty);
        }
    }
    taken
}

/// Iterates over the positions of the bits that are set in a word.
fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let at = word.trailing_zeros();
            word &= word - 1;
            at
        })
    })
}

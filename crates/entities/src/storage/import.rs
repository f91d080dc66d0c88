//! Importing chunks and rows from another storage, and replacing entity references in values.

#![expect(unsafe_code, reason = "moves and duplicates rows between chunks")]

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Storage;
use super::arena::OutOfMemory;
use super::chunk::{Chunk, ChunkValues};
use super::fork::ChunkCopy;
use super::reserve::{ReservedRows, RowCursor, RowRange};
use super::row_moves::RowMove;
use crate::component::{ComponentType, RemapColumn};
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::field::EntityRemap;

/// The payload of a panic in user code.
type Panic = Box<dyn Any + Send>;

/// Rows that were imported from another storage, either with their whole chunk or alone.
#[derive(Clone, Copy)]
struct ImportedRows {
    run: RowRange,
    is_whole: bool,
}

/// The result of an import.
#[derive(Default)]
pub(crate) struct Imported {
    /// The old and the new ids of the imported entities.
    pub(crate) map: EntityMap,
    /// The imported rows with components that can refer to entities.
    referring: Vec<ImportedRows>,
}

/// The imported rows of one chunk of another storage, and their target.
pub(crate) struct ImportStep<'f> {
    /// The ranges of imported rows, in ascending order.
    runs: &'f [RowRange],
    /// The index of the target.
    target: usize,
    /// True if the whole chunk is moved to the storage.
    pub(crate) is_whole: bool,
    /// The moves of the rows, if the whole chunk is not moved.
    moves: Range<usize>,
}

/// A target of imported rows: a group of an archetype, or an archetype without groups.
pub(crate) struct ImportTarget {
    pub(crate) archetype: u32,
    pub(crate) group: u32,
    /// True if the archetype has components that can refer to entities.
    pub(crate) refers: bool,
}

/// A move of contiguous rows to reserved rows: the first row in the source chunk, and the reserved rows.
struct ImportMove {
    first: u32,
    to: RowRange,
}

/// The planned steps of an import, with reserved rows. Dropping the plan changes nothing.
pub(crate) struct ImportPlan<'d, 'f> {
    reserved: ReservedRows<'d>,
    steps: Vec<ImportStep<'f>>,
    targets: Vec<ImportTarget>,
    moves: Vec<ImportMove>,
}

impl<'f> ImportStep<'f> {
    pub(crate) fn new(runs: &'f [RowRange], target: usize) -> Self {
        Self { runs, target, is_whole: false, moves: 0..0 }
    }

    /// Returns the number of the source chunk.
    fn chunk(&self) -> u32 {
        self.runs[0].chunk
    }

    /// Returns the number of imported rows.
    pub(crate) fn rows(&self) -> u32 {
        self.runs.iter().map(|run| run.rows).sum()
    }

    /// Panics unless the source chunk has the rows and the types of the target. For a whole chunk, also panics unless the layouts
    /// are the same.
    fn check(&self, source: &Storage, storage: &Storage, target: &ImportTarget) {
        let (chunk, shape) =
            (&source.chunks[self.chunk()], &storage.archetypes[target.archetype].shape);
        let mut end = 0;
        for run in self.runs {
            assert!(run.chunk == self.chunk() && run.first >= end);
            assert!(run.first <= chunk.len && run.rows <= chunk.len - run.first);
            end = run.first + run.rows;
        }
        assert!(chunk.shape().types == shape.types);
        if self.is_whole {
            assert!(self.rows() == chunk.len && chunk.shape().has_same_layout(shape));
            assert_eq!(source.settings.chunk_size, storage.settings.chunk_size);
        }
    }
}

impl<'d, 'f> ImportPlan<'d, 'f> {
    /// Reserves a row for each row that is imported without its chunk, and assigns the reserved rows.
    pub(crate) fn new(
        mut reserved: ReservedRows<'d>,
        mut steps: Vec<ImportStep<'f>>,
        targets: Vec<ImportTarget>,
    ) -> Result<Self, OutOfMemory> {
        let (mut wholes, mut rows) = (0, vec![0; targets.len()]);
        for step in &steps {
            wholes += usize::from(step.is_whole);
            rows[step.target] += if step.is_whole { 0 } else { step.rows() as usize };
        }
        reserved.storage.chunks.expect(wholes);
        let mut rooms = Vec::with_capacity(targets.len());
        for (target, rows) in targets.iter().zip(rows) {
            rooms.push(RowCursor::after(reserved.runs));
            reserved.more(target.archetype, target.group, rows)?;
        }
        let mut moves = Vec::new();
        for step in steps.iter_mut().filter(|step| !step.is_whole) {
            let begin = moves.len();
            for &run in step.runs {
                rooms[step.target].assign(reserved.runs, run, |first, to| {
                    moves.push(ImportMove { first, to });
                });
            }
            step.moves = begin..moves.len();
        }
        Ok(Self { reserved, steps, targets, moves })
    }

    /// Moves the planned rows out of the source storage, whose chunks are unshared. If these are all rows of the source, its ids
    /// begin with the first index again. Returns the imported entities, and the chunk components of source chunks that were
    /// removed.
    ///
    /// This function cannot fail, and runs no user code.
    pub(crate) fn move_all(
        self,
        source: &mut Storage,
        is_everything: bool,
    ) -> (Imported, Vec<ChunkValues>) {
        let Self { mut reserved, steps, targets, moves } = self;
        reserved.keep();
        let storage = &mut *reserved.storage;
        let (mut imported, mut left, mut old_ids) = (Imported::default(), Vec::new(), Vec::new());
        for step in &steps {
            let (number, target) = (step.chunk(), &targets[step.target]);
            step.check(source, storage, target);
            assert!(!source.chunks[number].may_be_shared());
            if source.chunks[number].is_observed() {
                step.runs.iter().for_each(|&run| source.log_moved_away(run));
            }
            if !is_everything {
                for &run in step.runs {
                    source.table.free_rows(source.chunks.entities_in(run));
                }
            }
            if step.is_whole {
                source.chunks[number].note_order(source.version);
                let chunk = source.retire_chunk(number);
                // SAFETY: both shapes have the same layout, and both storages the same chunk size. The memory is unshared, and
                // the target's group belongs to its archetype.
                let rows =
                    unsafe { storage.import_chunk(chunk, target, &mut old_ids, &mut imported.map) };
                imported.note(target, rows);
                continue;
            }
            for &ImportMove { first, to } in &moves[step.moves.clone()] {
                let from = &source.chunks[number];
                // SAFETY: the source rows exist, and the target rows are reserved. The chunks belong to two storages, and have
                // the same types.
                let rows = unsafe {
                    move_values(from, first, &storage.chunks[to.chunk], to);
                    storage.import_rows(from, first, to, &mut imported.map)
                };
                imported.note(target, rows);
            }
            // SAFETY: the values of the rows were moved. Their entities are freed here or, if everything is moved, with all
            // others at the end. The chunks of the source are unshared.
            left.extend(unsafe { remove_moved(source, step) });
        }
        if is_everything {
            assert!(source.chunks.iter().next().is_none());
            source.table.clear();
        }
        imported.map.put_in_order();
        (imported, left)
    }

    /// Duplicates the planned rows of the source storage. Runs user code. If that panics, or there is no memory, nothing has
    /// changed.
    ///
    /// # Panics
    ///
    /// Panics if a type cannot be duplicated.
    pub(crate) fn copy_all(mut self, source: &Storage) -> Result<Imported, OutOfMemory> {
        let mut copies = Vec::new();
        for step in &self.steps {
            let (number, storage) = (step.chunk(), &*self.reserved.storage);
            step.check(source, storage, &self.targets[step.target]);
            let from = &source.chunks[number];
            if step.is_whole {
                let shape = &source.archetypes[from.archetype].shape;
                copies.push(ChunkCopy::new(number, from, shape, &storage.settings, true)?);
            }
            for &ImportMove { first, to } in &self.moves[step.moves.clone()] {
                // SAFETY: the rows of each move are reserved, and no other move has them. The result is held by the reservation.
                let mut rows = unsafe { self.reserved.rows(to) };
                rows.duplicate_rows(from, first);
                self.reserved.hold(rows);
            }
        }
        let Self { mut reserved, steps, targets, moves } = self;
        reserved.keep();
        let storage = &mut *reserved.storage;
        let (mut imported, mut old_ids) = (Imported::default(), Vec::new());
        let mut copies = copies.into_iter();
        for step in &steps {
            let (from, target) = (&source.chunks[step.chunk()], &targets[step.target]);
            let map = &mut imported.map;
            if step.is_whole {
                let copy = copies.next().expect("there is one for each");
                // SAFETY: `copy` is a copy of the whole chunk `from`. Both shapes have the same layout, and the target's group
                // belongs to its archetype.
                let rows = unsafe { storage.import_copy(copy, from, target, &mut old_ids, map) };
                imported.note(target, rows);
            }
            for &ImportMove { first, to } in &moves[step.moves.clone()] {
                // SAFETY: the source rows exist. The target rows are reserved, and have values in all columns. Both chunks have
                // the same types.
                let rows = unsafe { storage.import_rows(from, first, to, &mut imported.map) };
                imported.note(target, rows);
            }
        }
        imported.map.put_in_order();
        Ok(imported)
    }
}

impl Imported {
    /// Records imported rows, if their components can refer to entities.
    fn note(&mut self, target: &ImportTarget, rows: ImportedRows) {
        if target.refers {
            self.referring.push(rows);
        }
    }

    /// Returns whether components that can refer to entities were imported.
    pub(crate) fn may_refer(&self) -> bool {
        !self.referring.is_empty()
    }

    /// Replaces references between the imported entities, and sets all other references to null. If user code panics, the
    /// remaining references are still replaced, and the first panic is returned.
    pub(crate) fn replace_references(&self, storage: &mut Storage) -> Option<Panic> {
        let mut panicked = None;
        for &rows in &self.referring {
            let mut replacement = self.map.replacement();
            let mut remap = EntityRemap::new(&mut replacement);
            let result = storage.remap_imported(rows, &mut remap);
            panicked = panicked.or(result);
        }
        panicked
    }
}

impl Storage {
    /// Imports a chunk of another storage with all its rows. The chunk is no longer in a list of that storage. Its entities get
    /// new ids, which are recorded in `map`. `old_ids` is scratch memory.
    ///
    /// # Safety
    ///
    /// - the shape of the chunk still exists, and has the [same layout](super::ArchetypeShape::has_same_layout) as the shape of
    ///   the target's archetype
    /// - the memory of the chunk is unshared, and has the chunk size of this storage
    /// - the target's group belongs to its archetype, if the archetype has groups
    unsafe fn import_chunk(
        &mut self,
        mut chunk: Chunk,
        &ImportTarget { archetype, group, .. }: &ImportTarget,
        old_ids: &mut Vec<Entity>,
        map: &mut EntityMap,
    ) -> ImportedRows {
        let Self { archetypes, chunks, table, version, .. } = self;
        old_ids.clear();
        old_ids.extend_from_slice(chunk.entities());
        let number = chunks.insert(|sequence, _| {
            let shape = &archetypes[archetype].shape;
            // SAFETY: the shape is that of the archetype, and archetypes live as long as the storage. Both shapes have the same
            // layout.
            unsafe { chunk.rehome(archetype, group, shape, sequence) };
            chunk
        });
        let chunk = &mut chunks[number];
        table.allocate_rows(chunk.ids_mut(), number, 0);
        map.add(old_ids, chunk.entities());
        // The result is ignored, because `note_uniform` below is called in any case.
        _ = chunk.note_arrived(*version);
        chunk.note_order(*version);
        let run = RowRange { chunk: number, first: 0, rows: chunk.len };
        chunks.note_uniform(number);
        self.enlist_chunk(number);
        if self.chunks[number].is_observed() {
            self.log_created(run);
        }
        ImportedRows { run, is_whole: true }
    }

    /// Imports a copy of a chunk of another storage. Its entities get new ids, which are recorded in `map`.
    ///
    /// # Safety
    ///
    /// - `copy` is a copy of the whole chunk `of`
    /// - the shape of that chunk has the [same layout](super::ArchetypeShape::has_same_layout) as the shape of the target's
    ///   archetype
    /// - the target's group belongs to its archetype, if the archetype has groups
    unsafe fn import_copy(
        &mut self,
        copy: ChunkCopy,
        of: &Chunk,
        target: &ImportTarget,
        old_ids: &mut Vec<Entity>,
        map: &mut EntityMap,
    ) -> ImportedRows {
        let (memory, values) = copy.into_parts();
        let memory = memory.expect("the whole chunk was copied");
        let shape = &self.archetypes[target.archetype].shape;
        let pool = &mut self.chunks.pool;
        let mut chunk = Chunk::new(memory, target.archetype, shape, 0, values, pool);
        chunk.len = of.len;
        chunk.enabled = of.enabled.clone();
        // SAFETY: the chunk is new and unshared, has the shape of the archetype, and its memory has the chunk size of this
        // storage. The target's group belongs to its archetype.
        unsafe { self.import_chunk(chunk, target, old_ids, map) }
    }

    /// Adds reserved rows, whose values were moved or copied from rows of another storage. The new rows get ids, which are
    /// recorded in `map`, and the enabled bits of the source rows.
    ///
    /// # Safety
    ///
    /// - the source chunk has the rows, and the same types as the target chunk
    /// - the rows `to` are reserved, and have values in all columns
    unsafe fn import_rows(
        &mut self,
        from: &Chunk,
        first: u32,
        to: RowRange,
        map: &mut EntityMap,
    ) -> ImportedRows {
        let Self { chunks, table, version, .. } = self;
        let chunk = &mut chunks[to.chunk];
        debug_assert_eq!(to.first, chunk.len);
        let ids = chunk.new_ids(to.first, to.rows);
        table.allocate_rows(ids, to.chunk, to.first);
        let is_uniform = chunk.note_new(to.first, to.rows, *version);
        let moved = RowMove { from: first, to: to.first, rows: to.rows };
        for mask in 0..chunk.shape().enableable.len() as u32 {
            let same = [(mask, mask)];
            chunk.enabled.follow_rows(moved, &from.enabled, &same, &[]);
        }
        if is_uniform {
            chunks.note_uniform(to.chunk);
        }
        self.add_rows(to.chunk, to.rows);
        let old = &from.entities()[first as usize..][..to.rows as usize];
        map.add(old, self.chunks.entities_in(to));
        if self.chunks[to.chunk].is_observed() {
            self.log_created(to);
        }
        ImportedRows { run: to, is_whole: false }
    }

    /// Replaces entity references in the values of imported rows, whose chunk is unshared. If user code panics, the remaining
    /// values are still replaced, and the payload of the first panic is returned.
    fn remap_imported(
        &mut self,
        arrival: ImportedRows,
        map: &mut EntityRemap<'_>,
    ) -> Option<Panic> {
        let ImportedRows { run: RowRange { chunk, first, rows }, is_whole } = arrival;
        let mut panicked = None;
        for (_, ty, remap, values, count) in self.chunks[chunk].referring(first, rows, is_whole) {
            // SAFETY: there are `count` values of the type in unshared memory, which nothing else uses, and `remap` is the
            // function of the type.
            let result = unsafe { remap_each(remap, ty, values, count, map) };
            panicked = panicked.or(result);
        }
        panicked
    }

    /// Replaces entity references in all components of all chunks, except those of relationships. All chunks are unshared.
    pub(crate) fn remap(&mut self, map: &mut EntityRemap<'_>) {
        let version = self.version;
        for (_, chunk) in self.chunks.iter_mut() {
            let chunk = &*chunk;
            for (column, ty, remap, values, count) in chunk.referring(0, chunk.len, true) {
                if ty.is_in_relationship() {
                    // Both directions of a link agree only if the world changes them.
                    continue;
                }
                // The write is recorded first, because `remap` may panic halfway.
                // SAFETY: the chunk is borrowed mutably, so nothing else uses its versions. There are `count` values of the type
                // in unshared memory.
                unsafe {
                    chunk.note_written_beside(column, 0, chunk.len, version);
                    remap(ty.0.shape, values, count, map);
                }
            }
        }
    }
}

impl Chunk {
    /// Iterates over the columns whose values can refer to entities, and over chunk components if `with_values`. Yields the
    /// column, the type, its remap function, the address of the first value and the number of values.
    fn referring(
        &self,
        first: u32,
        rows: u32,
        with_values: bool,
    ) -> impl Iterator<Item = (u32, ComponentType, RemapColumn, *mut u8, usize)> {
        let shape = self.shape();
        let columns = (0..).zip(&shape.types).zip(&shape.columns).map(move |((at, &ty), slot)| {
            let values = self.column(slot.offset).wrapping_add(first as usize * ty.size());
            (at, ty, values, rows as usize)
        });
        let values = self.values.iter().filter(move |_| with_values);
        let values = values.map(|(column, ty, value)| (column, ty, value.as_ptr(), 1));
        let all = columns.chain(values);
        all.filter_map(|(at, ty, values, count)| Some((at, ty, ty.0.remap?, values, count)))
    }
}

/// Replaces entity references in values of a type, and continues after a value that panics. Returns the payload of the first
/// panic.
///
/// # Safety
///
/// - there are `count` values of the type, which nothing else uses, and `remap` is the function of the type
unsafe fn remap_each(
    remap: RemapColumn,
    ty: ComponentType,
    values: *mut u8,
    count: usize,
    map: &mut EntityRemap<'_>,
) -> Option<Panic> {
    let (mut done, mut panicked) = (0, None);
    while done < count {
        map.take_begun();
        let rest = values.wrapping_add(done * ty.size());
        // SAFETY: there are `count - done` values of the type from `rest` on, which nothing else uses.
        let replace = || unsafe { remap(ty.0.shape, rest, count - done, map) };
        let Err(panic) = catch_unwind(AssertUnwindSafe(replace)) else { break };
        panicked = panicked.or(Some(panic));
        done += map.take_begun().max(1);
    }
    panicked
}

/// Moves the values of rows to a chunk of another storage, which then owns them.
///
/// # Safety
///
/// - chunk `from` has the rows, and chunk `to`, a different one, has room for them at `run`
/// - both chunks have the same types
unsafe fn move_values(from: &Chunk, first: u32, to: &Chunk, run: RowRange) {
    let columns = from.shape().columns.iter().zip(&to.shape().columns);
    for (old, new) in columns.filter(|(old, _)| old.size > 0) {
        let value = |start: u32, row: u32| start as usize + row as usize * old.size as usize;
        let bytes = run.rows as usize * old.size as usize;
        // SAFETY: both chunks have the rows, in columns of the same type. The chunks differ, so the ranges are disjoint.
        unsafe {
            let values = from.data().add(value(old.offset, first));
            to.data().add(value(new.offset, run.first)).copy_from_nonoverlapping(values, bytes);
        }
    }
}

/// Removes rows whose values were moved. If the chunk has no other rows, removes the chunk and returns its chunk components.
///
/// # Safety
///
/// - the values of the rows were moved, and their entities are freed already or will be freed
/// - the memory of the chunk is unshared
unsafe fn remove_moved(storage: &mut Storage, step: &ImportStep<'_>) -> Option<ChunkValues> {
    let number = step.chunk();
    if step.rows() == storage.chunks[number].len {
        storage.chunks[number].note_order(storage.version);
        let (_, values, ..) = storage.retire_chunk(number).into_parts();
        return Some(values);
    }
    // The last run is removed first, so that no removed row is moved into the gap of another.
    for run in step.runs.iter().rev() {
        // SAFETY: the chunk has more rows than these, and is unshared. The values were moved, and the entities are freed.
        unsafe { storage.close_gap(number, run.first, run.rows, &[]) };
    }
    None
}

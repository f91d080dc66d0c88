//! Importing chunks and rows from another storage, and replacing entity references in values.

#![expect(unsafe_code, reason = "moves and duplicates rows between chunks")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Storage;
use super::arena::OutOfMemory;
use super::chunk::Chunk;
use super::fork::ChunkCopy;
use super::raw_values::{NewRows, duplicate_column};
use super::reserve::RowRange;
use super::row_moves::RowMove;
use crate::component::{ComponentType, RemapColumn};
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::field::EntityRemap;

/// The payload of a panic in user code.
type Panic = Box<dyn Any + Send>;

/// Rows that were imported from another storage, with or without their chunk.
#[derive(Clone, Copy)]
pub(crate) struct ImportedRows {
    pub(crate) run: RowRange,
    pub(crate) is_whole: bool,
}

impl Storage {
    /// Imports a chunk of another storage with all its rows. It is in no list of that storage any more. Its entities get new
    /// ids, which are recorded in `map`. `old_ids` is scratch memory.
    ///
    /// # Safety
    ///
    /// - the shape of the chunk has the [same layout](super::ArchetypeShape::has_same_layout) as that of the archetype, and
    ///   still exists
    /// - its memory is unshared, and has the size of this storage's chunks
    /// - `group` is a group of the archetype, if that has groups
    pub(crate) unsafe fn import_chunk(
        &mut self,
        mut chunk: Chunk,
        archetype: u32,
        group: u32,
        old_ids: &mut Vec<Entity>,
        map: &mut EntityMap,
    ) -> ImportedRows {
        let Self { archetypes, chunks, table, version, .. } = self;
        old_ids.clear();
        old_ids.extend_from_slice(chunk.entities());
        let number = chunks.insert(|sequence, _| {
            let shape = &archetypes[archetype].shape;
            // SAFETY: archetypes live as long as the storage, and the shapes have the same layout.
            unsafe { chunk.rehome(archetype, group, shape, sequence) };
            chunk
        });
        let chunk = &mut chunks[number];
        table.allocate_rows(chunk.ids_mut(), number, 0);
        map.add(old_ids, chunk.entities());
        // The other storage keeps a list of uniform chunks of its own.
        _ = chunk.note_all_written(*version);
        chunk.note_order(*version);
        let run = RowRange { chunk: number, first: 0, rows: chunk.len };
        chunks.note_uniform(number);
        self.enlist_chunk(number);
        ImportedRows { run, is_whole: true }
    }

    /// Copies a chunk of another storage for [`import_copy`](Self::import_copy). Runs user code, and changes nothing.
    ///
    /// # Safety
    ///
    /// - `number` is a chunk of the other storage, whose types can all be duplicated
    /// - its shape has the [same layout](super::ArchetypeShape::has_same_layout) as one of this storage, and chunks have the
    ///   same size
    pub(crate) unsafe fn copy_chunk(
        &self,
        other: &Self,
        number: u32,
    ) -> Result<ChunkCopy, OutOfMemory> {
        let chunk = &other.chunks[number];
        let shape = &other.archetypes[chunk.archetype].shape;
        // SAFETY: the chunk is of the shape, whose types can be duplicated, and chunks of both storages have the same size.
        unsafe { ChunkCopy::whole(number, chunk, shape, &self.settings) }
    }

    /// Imports a copy of a chunk of another storage, with new ids for its entities, which are recorded in `map`.
    ///
    /// # Safety
    ///
    /// - `copy` is a copy of the whole chunk `of`
    /// - the shape of that chunk has the [same layout](super::ArchetypeShape::has_same_layout) as that of the archetype
    /// - `group` is a group of the archetype, if that has groups
    pub(crate) unsafe fn import_copy(
        &mut self,
        copy: ChunkCopy,
        of: &Chunk,
        archetype: u32,
        group: u32,
        old_ids: &mut Vec<Entity>,
        map: &mut EntityMap,
    ) -> ImportedRows {
        let (memory, values) = copy.into_parts();
        let memory = memory.expect("the whole chunk was copied");
        let shape = &self.archetypes[archetype].shape;
        let pool = &mut self.chunks.pool;
        let mut chunk = Chunk::new(memory, archetype, shape, 0, values, pool);
        chunk.len = of.len;
        chunk.enabled = of.enabled.clone();
        // SAFETY: the chunk is new, unshared, of the shape of the archetype, and has memory of this storage. The group is one
        // of the archetype.
        unsafe { self.import_chunk(chunk, archetype, group, old_ids, map) }
    }

    /// Makes reserved rows visible whose values were moved or copied from another storage. They get ids, which are recorded in
    /// `map`, and the enabled bits of the other rows.
    ///
    /// # Safety
    ///
    /// - the other chunk has the rows, and the same types
    /// - the rows `to` are reserved, and have values in all columns
    pub(crate) unsafe fn import_rows(
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
        let new = &self.chunks[to.chunk].entities()[to.first as usize..];
        map.add(&from.entities()[first as usize..][..to.rows as usize], new);
        ImportedRows { run: to, is_whole: false }
    }

    /// Replaces entity references in the values of imported rows, whose chunk is unshared. Returns the payload of the first
    /// panic: all other values are replaced.
    pub(crate) fn remap_imported(
        &mut self,
        arrival: ImportedRows,
        map: &mut EntityRemap<'_>,
    ) -> Option<Panic> {
        let mut panicked = None;
        let ImportedRows { run: RowRange { chunk, first, rows }, is_whole } = arrival;
        let chunk = &self.chunks[chunk];
        let shape = chunk.shape();
        for (ty, column) in shape.types.iter().zip(&shape.columns) {
            let Some(remap) = ty.0.remap else { continue };
            let values = chunk.column(column.offset).wrapping_add(first as usize * ty.size());
            // SAFETY: the chunk has values of this type in these rows, and is unshared.
            let result = unsafe { remap_each(remap, *ty, values, rows as usize, map) };
            panicked = panicked.or(result);
        }
        if !is_whole {
            return panicked;
        }
        for (_, ty, value) in chunk.values.iter() {
            if let Some(remap) = ty.0.remap {
                // SAFETY: there is one value of this type, and chunk components are never shared.
                let result = unsafe { remap_each(remap, ty, value.as_ptr(), 1, map) };
                panicked = panicked.or(result);
            }
        }
        panicked
    }

    /// Replaces entity references in all components. All chunks are unshared.
    pub(crate) fn remap(&mut self, map: &mut EntityRemap<'_>) {
        let version = self.version;
        for (_, chunk) in self.chunks.iter_mut() {
            // SAFETY: archetypes live as long as the storage.
            let shape = unsafe { chunk.unbound_shape() };
            for (at, (ty, column)) in (0..).zip(shape.types.iter().zip(&shape.columns)) {
                if let Some(remap) = ty.0.remap {
                    // Recorded first, since `remap` may panic halfway.
                    chunk.note_written(at, 0, chunk.len, version);
                    // SAFETY: the chunk has values of this type in all rows, and is unshared.
                    unsafe {
                        remap(ty.0.shape, chunk.column(column.offset), chunk.len as usize, map);
                    };
                }
            }
            for (column, ty, value) in chunk.values.iter() {
                if let Some(remap) = ty.0.remap {
                    // SAFETY: there is one value of this type, and chunk components are never shared.
                    unsafe { remap(ty.0.shape, value.as_ptr(), 1, map) };
                    chunk.versions.set_version(column, version);
                }
            }
        }
    }
}

/// Replaces entity references in values of a type, even after one that panics. Returns the payload of the first panic.
///
/// # Safety
///
/// - there are `count` values of the type that nothing else uses, and `remap` is the function of the type
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
        // SAFETY: the remaining values are of the type, and nothing else uses them.
        let replace = || unsafe { remap(ty.0.shape, rest, count - done, map) };
        let Err(panic) = catch_unwind(AssertUnwindSafe(replace)) else { break };
        panicked = panicked.or(Some(panic));
        done += map.take_begun().max(1);
    }
    panicked
}

/// Moves the values of rows to a chunk of another storage, which owns them afterwards.
///
/// # Safety
///
/// - the first chunk has the rows, and the second, another one, has room for them at `run`
/// - both have the same types
pub(crate) unsafe fn move_values(from: &Chunk, first: u32, to: &Chunk, run: RowRange) {
    let columns = from.shape().columns.iter().zip(&to.shape().columns);
    for (old, new) in columns.filter(|(old, _)| old.size > 0) {
        let value = |start: u32, row: u32| start as usize + row as usize * old.size as usize;
        let bytes = run.rows as usize * old.size as usize;
        // SAFETY: both chunks have the rows, in columns of one type, and differ.
        unsafe {
            let values = from.data().add(value(old.offset, first));
            to.data().add(value(new.offset, run.first)).copy_from_nonoverlapping(values, bytes);
        }
    }
}

/// Duplicates the values of rows to a chunk of another storage: all of them or, if one panics, none. Runs user code.
///
/// # Safety
///
/// - the first chunk has the rows, and the second, another one, has room for them at `run`
/// - both have the same types, which can all be duplicated
/// - the archetype and the memory of the second chunk outlive the result, and nothing else reaches the rows
pub(crate) unsafe fn duplicate_values<'a>(
    from: &Chunk,
    first: u32,
    to: &Chunk,
    run: RowRange,
) -> NewRows<'a> {
    // SAFETY:
    // - the archetype and the memory of `to` live as long as the result
    // - columns are added once they are written, and nothing else reaches the rows yet
    let (shape, mut done) = unsafe {
        let shape = to.unbound_shape();
        (shape, NewRows::new(shape, to.data(), run.first, run.rows))
    };
    let columns = from.shape().columns.iter().zip(&shape.columns);
    for ((at, ty), (old, new)) in (0..).zip(&shape.types).zip(columns) {
        let value = |start: u32, row: u32| start as usize + row as usize * old.size as usize;
        let rows = run.rows as usize;
        // SAFETY: both chunks have this column; the first has values in the rows, the second has room for them.
        unsafe {
            let values = from.data().add(value(old.offset, first));
            let room = to.data().add(value(new.offset, run.first));
            duplicate_column(*ty, values, room, rows);
        }
        if ty.0.drop.is_some() {
            done.columns.push(at);
        }
    }
    done
}

//! Chunks and rows that come from another storage.

#![expect(unsafe_code, reason = "moves and duplicates rows between chunks")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Storage;
use super::arena::OutOfMemory;
use super::chunk::Chunk;
use super::fork::ChunkCopy;
use super::raw_values::NewRows;
use super::reserve::RowRange;
use super::row_moves::RowMove;
use crate::component::{ComponentType, Copying, RemapColumn};
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::field::EntityRemap;

/// What code of the user has panicked with.
type Panic = Box<dyn Any + Send>;

/// Rows that came from another storage, and whether their chunk came with them.
#[derive(Clone, Copy)]
pub(crate) struct ImportedRows {
    pub(crate) run: RowRange,
    pub(crate) is_whole: bool,
}

impl Storage {
    /// Takes in a chunk of another storage, which is in no list there any more, with all that is in it. Its entities get ids of
    /// this one, and which ones is noted. The list of entities is memory to use.
    ///
    /// # Safety
    ///
    /// - the shape of the chunk, which is there, is [as good](super::ArchetypeShape::has_same_layout) as that of the archetype
    /// - its memory is the world's alone, and of the size that chunks of this storage have
    /// - the group is one of the archetype, if that has groups
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
            // SAFETY: archetypes live as long as the storage. The rest is as the caller promises.
            unsafe { chunk.rehome(archetype, group, shape, sequence) };
            chunk
        });
        let chunk = &mut chunks[number];
        table.allocate_rows(chunk.ids_mut(), number, 0);
        map.add(old_ids, chunk.entities());
        // Whether they differed before is the matter of the storage that it comes from.
        _ = chunk.note_all_written(*version);
        chunk.note_order(*version);
        let run = RowRange { chunk: number, first: 0, rows: chunk.len };
        chunks.note_uniform(number);
        self.enlist_chunk(number);
        ImportedRows { run, is_whole: true }
    }

    /// Copies a chunk of another storage, for [`import_copy`](Self::import_copy). Code of the user runs, and nothing is changed.
    ///
    /// # Safety
    ///
    /// - it is a chunk of the other storage, whose types can all be duplicated
    /// - its shape is [as good](super::ArchetypeShape::has_same_layout) as one of this storage, and the chunks of both are as large
    pub(crate) unsafe fn copy_chunk(
        &self,
        other: &Self,
        number: u32,
    ) -> Result<ChunkCopy, OutOfMemory> {
        let chunk = &other.chunks[number];
        let shape = &other.archetypes[chunk.archetype].shape;
        // SAFETY: as the caller promises. What fits in chunks here fits in those of its settings.
        unsafe { ChunkCopy::whole(number, chunk, shape, &self.settings) }
    }

    /// Takes in a copy of a chunk of another storage, as [`import_chunk`](Self::import_chunk) does.
    ///
    /// # Safety
    ///
    /// - the copy is one of the whole chunk
    /// - the rest is as there
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
        // SAFETY: it is new, and of the shape of the archetype, with memory of this storage. The rest is as the caller promises.
        unsafe { self.import_chunk(chunk, archetype, group, old_ids, map) }
    }

    /// Lets rows behind the last of a chunk be seen, which have values that were moved or copied from rows of another storage.
    /// They get ids, which is noted, and what was switched off there is so here.
    ///
    /// # Safety
    ///
    /// - the other chunk has the rows, and the types of this one
    /// - the rows are reserved, and have values in all columns
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

    /// Replaces the entities that values of rows refer to, which have just come. The chunk is the world's alone. Returns what the first
    /// value panics with that does: all others are replaced.
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
            // SAFETY: the chunk has so many values of this type there, and is the world's alone.
            let result = unsafe { remap_each(remap, *ty, values, rows as usize, map) };
            panicked = panicked.or(result);
        }
        if !is_whole {
            return panicked;
        }
        for (_, ty, value) in chunk.values.iter() {
            if let Some(remap) = ty.0.remap {
                // SAFETY: there is a value of this type, which is the world's alone.
                let result = unsafe { remap_each(remap, ty, value.as_ptr(), 1, map) };
                panicked = panicked.or(result);
            }
        }
        panicked
    }

    /// Replaces the entities that components refer to. The chunks are the world's alone.
    pub(crate) fn remap(&mut self, map: &mut EntityRemap<'_>) {
        let version = self.version;
        for (_, chunk) in self.chunks.iter_mut() {
            // SAFETY: archetypes live as long as the world.
            let shape = unsafe { chunk.unbound_shape() };
            for (at, (ty, column)) in (0..).zip(shape.types.iter().zip(&shape.columns)) {
                if let Some(remap) = ty.0.remap {
                    // Before that, since it may panic in the midst.
                    chunk.note_written(at, 0, chunk.len, version);
                    // SAFETY: the chunk has so many values of this type there, and is the world's alone.
                    unsafe {
                        remap(ty.0.shape, chunk.column(column.offset), chunk.len as usize, map);
                    };
                }
            }
            for (column, ty, value) in chunk.values.iter() {
                if let Some(remap) = ty.0.remap {
                    // SAFETY: there is a value of this type, which is the world's alone.
                    unsafe { remap(ty.0.shape, value.as_ptr(), 1, map) };
                    chunk.versions.set_version(column, version);
                }
            }
        }
    }
}

/// Replaces the entities that values of a type refer to, also behind one that panics. Returns what the first panics with.
///
/// # Safety
///
/// - there are so many values of the type, which nobody else uses, and the function is that of the type
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
        // SAFETY: as the caller promises.
        let replace = || unsafe { remap(ty.0.shape, rest, count - done, map) };
        let Err(panic) = catch_unwind(AssertUnwindSafe(replace)) else { break };
        panicked = panicked.or(Some(panic));
        done += map.take_begun().max(1);
    }
    panicked
}

/// Moves the values of rows to those of a chunk of another storage: from here on they are there.
///
/// # Safety
///
/// - the first chunk has the rows, and the second, which is another, has room where the run says
/// - both have the same types
pub(crate) unsafe fn move_values(from: &Chunk, first: u32, to: &Chunk, run: RowRange) {
    let columns = from.shape().columns.iter().zip(&to.shape().columns);
    for (old, new) in columns.filter(|(old, _)| old.size > 0) {
        let value = |start: u32, row: u32| start as usize + row as usize * old.size as usize;
        let bytes = run.rows as usize * old.size as usize;
        // SAFETY: both rows are in their chunks, in columns of one type; the chunks are two.
        unsafe {
            let values = from.data().add(value(old.offset, first));
            to.data().add(value(new.offset, run.first)).copy_from_nonoverlapping(values, bytes);
        }
    }
}

/// Duplicates the values of rows to those of a chunk of another storage: all of them, or, when it panics, none. Code of the user
/// runs.
///
/// # Safety
///
/// - as for [`move_values`], and all types can be duplicated
/// - the archetype of the second chunk, and its memory, live as long as what is returned, and nobody else knows of the rows
pub(crate) unsafe fn duplicate_values<'a>(
    from: &Chunk,
    first: u32,
    to: &Chunk,
    run: RowRange,
) -> NewRows<'a> {
    // SAFETY: the caller's promise.
    let shape = unsafe { to.unbound_shape() };
    // SAFETY: columns are added when they are written, and the rows are nobody's yet.
    let mut done = unsafe { NewRows::new(shape, to.data(), run.first, run.rows) };
    let columns = from.shape().columns.iter().zip(&shape.columns);
    for ((at, ty), (old, new)) in (0..).zip(&shape.types).zip(columns) {
        let value = |start: u32, row: u32| start as usize + row as usize * old.size as usize;
        let rows = run.rows as usize;
        // SAFETY: both have a column there; the first has so many values, the second room for them.
        unsafe {
            let values = from.data().add(value(old.offset, first));
            let room = to.data().add(value(new.offset, run.first));
            match ty.0.copying {
                Copying::Bytes => room.copy_from_nonoverlapping(values, rows * old.size as usize),
                Copying::Deep(clone) | Copying::Clone(clone) => clone(values, room, rows),
                Copying::NotAtAll => unreachable!("`{ty}` cannot be duplicated, which was checked"),
            }
        }
        if ty.0.drop.is_some() {
            done.columns.push(at);
        }
    }
    done
}

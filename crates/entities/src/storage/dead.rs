//! Values that are dropped when everything else is done.

#![expect(unsafe_code, reason = "values in chunks that nobody can reach any more")]

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::archetype::ArchetypeShape;
use super::arena::ChunkMemory;
use super::chunk::Chunk;
use super::chunk_values::ChunkValues;
use super::raw_values::drop_values;

/// What a change of many entities has left: values that nobody can reach any more, and the memory of chunks that are gone.
///
/// Dropping values is code of the user. So it all is kept until the change is done, and dropped with this: all of it, also when
/// one value panics.
///
/// **Invariant:** the shapes and the memory are there as long as this, and nobody writes to rows that are named here.
pub(crate) struct Dead<'a> {
    lists: DeadLists,
    columns: PhantomData<&'a [u32]>,
}

/// The lists of what is dead, with nothing in them: memory for what is dead next.
#[derive(Default)]
pub(crate) struct DeadLists {
    rows: Vec<DeadRows>,
    values: Vec<ChunkValues>,
}

/// Values of some columns in rows of a chunk.
struct DeadRows {
    /// The memory, if the chunk is gone.
    memory: Option<ChunkMemory>,
    data: NonNull<u8>,
    shape: NonNull<ArchetypeShape>,
    columns: NonNull<[u32]>,
    first: u32,
    rows: u32,
}

// SAFETY: the values may be sent, as all components, and the rest is read by everybody.
unsafe impl Send for DeadRows {}

impl<'a> Dead<'a> {
    /// Nothing so far, in lists with nothing in them.
    pub(crate) fn new(lists: DeadLists) -> Self {
        debug_assert!(lists.rows.is_empty() && lists.values.is_empty());
        Self { lists, columns: PhantomData }
    }

    /// Drops everything, and returns the lists. If a value panics, all is dropped, and the lists are lost.
    pub(crate) fn finish(mut self) -> DeadLists {
        self.lists.rows.clear();
        self.lists.values.clear();
        self.lists
    }

    /// Takes a chunk that is in no list any more. If nobody else has its memory, the values of these columns are dropped. If there
    /// are none, the memory is returned, to be used again.
    ///
    /// # Safety
    ///
    /// - the values of all other columns were moved, or need not be dropped
    /// - the archetype of the chunk lives as long as this
    pub(crate) unsafe fn add_chunk(
        &mut self,
        chunk: Chunk,
        columns: &'a [u32],
    ) -> Option<ChunkMemory> {
        let (memory, values, shape, rows) = chunk.into_parts();
        if !values.is_of(None) {
            self.lists.values.push(values);
        }
        if columns.is_empty() {
            return memory.is_unique().then_some(memory);
        }
        let (data, memory) = (memory.as_ptr(), Some(memory));
        let (shape, columns) = (NonNull::from(shape), NonNull::from(columns));
        self.lists.rows.push(DeadRows { memory, data, shape, columns, first: 0, rows });
        None
    }

    /// Takes the values of columns in rows behind the last of a chunk.
    ///
    /// # Safety
    ///
    /// - the chunk has so many rows behind its last, with values in these columns that nobody else knows of
    /// - its archetype, and its memory, live as long as this, and nobody writes to the rows
    pub(crate) unsafe fn add_rows(&mut self, chunk: &Chunk, rows: u32, columns: &'a [u32]) {
        if columns.is_empty() {
            return;
        }
        let (shape, columns) = (NonNull::from(chunk.shape()), NonNull::from(columns));
        let (data, first) = (chunk.data, chunk.len);
        self.lists.rows.push(DeadRows { memory: None, data, shape, columns, first, rows });
    }
}

impl Drop for DeadRows {
    fn drop(&mut self) {
        let last = match self.memory.take().map(ChunkMemory::release) {
            // Others have it. They drop the values with it.
            Some(None) => return,
            Some(last) => last,
            None => None,
        };
        // SAFETY: the shape and the columns live as long as the list that this is in.
        let (shape, columns) = unsafe { (self.shape.as_ref(), self.columns.as_ref()) };
        // SAFETY: these values are there, and nobody can reach them any more.
        unsafe { drop_values(shape, self.data.as_ptr(), columns, self.first, self.rows) };
        drop(last);
    }
}

//! Values that are dropped when everything else is done.

#![expect(unsafe_code, reason = "values in chunks that nobody can reach any more")]

use super::archetype::ArchetypeShape;
use super::arena::ChunkMemory;
use super::chunk::Chunk;
use super::chunk_values::ChunkValues;
use super::staged::Staged;
use super::values::drop_values;

/// What a change of many entities has left: values that nobody can reach any more, and the memory of chunks that are gone.
///
/// Dropping values is code of the user. So it all is kept until the change is done, and dropped with this: all of it, also when
/// one value panics.
///
/// **Invariant:** the shapes and the memory are there as long as this, and nobody writes to rows that are named here.
#[derive(Default)]
pub(crate) struct Dead<'a> {
    rows: Vec<DeadRows<'a>>,
    values: Vec<ChunkValues>,
    pub(crate) staged: Vec<Staged>,
}

/// Values of some columns in rows of a chunk.
struct DeadRows<'a> {
    /// The memory, if the chunk is gone.
    memory: Option<ChunkMemory>,
    data: *mut u8,
    shape: &'a ArchetypeShape,
    columns: &'a [u32],
    first: u32,
    rows: u32,
}

impl<'a> Dead<'a> {
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
            self.values.push(values);
        }
        if columns.is_empty() {
            return memory.is_unique().then_some(memory);
        }
        let data = memory.as_ptr().as_ptr();
        self.rows.push(DeadRows { memory: Some(memory), data, shape, columns, first: 0, rows });
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
        // SAFETY: as the caller promises.
        let shape = unsafe { chunk.unbound_shape() };
        let (data, first) = (chunk.data(), chunk.len);
        self.rows.push(DeadRows { memory: None, data, shape, columns, first, rows });
    }
}

impl Drop for DeadRows<'_> {
    fn drop(&mut self) {
        let last = match self.memory.take().map(ChunkMemory::release) {
            // Others have it. They drop the values with it.
            Some(None) => return,
            Some(last) => last,
            None => None,
        };
        // SAFETY: these values are there, and nobody can reach them any more.
        unsafe { drop_values(self.shape, self.data, self.columns, self.first, self.rows) };
        drop(last);
    }
}

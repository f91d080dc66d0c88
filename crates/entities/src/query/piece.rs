//! What data of queries sees of a chunk: where it is fetched from, and where it is marked.

#![expect(unsafe_code, reason = "columns that are known to be there")]

use crate::storage::{Archetypes, Chunk, SharedValues};
use crate::version::Version;

/// What data is fetched from.
///
/// **Invariant:** the chunk is that of the places.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "nobody outside can have one")]
pub struct PieceView<'a> {
    pub(crate) chunk: &'a Chunk,
    pub(crate) archetypes: &'a Archetypes,
    pub(crate) values: &'a SharedValues,
}

/// Where it is noted that something of a chunk can have been changed.
#[expect(missing_debug_implementations, reason = "nobody outside can have one")]
pub struct PieceMarks<'a> {
    pub(super) chunk: &'a mut Chunk,
    pub(super) version: Version,
}

impl PieceMarks<'_> {
    /// Notes that values of a column can have been changed.
    ///
    /// # Safety
    ///
    /// - the chunk has such a column
    #[inline(always)]
    pub(crate) unsafe fn mark(&mut self, column: u32) {
        // SAFETY: the caller's promise.
        unsafe { self.chunk.state.set_version_of(column, self.version) };
    }

    /// As [`mark`](Self::mark), of a column that is tracked: which rows are written is still to be said.
    pub(crate) fn begin(&mut self, column: u32) {
        self.chunk.begin_writing(column, self.version);
    }
}

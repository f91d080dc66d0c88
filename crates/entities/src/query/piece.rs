//! What data of queries sees of a chunk: where it is fetched from, and where it is marked.

#![expect(unsafe_code, reason = "columns that are known to be there")]

use std::any::Any;

use crate::storage::{Archetypes, Chunk, SharedValues};
use crate::version::Version;

/// What data is fetched from.
///
/// **Invariant:** the chunk is that of the places.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "nobody outside can have one")]
pub struct PieceView<'a> {
    pub(crate) chunk: &'a Chunk,
    pub(crate) shared: SharedOf<'a>,
}

/// Where the values of shared components are, of the chunk at hand.
#[derive(Clone, Copy)]
pub(crate) enum SharedOf<'a> {
    /// Where the world has them.
    World { archetypes: &'a Archetypes, values: &'a SharedValues },
    /// In a list, one for each of the shared types of the archetype.
    Listed(&'a [*const (dyn Any + Send + Sync)]),
}

impl PieceView<'_> {
    /// The value of one of the shared types of the chunk's archetype. It is there as long as the chunk has it.
    pub(crate) fn shared_value(&self, at: usize) -> *const (dyn Any + Send + Sync) {
        match self.shared {
            SharedOf::World { archetypes, values } => {
                let groups = archetypes.groups(self.chunk.archetype).expect("it has shared types");
                let index = groups.at(self.chunk.group).values[at];
                &raw const **values.value(groups.tables[at], index)
            }
            SharedOf::Listed(values) => values[at],
        }
    }
}

/// Where it is noted that something of a chunk can have been changed.
#[expect(missing_debug_implementations, reason = "nobody outside can have one")]
pub struct PieceMarks<'a> {
    /// Not borrowed mutably: jobs mark other columns of it at the same time.
    pub(super) chunk: &'a Chunk,
    pub(super) version: Version,
}

impl PieceMarks<'_> {
    /// Notes that values of a column can have been changed.
    ///
    /// # Safety
    ///
    /// - the chunk has such a column
    /// - nobody else uses what is noted of it; nor of other columns, unless their versions were written out
    #[inline(always)]
    pub(crate) unsafe fn mark(&mut self, column: u32) {
        // SAFETY: the caller's promise.
        unsafe { self.chunk.versions.set_version_of(column, self.version) };
    }

    /// As [`mark`](Self::mark), of a column that is tracked: which rows are written is still to be said.
    ///
    /// # Safety
    ///
    /// - as for [`mark`](Self::mark)
    pub(crate) unsafe fn begin(&mut self, column: u32) {
        // SAFETY: the caller's promise.
        unsafe { self.chunk.begin_writing(column, self.version) };
    }
}

//! Change versions: when the components of a chunk, and of its rows, were last written.

#![expect(unsafe_code, reason = "versions that jobs write through shared references")]

mod chunk_versions;
mod row_versions;

use super::archetype::ArchetypeShape;
use super::chunk::Chunk;
use super::row_moves::RowMove;
use super::transfer::Transfer;
use crate::version::Version;

pub(super) use chunk_versions::{ChunkVersions, MetadataPool, UniformChunks, allocate, free};
pub(super) use row_versions::RowVersions;
pub(crate) use row_versions::TrackedColumn;

impl Chunk {
    /// Which of the tracked columns a column is, if it is one.
    fn tracked_place(&self, column: u32) -> Option<u32> {
        self.shape().tracked.binary_search(&column).ok().map(|at| at as u32)
    }

    /// Notes that values of rows that lie side by side were written, or given to be.
    #[inline]
    pub(crate) fn note_written(&mut self, column: u32, first: u32, rows: u32, version: Version) {
        // SAFETY: the chunk is borrowed mutably.
        unsafe { self.note_written_beside(column, first, rows, version) };
    }

    /// As [`note_written`](Self::note_written), while jobs may be using other columns of the chunk.
    ///
    /// # Safety
    ///
    /// - as for [`begin_writing`](Self::begin_writing)
    #[inline]
    pub(crate) unsafe fn note_written_beside(
        &self,
        column: u32,
        first: u32,
        rows: u32,
        version: Version,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            self.set_version_beside(column, version);
            if self.is_tracked() {
                self.track(column, version, |tracked| tracked.mark(first, rows));
            }
        }
    }

    /// Notes that values of a column were written, if nothing more is to be noted than a version. Returns whether it is so: if
    /// not, nothing was noted.
    ///
    /// # Safety
    ///
    /// - there is such a column
    /// - as for [`begin_writing`](Self::begin_writing)
    #[inline]
    pub(crate) unsafe fn note_written_quickly(&self, column: u32, version: Version) -> bool {
        // SAFETY: the caller's promise.
        !self.is_tracked() && unsafe { self.versions.set_version_quickly(column, version) }
    }

    /// Lets rows of a column be written at this version, if it is tracked, and marks some of them.
    ///
    /// # Safety
    ///
    /// - nobody else uses what is noted of the rows of the column
    #[inline(never)]
    unsafe fn track(&self, column: u32, version: Version, mark: impl FnOnce(&mut TrackedColumn)) {
        // SAFETY: it is there, or null, and nobody else uses it.
        if let Some(tracked) = unsafe { self.tracked_column(column).as_mut() } {
            tracked.begin(version, self.len);
            mark(tracked);
        }
    }

    /// Notes that those of 64 rows were written, or switched, that have a bit.
    ///
    /// # Safety
    ///
    /// - as for [`begin_writing`](Self::begin_writing)
    #[inline]
    pub(crate) unsafe fn note_written_bits(
        &self,
        column: u32,
        word: u32,
        rows: u64,
        version: Version,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            self.set_version_beside(column, version);
            if self.is_tracked() {
                self.track(column, version, |tracked| tracked.mark_bits(word, rows));
            }
        }
    }

    /// Notes when a column was written, or what the chunk itself has of it.
    ///
    /// # Safety
    ///
    /// - as for [`begin_writing`](Self::begin_writing)
    #[inline]
    pub(crate) unsafe fn set_version_beside(&self, column: u32, version: Version) {
        assert!((column as usize) < self.versions.types());
        // SAFETY: there is such a column. The rest is the caller's promise.
        unsafe { self.versions.set_version_of(column, version) };
    }

    /// Notes that all values of a row were written. Returns whether that is to be [noted](super::Chunks::note_uniform) of the chunk.
    #[must_use = "the list of all chunks has to know"]
    pub(crate) fn note_written_row(&mut self, row: u32, version: Version) -> bool {
        let is_uniform = self.versions.set_all(version);
        self.track_all(row, 1, version, self.len);
        is_uniform
    }

    /// Notes that all values of all rows were written. Returns whether that is to be [noted](super::Chunks::note_uniform) of the
    /// chunk.
    #[must_use = "the list of all chunks has to know"]
    pub(crate) fn note_all_written(&mut self, version: Version) -> bool {
        let is_uniform = self.versions.set_all(version);
        self.track_all(0, self.len, version, self.len);
        is_uniform
    }

    /// Notes that rows behind the last are new, with all their values. Returns whether that is to be
    /// [noted](super::Chunks::note_uniform) of the chunk.
    #[inline]
    #[must_use = "the list of all chunks has to know"]
    pub(crate) fn note_new(&mut self, first: u32, rows: u32, version: Version) -> bool {
        let is_uniform = self.versions.set_all(version);
        if self.is_tracked() {
            self.track_all(first, rows, version, first);
        }
        is_uniform
    }

    /// Notes that all values of rows were written. There are so many rows, not counting those that are new.
    #[inline(never)]
    fn track_all(&mut self, first: u32, rows: u32, version: Version, len: u32) {
        if let Some(tracking) = self.versions.tracking_mut() {
            tracking.mark_all(first, rows, version, len);
        }
    }

    /// Notes that a column is going to be written. Which rows are is still to be said, for one that is tracked:
    /// [there](Self::tracked_column), before they are given.
    ///
    /// Through a shared reference, since jobs do so for other columns at the same time.
    ///
    /// # Safety
    ///
    /// - nobody else uses what is noted of the column; nor of other columns, unless their versions were written out
    #[inline]
    pub(crate) unsafe fn begin_writing(&self, column: u32, version: Version) {
        // SAFETY: the caller's promise.
        unsafe {
            self.set_version_beside(column, version);
            if self.is_tracked() {
                self.track(column, version, |_| {});
            }
        }
    }

    /// Where it is noted which rows of a column are written, at the version that was begun. Null if it is not tracked.
    #[inline]
    pub(crate) fn tracked_column(&self, column: u32) -> *mut TrackedColumn {
        match (self.tracked_place(column), self.versions.tracking()) {
            (Some(at), Some(tracking)) => tracking.address(at).as_ptr(),
            _ => std::ptr::null_mut(),
        }
    }

    /// When the value of a row was last written; unless the column is tracked, when one of all rows was.
    ///
    /// # Safety
    ///
    /// - there is such a column, and such a row
    /// - nobody notes meanwhile that something of the column is written
    pub(crate) unsafe fn row_version(&self, column: u32, row: u32) -> Version {
        // It is made of no list: others may be using those of other columns.
        // SAFETY: it is there, or null, and nobody changes it.
        match unsafe { self.tracked_column(column).as_ref() } {
            Some(tracked) => tracked.version(row),
            None => self.versions.version(column),
        }
    }

    /// Notes that rows behind the last came from another chunk, where this was the first of them: when their values were written
    /// comes with them, and those that the transfer writes are new.
    #[inline(always)]
    #[must_use = "the list of all chunks has to know"]
    pub(crate) fn follow(
        &mut self,
        moved: RowMove,
        from: &Self,
        transfer: &Transfer,
        version: Version,
    ) -> bool {
        let is_uniform =
            self.versions.follow(&from.versions, &transfer.kept, &transfer.written, version);
        if self.is_tracked() {
            self.follow_tracked(moved, from, transfer, version);
        }
        is_uniform
    }

    /// What is noted row by row follows rows of another chunk.
    #[inline(never)]
    fn follow_tracked(
        &mut self,
        moved: RowMove,
        from: &Self,
        transfer: &Transfer,
        version: Version,
    ) {
        let kept = &transfer.kept;
        // SAFETY: the archetype lives as long as the chunk.
        let shape = unsafe { self.unbound_shape() };
        let tracking = self.versions.tracking_mut().expect("the shape has tracked columns");
        for (at, &column) in (0..).zip(&shape.tracked) {
            let theirs = kept.iter().find(|&&(_, ours)| ours == column).map(|&(theirs, _)| theirs);
            match theirs.and_then(|theirs| from.tracked_place(theirs)).zip(from.versions.tracking())
            {
                Some((theirs, source)) => {
                    tracking.follow_rows(at, moved, source, theirs);
                }
                None => tracking.mark(at, moved.to, moved.rows, version, moved.to),
            }
        }
    }

    /// Takes out what is noted row by row, as a chunk of another archetype has it, to which a transfer leads: columns that both
    /// have are as they were, and those that the transfer writes are new for all rows.
    pub(crate) fn take_tracking_for(
        &mut self,
        shape: &ArchetypeShape,
        transfer: &Transfer,
        version: Version,
        memory: &mut MetadataPool,
    ) -> Option<RowVersions> {
        let old = self.versions.take_tracking();
        let theirs = |column: u32| {
            let pair = transfer.kept.iter().find(|&&(_, ours)| ours == column);
            pair.and_then(|&(theirs, _)| self.tracked_place(theirs))
        };
        let columns = shape.tracked.iter().map(|&column| theirs(column));
        RowVersions::rearranged(old, columns, shape.capacity, version, memory)
    }

    /// Lets a row be noted as another is, which is gone then. They may be the same.
    #[inline]
    pub(crate) fn move_tracked(&mut self, from: u32, to: u32) {
        if let Some(tracking) = self.versions.tracking_mut() {
            tracking.move_row(from, to);
        }
    }

    /// Lets rows side by side be noted as others are, which are apart from them.
    pub(crate) fn copy_tracked(&mut self, from: u32, to: u32, rows: u32) {
        if let Some(tracking) = self.versions.tracking_mut() {
            tracking.copy_rows(from, to, rows);
        }
    }

    /// Notes that rows are gone.
    #[inline]
    pub(crate) fn clear_tracked(&mut self, first: u32, rows: u32) {
        if let Some(tracking) = self.versions.tracking_mut() {
            tracking.clear_rows(first, rows);
        }
    }
}

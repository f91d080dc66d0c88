//! Change versions: the version at which the components of a chunk, or of single rows, were last written.

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
    /// Returns the position of a column among the tracked columns.
    fn tracked_place(&self, column: u32) -> Option<u32> {
        self.shape().tracked.binary_search(&column).ok().map(|at| at as u32)
    }

    /// Records that the values of contiguous rows were written, or were borrowed mutably.
    #[inline]
    pub(crate) fn note_written(&mut self, column: u32, first: u32, rows: u32, version: Version) {
        // SAFETY: the chunk is borrowed mutably, so nothing else uses the versions of any column.
        unsafe { self.note_written_beside(column, first, rows, version) };
    }

    /// Records that the values of contiguous rows were written, while jobs may be using other columns of the chunk.
    ///
    /// # Safety
    ///
    /// - nothing else uses the versions of the column, nor those of other columns unless they were written out
    #[inline]
    pub(crate) unsafe fn note_written_beside(
        &self,
        column: u32,
        first: u32,
        rows: u32,
        version: Version,
    ) {
        // SAFETY: both functions have the same contract.
        unsafe { self.mark_beside(column, version, |tracked| tracked.mark(first, rows)) };
    }

    /// Records that values of a column were written, if setting one version suffices. Returns whether it was recorded.
    ///
    /// # Safety
    ///
    /// - the column exists
    /// - nothing else uses the versions of the column, nor those of other columns unless they were written out
    #[inline]
    pub(crate) unsafe fn note_written_quickly(&self, column: u32, version: Version) -> bool {
        // SAFETY: both functions have the same contract.
        !self.is_tracked() && unsafe { self.versions.set_version_quickly(column, version) }
    }

    /// Sets the version of a column, and marks rows of it, while jobs may be using other columns of the chunk.
    ///
    /// # Safety
    ///
    /// - nothing else uses the versions of the column, nor those of other columns unless they were written out
    #[inline(always)]
    unsafe fn mark_beside(
        &self,
        column: u32,
        version: Version,
        mark: impl FnOnce(&mut TrackedColumn),
    ) {
        // SAFETY: nothing else uses the versions of the column, and those of other columns are not used or were written out.
        unsafe {
            self.set_version_beside(column, version);
            if self.is_tracked() {
                self.track(column, version, mark);
            }
        }
    }

    /// Sets the version for rows of a column that are marked from now on, and calls `mark`. Does nothing if the column is not
    /// tracked.
    ///
    /// # Safety
    ///
    /// - nothing else uses the row versions of the column
    #[inline(never)]
    unsafe fn track(&self, column: u32, version: Version, mark: impl FnOnce(&mut TrackedColumn)) {
        // SAFETY: the address is null, or that of a tracked column that nothing else uses.
        if let Some(tracked) = unsafe { self.tracked_column(column).as_mut() } {
            tracked.begin(version, self.len);
            mark(tracked);
        }
    }

    /// Records that the rows with a bit in `rows`, among the 64 rows of a word, were written, enabled or disabled.
    ///
    /// # Safety
    ///
    /// - nothing else uses the versions of the column, nor those of other columns unless they were written out
    #[inline]
    pub(crate) unsafe fn note_written_bits(
        &self,
        column: u32,
        word: u32,
        rows: u64,
        version: Version,
    ) {
        // SAFETY: both functions have the same contract.
        unsafe { self.mark_beside(column, version, |tracked| tracked.mark_bits(word, rows)) };
    }

    /// Sets the version of a column, possibly that of a chunk component, while jobs may be using other columns of the chunk.
    ///
    /// # Safety
    ///
    /// - nothing else uses the versions of the column, nor those of other columns unless they were written out
    #[inline]
    pub(crate) unsafe fn set_version_beside(&self, column: u32, version: Version) {
        assert!((column as usize) < self.versions.types());
        // SAFETY: the column exists. The caller ensures that nothing else uses its version, nor those of other columns unless
        // they were written out.
        unsafe { self.versions.set_version_of(column, version) };
    }

    /// Records that all values of contiguous rows were written. Returns whether the caller has to
    /// [record](super::Chunks::note_uniform) the chunk as uniform.
    #[must_use = "`Chunks` keeps a list of uniform chunks"]
    pub(crate) fn note_written_rows(&mut self, first: u32, rows: u32, version: Version) -> bool {
        let is_uniform = self.versions.set_all(version);
        self.track_all(first, rows, version, self.len, false);
        is_uniform
    }

    /// Records that all rows are new, with all their values. Returns whether the caller has to
    /// [record](super::Chunks::note_uniform) the chunk as uniform.
    #[must_use = "`Chunks` keeps a list of uniform chunks"]
    pub(crate) fn note_arrived(&mut self, version: Version) -> bool {
        let is_uniform = self.versions.set_all(version);
        self.track_all(0, self.len, version, self.len, true);
        is_uniform
    }

    /// Records that rows after the last row are new, with all their values. Returns whether the caller has to
    /// [record](super::Chunks::note_uniform) the chunk as uniform.
    #[inline]
    #[must_use = "`Chunks` keeps a list of uniform chunks"]
    pub(crate) fn note_new(&mut self, first: u32, rows: u32, version: Version) -> bool {
        let is_uniform = self.versions.set_all(version);
        if self.is_tracked() {
            self.track_all(first, rows, version, first, true);
        }
        is_uniform
    }

    /// Records in the row versions that all values of rows were written, and that they are new if `is_new` is set. `len` is the
    /// number of rows without new ones.
    #[inline(never)]
    fn track_all(&mut self, first: u32, rows: u32, version: Version, len: u32, is_new: bool) {
        if let Some(tracking) = self.versions.tracking_mut() {
            tracking.mark_all(first, rows, version, len, is_new);
        }
    }

    /// Records that a column is about to be written. If the column is tracked, the caller marks rows in its
    /// [`TrackedColumn`](Self::tracked_column) before it borrows them mutably.
    ///
    /// This takes a shared reference, because jobs call it for other columns at the same time.
    ///
    /// # Safety
    ///
    /// - nothing else uses the versions of the column, nor those of other columns unless they were written out
    #[inline]
    pub(crate) unsafe fn begin_writing(&self, column: u32, version: Version) {
        // SAFETY: both functions have the same contract.
        unsafe { self.mark_beside(column, version, |_| {}) };
    }

    /// Returns the address of the row versions of a column, or null if the column is not tracked.
    #[inline]
    pub(crate) fn tracked_column(&self, column: u32) -> *mut TrackedColumn {
        match (self.tracked_place(column), self.versions.tracking()) {
            (Some(at), Some(tracking)) => tracking.address(at).as_ptr(),
            _ => std::ptr::null_mut(),
        }
    }

    /// Returns the address of the row versions at which a component arrived, or null if the column is not tracked.
    #[inline]
    pub(crate) fn added_column(&self, column: u32) -> *mut TrackedColumn {
        match (self.tracked_place(column), self.versions.tracking()) {
            (Some(at), Some(tracking)) => tracking.added_address(at).as_ptr(),
            _ => std::ptr::null_mut(),
        }
    }

    /// Returns the version at which the value of a row was last written. If the column is not tracked, returns the version of the
    /// whole column.
    ///
    /// # Safety
    ///
    /// - the column and the row exist
    /// - nothing records writes to the column meanwhile
    pub(crate) unsafe fn row_version(&self, column: u32, row: u32) -> Version {
        // Only this column is borrowed, because jobs may be using others.
        // SAFETY: the address is null, or that of a tracked column that nothing changes meanwhile.
        match unsafe { self.tracked_column(column).as_ref() } {
            Some(tracked) => tracked.version(row),
            None => self.versions.version(column),
        }
    }

    /// Records that rows after the last row have arrived from another chunk. Their values keep their versions, and values that
    /// the transfer writes are new. Returns whether the caller has to [record](super::Chunks::note_uniform) the chunk as uniform.
    #[inline(always)]
    #[must_use = "`Chunks` keeps a list of uniform chunks"]
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

    /// Copies the row versions of rows that have arrived from another chunk.
    #[inline(never)]
    fn follow_tracked(
        &mut self,
        moved: RowMove,
        from: &Self,
        transfer: &Transfer,
        version: Version,
    ) {
        let kept = &transfer.kept;
        // SAFETY: the archetype outlives the chunk, which is borrowed while the shape is used.
        let shape = unsafe { self.unbound_shape() };
        let tracking = self.versions.tracking_mut().expect("the shape has tracked columns");
        for (at, &column) in (0..).zip(&shape.tracked) {
            let theirs = kept.iter().find(|&&(_, ours)| ours == column).map(|&(theirs, _)| theirs);
            match theirs.and_then(|theirs| from.tracked_place(theirs)).zip(from.versions.tracking())
            {
                Some((theirs, source)) => {
                    tracking.follow_rows(at, moved, source, theirs);
                }
                None => {
                    // A replaced value is written, and its component is not new.
                    let ty = shape.types[column as usize];
                    let theirs = from.shape().index.find(ty).map(|found| found.column);
                    let theirs = theirs.and_then(|theirs| from.tracked_place(theirs));
                    match theirs.zip(from.versions.tracking()) {
                        Some((theirs, source)) => {
                            tracking.mark(at, moved.to, moved.rows, version, moved.to);
                            tracking.follow_added(at, moved, source, theirs);
                        }
                        None => tracking.mark_new(at, moved.to, moved.rows, version, moved.to),
                    }
                }
            }
        }
    }

    /// Removes the row versions, and adapts them to the archetype that a transfer leads to. Columns that both archetypes have
    /// keep their versions. Columns that the transfer writes are new in all rows.
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
}

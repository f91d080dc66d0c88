//! The change versions of a chunk, one per component type, and the memory pool for chunk metadata.

#![expect(unsafe_code, reason = "memory whose address jobs keep")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::mem;
use std::ptr::NonNull;
use std::slice;

use super::row_versions::RowVersions;
use crate::storage::archetype::ArchetypeShape;
use crate::storage::raw_values::prefetch;
use crate::version::Version;

/// The change version of each component type of a chunk, and the versions of single rows for tracked types.
///
/// ```text
/// address of the row versions, or null   16 bytes
/// version of type 0                      4 bytes, here `versions` points
/// version of type 1
/// …
/// ```
///
/// The versions are not in the memory of the chunk, because forks may share that memory. They are not in a `Box`, because jobs
/// keep their address.
pub(crate) struct ChunkVersions {
    /// One version per type and some spare ones, all initialised. They are valid only if `uniform` is [`Version::NEVER`].
    versions: NonNull<Version>,
    types: u32,
    /// The common version of all types, or [`Version::NEVER`] if the versions differ.
    uniform: Cell<Version>,
}

/// The header, which is stored before the versions.
type Header = Option<RowVersions>;

const _: () = assert!(align_of::<Header>() >= align_of::<Version>());

// SAFETY: `ChunkVersions` owns its memory, as a box does.
unsafe impl Send for ChunkVersions {}

impl ChunkVersions {
    /// Creates versions for no types, without memory.
    fn none() -> Self {
        Self { versions: NonNull::dangling(), types: 0, uniform: Cell::new(Version::NEVER) }
    }

    /// Creates the versions of a chunk of this shape without rows.
    pub(crate) fn new(shape: &ArchetypeShape, pool: &mut MetadataPool) -> Self {
        let tracked = shape.tracked.len();
        let tracking = (tracked > 0).then(|| pool.take_tracking(tracked, shape.capacity));
        Self::with(shape.types.len(), tracking, |bytes| pool.take(bytes))
    }

    fn with(
        types: usize,
        tracking: Option<RowVersions>,
        allocate: impl FnOnce(usize) -> NonNull<u8>,
    ) -> Self {
        let types = u32::try_from(types).expect("a chunk has room for fewer columns");
        let Some(bytes) = Self::bytes(types) else {
            debug_assert!(tracking.is_none(), "without types nothing is tracked");
            return Self::none();
        };
        let header = allocate(bytes).cast::<Header>();
        // SAFETY: the memory has room for the header, and for the versions after it: see `bytes`.
        let versions = unsafe {
            header.write(tracking);
            let versions = header.add(1).cast::<Version>();
            for at in 0..room_for(types) as usize {
                versions.add(at).write(Version::NEVER);
            }
            versions
        };
        Self { versions, types, uniform: Cell::new(Version::NEVER) }
    }

    /// Returns the size of the memory for this number of types, or `None` if there are no types.
    fn bytes(types: u32) -> Option<usize> {
        (types > 0).then(|| {
            let versions = Layout::array::<Version>(room_for(types) as usize);
            let both = versions.and_then(|versions| Layout::new::<Header>().extend(versions));
            both.expect("as large as a chunk at most").0.size()
        })
    }

    /// Returns the memory to the pool, which keeps up to `most` pieces of a size. Afterwards there are no types.
    pub(crate) fn recycle(&mut self, pool: &mut MetadataPool, most: usize) {
        let mut gone = mem::ManuallyDrop::new(mem::replace(self, Self::none()));
        if let Some(tracking) = gone.take_tracking() {
            pool.give_tracking_back(tracking, most);
        }
        if let Some(bytes) = Self::bytes(gone.types) {
            let header = gone.header();
            // SAFETY: the header is initialised, and the memory was allocated with `bytes` bytes. Neither is used afterwards.
            unsafe {
                header.drop_in_place();
                pool.give_back(header.cast(), bytes, most);
            }
        }
    }

    /// Returns the address of the header. The caller ensures that there are types.
    #[inline]
    fn header(&self) -> NonNull<Header> {
        debug_assert!(self.types > 0);
        // SAFETY: there are types, so there is memory, in which the header is directly before the versions.
        unsafe { self.versions.cast::<Header>().sub(1) }
    }

    /// Returns the versions, one per type. They are valid only if [`is_uniform`](Self::is_uniform) is false.
    ///
    /// The result consists of cells, because jobs write the versions of different columns at the same time.
    #[inline]
    fn cells(&self) -> &[Cell<Version>] {
        // SAFETY: there is an initialised version for each type. All writes are made through pointers or cells.
        unsafe { slice::from_raw_parts(self.versions.as_ptr().cast(), self.types as usize) }
    }

    /// Returns the versions of single rows, if a type is tracked.
    #[inline]
    pub(crate) fn tracking(&self) -> Option<&RowVersions> {
        // SAFETY: if there are types, there is an initialised header. The result borrows `self`.
        if self.types > 0 { unsafe { self.header().as_ref() }.as_ref() } else { None }
    }

    /// Returns the header mutably, if there are types.
    #[inline]
    fn header_mut(&mut self) -> Option<&mut Header> {
        // SAFETY: if there are types, there is an initialised header. The result borrows `self` mutably.
        if self.types > 0 { Some(unsafe { self.header().as_mut() }) } else { None }
    }

    /// Returns the versions of single rows mutably, if a type is tracked.
    #[inline]
    pub(crate) fn tracking_mut(&mut self) -> Option<&mut RowVersions> {
        self.header_mut()?.as_mut()
    }

    /// Removes and returns the versions of single rows, if a type is tracked.
    pub(crate) fn take_tracking(&mut self) -> Option<RowVersions> {
        self.header_mut()?.take()
    }

    /// Sets the versions of single rows. The caller ensures that there are types, and no versions of single rows yet.
    pub(crate) fn set_tracking(&mut self, tracking: RowVersions) {
        *self.header_mut().expect("without types nothing is tracked") = Some(tracking);
    }

    /// Adapts the versions to another archetype with `types` columns. `kept` pairs the old and the new columns whose versions are
    /// kept. All other columns get `version`. The caller has removed the versions of single rows.
    pub(crate) fn rearrange(
        &mut self,
        types: usize,
        kept: &[(u32, u32)],
        version: Version,
        pool: &mut MetadataPool,
    ) {
        /// The maximum number of types for which the versions are rearranged in place. Entities rarely have more.
        const FEW: usize = 16;

        debug_assert!(self.tracking().is_none());
        let count = u32::try_from(types).expect("a chunk has room for fewer columns");
        let uniform = if self.uniform.get() == version { version } else { Version::NEVER };
        let fits = match (Self::bytes(count), Self::bytes(self.types)) {
            (Some(bytes), Some(others)) => are_alike(bytes, others),
            (bytes, others) => bytes == others,
        };
        if !fits || types > FEW {
            let other = Self::with(types, None, |bytes| pool.take(bytes));
            other.uniform.set(uniform);
            let cells = other.cells();
            cells.iter().for_each(|cell| cell.set(version));
            for &(old, new) in kept {
                cells[new as usize].set(self.version(old));
            }
            // No limit is needed: there are at most as many pieces of a size as there were chunks with it.
            self.recycle(pool, usize::MAX);
            *self = other;
            return;
        }
        if self.uniform.get() == version {
            // The common version also is that of the new columns.
            self.types = count;
            return;
        }
        let mut versions = [version; FEW];
        for &(old, new) in kept {
            versions[new as usize] = self.version(old);
        }
        // The memory has the right size for this number of types, and all its versions are initialised.
        self.types = count;
        for (cell, &version) in self.cells().iter().zip(&versions) {
            cell.set(version);
        }
        self.uniform.set(uniform);
    }

    /// Returns the number of types.
    pub(crate) fn types(&self) -> usize {
        self.types as usize
    }

    #[inline]
    pub(crate) fn version(&self, column: u32) -> Version {
        assert!(column < self.types);
        // The common version is checked first, because it is in the cache with the other metadata of the chunk.
        if self.uniform.get() != Version::NEVER {
            return self.uniform.get();
        }
        self.cells()[column as usize].get()
    }

    #[inline]
    pub(crate) fn set_version(&mut self, column: u32, version: Version) {
        assert!(column < self.types);
        // SAFETY: the column exists. `self` is borrowed mutably, so nothing else uses the versions.
        unsafe { self.set_version_of(column, version) };
    }

    /// Sets the version of a column through a shared reference, because jobs set the versions of other columns at the same time.
    ///
    /// # Safety
    ///
    /// - the column exists
    /// - nothing else uses the version of the column, nor those of other columns unless all were [written out](Self::write_out)
    #[inline(always)]
    pub(crate) unsafe fn set_version_of(&self, column: u32, version: Version) {
        debug_assert!(column < self.types);
        if self.uniform.get() == version {
            return;
        }
        if self.uniform.get() != Version::NEVER {
            self.write_uniform();
        }
        // SAFETY: the column exists.
        let cell = unsafe { self.cells().get_unchecked(column as usize) };
        // If the version is equal, it is not written, so that jobs on other cores keep the cache line for the versions of their
        // columns.
        if cell.get() != version {
            cell.set(version);
        }
    }

    /// Prefetches the versions of columns, and the address of the versions of rows.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch(self.versions.as_ptr().cast());
    }

    /// Prefetches the versions of rows.
    #[inline(always)]
    pub(crate) fn prefetch_rows(&self) {
        if let Some(tracking) = self.tracking() {
            tracking.prefetch();
        }
    }

    /// Writes the common version to each column, so that jobs can set the versions of different columns without conflicts.
    #[inline]
    pub(crate) fn write_out(&self) {
        if self.uniform.get() != Version::NEVER {
            self.write_uniform();
        }
    }

    /// Sets the version of a column, unless the versions must be [written out](Self::write_out) first. Returns whether it was
    /// set.
    ///
    /// # Safety
    ///
    /// - the column exists
    /// - nothing else uses the version of the column, nor those of other columns unless all were [written out](Self::write_out)
    #[inline(always)]
    pub(crate) unsafe fn set_version_quickly(&self, column: u32, version: Version) -> bool {
        debug_assert!(column < self.types);
        if self.uniform.get() == version {
            return true;
        }
        let differ = self.uniform.get() == Version::NEVER;
        if differ {
            // SAFETY: the column exists.
            unsafe { self.cells().get_unchecked(column as usize) }.set(version);
        }
        differ
    }

    /// Writes the common version to each column, because the versions are about to differ.
    #[cold]
    fn write_uniform(&self) {
        let version = self.uniform.replace(Version::NEVER);
        self.cells().iter().for_each(|cell| cell.set(version));
    }

    /// Sets the version of all columns. Returns whether the versions differed, or may have differed, before.
    #[inline]
    #[must_use = "`Chunks` keeps a list of uniform chunks"]
    pub(crate) fn set_all(&mut self, version: Version) -> bool {
        self.uniform.replace(version) == Version::NEVER
    }

    /// Returns whether all columns have one common version, which is not [written out](Self::write_out) to the columns.
    pub(crate) fn is_uniform(&self) -> bool {
        self.uniform.get() != Version::NEVER
    }

    /// Updates the versions for rows that arrive from another chunk. `kept` pairs the columns of the other chunk with those of
    /// this chunk, which get the later of the two versions. The `written` columns get `version`.
    ///
    /// Returns whether the versions differed before, and are now equal.
    #[inline(always)]
    #[must_use = "`Chunks` keeps a list of uniform chunks"]
    pub(crate) fn follow(
        &mut self,
        from: &Self,
        kept: &[(u32, u32)],
        written: &[u32],
        version: Version,
    ) -> bool {
        // Usually all versions of both chunks already are the current version.
        if self.uniform.get() == version && from.uniform.get() == version {
            return false;
        }
        self.follow_each(from, kept, written, version)
    }

    #[inline(never)]
    fn follow_each(
        &mut self,
        from: &Self,
        kept: &[(u32, u32)],
        written: &[u32],
        version: Version,
    ) -> bool {
        if from.uniform.get() == version {
            return self.set_all(version);
        }
        for &(theirs, ours) in kept {
            self.set_version(ours, self.version(ours).newest(from.version(theirs)));
        }
        for &column in written {
            self.set_version(column, version);
        }
        false
    }
}

/// Returns the number of versions to allocate. It includes spare ones, so that a chunk that gets a tag usually keeps its memory.
fn room_for(types: u32) -> u32 {
    types.next_multiple_of(4)
}

impl Clone for ChunkVersions {
    fn clone(&self) -> Self {
        let tracking = self.tracking().cloned();
        let copy = Self::with(self.types as usize, tracking, allocate);
        copy.uniform.set(self.uniform.get());
        copy.cells().iter().zip(self.cells()).for_each(|(copy, cell)| copy.set(cell.get()));
        copy
    }
}

impl Drop for ChunkVersions {
    fn drop(&mut self) {
        if let Some(bytes) = Self::bytes(self.types) {
            let header = self.header();
            // SAFETY: the header is initialised, and the memory was allocated with `bytes` bytes. Neither is used afterwards.
            unsafe {
                header.drop_in_place();
                free(header.cast(), bytes);
            }
        }
    }
}

/// A set of chunk numbers that contains all chunks with a common version for all columns.
///
/// Before a job is scheduled, the common version is [written out](ChunkVersions::write_out) to each column. Checking each chunk
/// would take as long as running a job over some hundred of its entities, because the metadata is rarely in the cache. This set
/// is small enough to be in the cache.
///
/// **Invariant:** all chunks with a common version are in the set. It may contain other chunks.
#[derive(Clone, Default)]
pub(crate) struct UniformChunks {
    /// A bit for each chunk. The words are cells, because jobs that only read are scheduled with a shared reference to the world.
    words: Vec<Cell<u64>>,
}

impl UniformChunks {
    /// Makes room for a chunk with the next number.
    pub(crate) fn expect(&mut self, number: u32) {
        if number as usize / 64 >= self.words.len() {
            self.words.push(Cell::new(0));
        }
    }

    /// Adds a chunk to the set.
    #[cold]
    pub(crate) fn note(&mut self, number: u32) {
        *self.words[number as usize / 64].get_mut() |= 1 << (number % 64);
    }

    /// Returns whether a chunk is in the set.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.words[number as usize / 64].get() >> (number % 64) & 1 != 0
    }

    /// Removes `numbers` from the set, and calls a function for each that was in it.
    pub(crate) fn take(&self, numbers: &[u32], mut function: impl FnMut(u32)) {
        // The set is often empty, because jobs usually visit the same chunks repeatedly.
        if self.words.iter().all(|word| word.get() == 0) {
            return;
        }
        for &number in numbers {
            let (word, bit) = (&self.words[number as usize / 64], 1 << (number % 64));
            if word.get() & bit != 0 {
                word.set(word.get() & !bit);
                function(number);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.words.clear();
    }
}

/// A pool of memory for chunk metadata, so that creating a chunk rarely allocates.
///
/// Sizes are powers of two, so that a few sizes serve all archetypes. The alignment is 16 bytes.
#[derive(Default)]
pub(crate) struct MetadataPool {
    /// Free memory by size, beginning with the smallest. Memory of larger sizes is not kept.
    kept: [Vec<NonNull<u8>>; SIZES],
    /// Row versions for reuse, by the number of columns.
    tracked: Vec<Vec<RowVersions>>,
}

/// The binary logarithm of the smallest size.
const SMALLEST: u32 = 5;
/// The number of sizes. The largest is 4 KiB.
const SIZES: usize = 8;
const ALIGN: usize = 16;

// SAFETY: `MetadataPool` owns its memory, as a box does.
unsafe impl Send for MetadataPool {}

impl MetadataPool {
    /// Returns uninitialised memory of at least `bytes` bytes. `bytes` is not zero.
    pub(crate) fn take(&mut self, bytes: usize) -> NonNull<u8> {
        let kept = self.kept.get_mut(place_of(bytes)).and_then(Vec::pop);
        kept.unwrap_or_else(|| allocate(bytes))
    }

    /// Keeps memory for reuse, or frees it if `most` pieces of its size are already kept.
    ///
    /// # Safety
    ///
    /// - the memory was [taken](Self::take) or [allocated](allocate) with `bytes` bytes, and is not used afterwards
    pub(crate) unsafe fn give_back(&mut self, memory: NonNull<u8>, bytes: usize, most: usize) {
        match self.kept.get_mut(place_of(bytes)) {
            Some(kept) if kept.len() < most => kept.push(memory),
            // SAFETY: both functions have the same contract.
            _ => unsafe { free(memory, bytes) },
        }
    }

    /// Returns row versions with this number of columns, for a chunk without rows.
    pub(crate) fn take_tracking(&mut self, columns: usize, capacity: u32) -> RowVersions {
        /// The number of kept row versions that are checked for memory of the right size.
        const LOOKED_AT: usize = 8;

        let Some(kept) = self.tracked.get_mut(columns).filter(|kept| !kept.is_empty()) else {
            return RowVersions::new(columns, capacity);
        };
        let mut last = (0..kept.len()).rev().take(LOOKED_AT);
        let at = last.find(|&at| kept[at].is_for(capacity)).unwrap_or(kept.len() - 1);
        let mut tracking = kept.swap_remove(at);
        tracking.renew(capacity);
        tracking
    }

    /// Keeps row versions for reuse, or drops them if `most` with the same number of columns are already kept.
    pub(crate) fn give_tracking_back(&mut self, mut tracking: RowVersions, most: usize) {
        /// The number of kept row versions whose versions per row are kept, too. Those may be half as large as a chunk.
        const WHOLE: usize = 64;

        let columns = tracking.len();
        if columns >= self.tracked.len() {
            self.tracked.resize_with(columns + 1, Vec::new);
        }
        let kept = &mut self.tracked[columns];
        if kept.len() < most {
            if kept.len() >= WHOLE {
                tracking.forget_rows();
            }
            kept.push(tracking);
        }
    }
}

/// Allocates memory of at least `bytes` bytes. `bytes` is not zero.
pub(crate) fn allocate(bytes: usize) -> NonNull<u8> {
    let layout = layout_of(bytes);
    // SAFETY: the layout is not empty.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Frees memory that was allocated with `bytes` bytes.
///
/// # Safety
///
/// - the memory was [taken](MetadataPool::take) or [allocated](allocate) with `bytes` bytes, and is not used afterwards
pub(crate) unsafe fn free(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the memory was allocated with the layout of `bytes` bytes, and is not used afterwards.
    unsafe { dealloc(memory.as_ptr(), layout_of(bytes)) };
}

/// Returns whether allocations of both sizes have the same layout.
pub(crate) fn are_alike(bytes: usize, others: usize) -> bool {
    layout_of(bytes) == layout_of(others)
}

/// Returns the index of a size in the list of sizes.
fn place_of(bytes: usize) -> usize {
    (layout_of(bytes).size().ilog2() - SMALLEST) as usize
}

fn layout_of(bytes: usize) -> Layout {
    let size = bytes.max(1 << SMALLEST).next_power_of_two();
    Layout::from_size_align(size, ALIGN).expect("as large as a few chunks at most")
}

impl Drop for MetadataPool {
    fn drop(&mut self) {
        for (at, kept) in self.kept.iter_mut().enumerate() {
            for memory in kept.drain(..) {
                // SAFETY: all memory in a list has the size of the list, and is not used.
                unsafe { free(memory, 1 << (at + SMALLEST as usize)) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::UniformChunks;

    #[test]
    fn bits_are_taken_once_and_those_of_others_stay() {
        let mut chunks = UniformChunks::default();
        (0..130).for_each(|number| chunks.expect(number));
        [0, 63, 64, 129].into_iter().for_each(|number| chunks.note(number));
        let take = |numbers: &[u32]| {
            let mut taken = Vec::new();
            chunks.take(numbers, |number| taken.push(number));
            taken
        };
        assert_eq!(take(&[129, 1, 0]), [129, 0]);
        assert_eq!(take(&[129, 1, 0]), []);
        assert!(chunks.has(63) && chunks.has(64) && !chunks.has(129));
        assert_eq!(take(&[63, 64]), [63, 64]);
        assert_eq!(take(&[63, 64]), []);
    }
}

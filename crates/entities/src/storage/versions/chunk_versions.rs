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

/// The change version of each component type of a chunk, and the versions of single rows where types are tracked.
///
/// ```text
/// address of the row versions, or null   16 bytes
/// version of type 0                      4 bytes, here `versions` points
/// version of type 1
/// …
/// ```
///
/// It is not in the memory of the chunk, which forks may share. It is not a `Box`, since jobs keep its address.
pub(crate) struct ChunkVersions {
    /// One version per type and some spare ones, all initialised. They count only if `uniform` is [`Version::NEVER`].
    versions: NonNull<Version>,
    types: u32,
    /// The version of all types, or [`Version::NEVER`] if they differ.
    uniform: Cell<Version>,
}

/// The header before the versions.
type Header = Option<RowVersions>;

const _: () = assert!(align_of::<Header>() >= align_of::<Version>());

// SAFETY: it owns its memory, as a box does.
unsafe impl Send for ChunkVersions {}

impl ChunkVersions {
    /// Versions for no types, without memory.
    fn none() -> Self {
        Self { versions: NonNull::dangling(), types: 0, uniform: Cell::new(Version::NEVER) }
    }

    /// The versions of a chunk of this shape without rows.
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
        // SAFETY: the memory has room for the header, and for the versions behind it: see `bytes`.
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

    /// The size of the memory for this number of types, or `None` if they need none.
    fn bytes(types: u32) -> Option<usize> {
        (types > 0).then(|| {
            let versions = Layout::array::<Version>(room_for(types) as usize);
            let both = versions.and_then(|versions| Layout::new::<Header>().extend(versions));
            both.expect("as large as a chunk at most").0.size()
        })
    }

    /// Returns the memory to the pool, which keeps up to `most` pieces of a size. There are no types left then.
    pub(crate) fn recycle(&mut self, pool: &mut MetadataPool, most: usize) {
        let mut gone = mem::ManuallyDrop::new(mem::replace(self, Self::none()));
        if let Some(tracking) = gone.take_tracking() {
            pool.give_tracking_back(tracking, most);
        }
        if let Some(bytes) = Self::bytes(gone.types) {
            let header = gone.header();
            // SAFETY: the header is initialised, and the memory was allocated for this size. Neither is used afterwards.
            unsafe {
                header.drop_in_place();
                pool.give_back(header.cast(), bytes, most);
            }
        }
    }

    /// The address of the header. There are types.
    #[inline]
    fn header(&self) -> NonNull<Header> {
        debug_assert!(self.types > 0);
        // SAFETY: the header is before the versions, in the same memory.
        unsafe { self.versions.cast::<Header>().sub(1) }
    }

    /// The versions, one per type. They count only if [`is_uniform`](Self::is_uniform) is false.
    ///
    /// Cells, since jobs write the versions of different columns at the same time: no version is borrowed by this.
    #[inline]
    fn cells(&self) -> &[Cell<Version>] {
        // SAFETY: there is an initialised version for each type. All writes go through pointers or cells.
        unsafe { slice::from_raw_parts(self.versions.as_ptr().cast(), self.types as usize) }
    }

    /// The versions of single rows, if a type is tracked.
    #[inline]
    pub(crate) fn tracking(&self) -> Option<&RowVersions> {
        // SAFETY: with types there is a header, which is borrowed as `self` is.
        if self.types > 0 { unsafe { self.header().as_ref() }.as_ref() } else { None }
    }

    /// The header, if there are types.
    #[inline]
    fn header_mut(&mut self) -> Option<&mut Header> {
        // SAFETY: with types there is a header, which is borrowed as `self` is.
        if self.types > 0 { Some(unsafe { self.header().as_mut() }) } else { None }
    }

    /// The versions of single rows, if a type is tracked.
    #[inline]
    pub(crate) fn tracking_mut(&mut self) -> Option<&mut RowVersions> {
        self.header_mut()?.as_mut()
    }

    /// Takes the versions of single rows out, if a type is tracked.
    pub(crate) fn take_tracking(&mut self) -> Option<RowVersions> {
        self.header_mut()?.take()
    }

    /// Sets the versions of single rows. There are types, and no such versions yet.
    pub(crate) fn set_tracking(&mut self, tracking: RowVersions) {
        *self.header_mut().expect("without types nothing is tracked") = Some(tracking);
    }

    /// Adapts the versions to another archetype. `kept` pairs the old and new columns whose versions are kept; all others of the
    /// `types` columns get `version`. The versions of single rows were taken out before.
    pub(crate) fn rearrange(
        &mut self,
        types: usize,
        kept: &[(u32, u32)],
        version: Version,
        pool: &mut MetadataPool,
    ) {
        /// More types than entities usually have.
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
            // No limit: there are at most as many pieces of a size as there were chunks with it.
            self.recycle(pool, usize::MAX);
            *self = other;
            return;
        }
        if self.uniform.get() == version {
            // All versions are this one, also those of new columns.
            self.types = count;
            return;
        }
        let mut versions = [version; FEW];
        for &(old, new) in kept {
            versions[new as usize] = self.version(old);
        }
        // The memory has the size for this number of types, and is initialised.
        self.types = count;
        for (cell, &version) in self.cells().iter().zip(&versions) {
            cell.set(version);
        }
        self.uniform.set(uniform);
    }

    /// The number of types.
    pub(crate) fn types(&self) -> usize {
        self.types as usize
    }

    #[inline]
    pub(crate) fn version(&self, column: u32) -> Version {
        assert!(column < self.types);
        // Checked first, since it is in the cache with the rest of the chunk's metadata.
        if self.uniform.get() != Version::NEVER {
            return self.uniform.get();
        }
        self.cells()[column as usize].get()
    }

    #[inline]
    pub(crate) fn set_version(&mut self, column: u32, version: Version) {
        assert!(column < self.types);
        // SAFETY: the column exists, and `self` is borrowed mutably.
        unsafe { self.set_version_of(column, version) };
    }

    /// Sets the version of an existing column, through a shared reference: jobs set those of other columns at the same time.
    ///
    /// # Safety
    ///
    /// - the column exists
    /// - nothing else uses its version, nor those of other columns unless all were [written out](Self::write_out)
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
        // Jobs on other cores may mark other columns of the chunk: without a write, they keep the cache line.
        if cell.get() != version {
            cell.set(version);
        }
    }

    /// Prefetches the versions, and the address of the versions of rows.
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

    /// Writes the version of each column, so that jobs can set those of different columns without conflicts.
    #[inline]
    pub(crate) fn write_out(&self) {
        if self.uniform.get() != Version::NEVER {
            self.write_uniform();
        }
    }

    /// Sets the version of an existing column, unless the versions must be [written out](Self::write_out) for that. Returns
    /// whether it did.
    ///
    /// # Safety
    ///
    /// - the column exists
    /// - nothing else uses its version, nor those of other columns unless all were [written out](Self::write_out)
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

    /// Writes the version of each column, since they are about to differ.
    #[cold]
    fn write_uniform(&self) {
        let version = self.uniform.replace(Version::NEVER);
        self.cells().iter().for_each(|cell| cell.set(version));
    }

    /// Sets all versions. Returns whether they differed before, or may have.
    #[inline]
    #[must_use = "`Chunks` keeps a list of uniform chunks"]
    pub(crate) fn set_all(&mut self, version: Version) -> bool {
        self.uniform.replace(version) == Version::NEVER
    }

    /// Returns whether there is one version for all columns, which is not written out.
    pub(crate) fn is_uniform(&self) -> bool {
        self.uniform.get() != Version::NEVER
    }

    /// Updates the versions for rows that arrive from another chunk: columns that both chunks have get the later of the two
    /// versions (`kept` pairs theirs and ours), and the `written` columns get `version`.
    ///
    /// Returns whether the versions differed before, and no longer do.
    #[inline(always)]
    #[must_use = "`Chunks` keeps a list of uniform chunks"]
    pub(crate) fn follow(
        &mut self,
        from: &Self,
        kept: &[(u32, u32)],
        written: &[u32],
        version: Version,
    ) -> bool {
        // Usually all versions of both chunks are the current one already.
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

/// Returns the number of versions to allocate: some spare ones, so that a chunk that gets a tag usually keeps its memory.
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
            // SAFETY: the header is initialised, and the memory was allocated for this size. Neither is used afterwards.
            unsafe {
                header.drop_in_place();
                free(header.cast(), bytes);
            }
        }
    }
}

/// A set of chunks, by number: those that may have one version for all columns.
///
/// Before a job is scheduled, such versions are [written out](ChunkVersions::write_out), one per column. Checking every chunk
/// would take as long as a job over some hundred of its entities, since the metadata is rarely in the cache. This set is small
/// enough to be.
///
/// **Invariant:** all chunks with one version for all columns are in the set. Others may be, too.
#[derive(Clone, Default)]
pub(crate) struct UniformChunks {
    /// Cells, since jobs that only read are scheduled with a shared reference to the world.
    words: Vec<Cell<u64>>,
}

impl UniformChunks {
    /// Makes room for a chunk with the next number.
    pub(crate) fn expect(&mut self, number: u32) {
        if number as usize / 64 >= self.words.len() {
            self.words.push(Cell::new(0));
        }
    }

    /// Adds a chunk.
    #[cold]
    pub(crate) fn note(&mut self, number: u32) {
        *self.words[number as usize / 64].get_mut() |= 1 << (number % 64);
    }

    /// Returns whether a chunk is in the set.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.words[number as usize / 64].get() >> (number % 64) & 1 != 0
    }

    /// Removes those of `numbers` that are in the set, and calls a function for each.
    pub(crate) fn take(&self, numbers: &[u32], mut function: impl FnMut(u32)) {
        // Jobs usually visit the same chunks again and again, and no chunk was added since.
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

/// Recycles the memory of chunk metadata, so that opening a chunk rarely allocates.
///
/// Sizes are powers of two, so that few of them serve all archetypes. The alignment is 16 bytes.
#[derive(Default)]
pub(crate) struct MetadataPool {
    /// By size, the smallest first. Larger pieces are not kept.
    kept: [Vec<NonNull<u8>>; SIZES],
    /// Row versions, by the number of columns.
    tracked: Vec<Vec<RowVersions>>,
}

/// The binary logarithm of the smallest size.
const SMALLEST: u32 = 5;
/// The number of sizes: up to 4 KiB.
const SIZES: usize = 8;
const ALIGN: usize = 16;

// SAFETY: it owns the memory, as a box does.
unsafe impl Send for MetadataPool {}

impl MetadataPool {
    /// Returns uninitialised memory for `bytes` bytes, which is not zero.
    pub(crate) fn take(&mut self, bytes: usize) -> NonNull<u8> {
        let kept = self.kept.get_mut(place_of(bytes)).and_then(Vec::pop);
        kept.unwrap_or_else(|| allocate(bytes))
    }

    /// Keeps memory for reuse, or frees it if `most` pieces of the size are kept already.
    ///
    /// # Safety
    ///
    /// - the memory was [taken](Self::take) or [allocated](allocate) for `bytes` bytes, and is not used any more
    pub(crate) unsafe fn give_back(&mut self, memory: NonNull<u8>, bytes: usize, most: usize) {
        match self.kept.get_mut(place_of(bytes)) {
            Some(kept) if kept.len() < most => kept.push(memory),
            // SAFETY: the contract of this function is that of `free`.
            _ => unsafe { free(memory, bytes) },
        }
    }

    /// Returns row versions for this number of columns, of a chunk without rows.
    pub(crate) fn take_tracking(&mut self, columns: usize, capacity: u32) -> RowVersions {
        /// The number of candidates that are checked for memory of the right size.
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

    /// Keeps row versions for reuse, or drops them if `most` with as many columns are kept already.
    pub(crate) fn give_tracking_back(&mut self, mut tracking: RowVersions, most: usize) {
        /// The number of entries that keep versions per row, which may be half as large as a chunk.
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

/// Allocates memory for `bytes` bytes, which is not zero.
pub(crate) fn allocate(bytes: usize) -> NonNull<u8> {
    let layout = layout_of(bytes);
    // SAFETY: the layout is not empty.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Frees memory.
///
/// # Safety
///
/// - the memory was [taken](MetadataPool::take) or [allocated](allocate) for `bytes` bytes, and is not used any more
pub(crate) unsafe fn free(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: memory for this number of bytes is always allocated with this layout.
    unsafe { dealloc(memory.as_ptr(), layout_of(bytes)) };
}

/// Returns whether memory for the one size also serves the other.
pub(crate) fn are_alike(bytes: usize, others: usize) -> bool {
    layout_of(bytes) == layout_of(others)
}

/// Returns the place of a size in the list.
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
                // SAFETY: the piece has the size of its list, and is not in use.
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

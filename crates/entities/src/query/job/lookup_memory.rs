//! What a job looks for entities in.

#![expect(unsafe_code, reason = "what was fetched from chunks of a world, as words")]

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::data::QueryData;
use super::super::matched::Match;
use super::super::piece::PieceMarks;
use crate::entity::Entity;
use crate::manager::ResourceUse;
use crate::storage::{Chunk, Location, PageView, SlotView};
use crate::version::Version;

/// What a job looks for entities in: where they are, and what was fetched from each chunk.
pub(crate) struct LookupMemory {
    pub(super) pages: PageView<'static>,
    /// What was fetched from each chunk, by its number, or that it does not have what is looked for: as so many words.
    pub(super) fetched: Vec<MaybeUninit<u64>>,
    /// What a chunk is a match of.
    pub(super) found: Vec<*const Match>,
    /// Which chunks were written: a bit for each, if several threads write.
    pub(super) written: Vec<AtomicU64>,
    /// Where the chunks are.
    pub(super) chunks: *const Chunk,
    pub(super) version: Version,
    pub(super) uses: Vec<ResourceUse>,
}

// SAFETY: threads read what it points to, or change it as the job has declared. Nobody else does meanwhile.
unsafe impl Send for LookupMemory {}
// SAFETY: as above.
unsafe impl Sync for LookupMemory {}

impl Default for LookupMemory {
    fn default() -> Self {
        Self {
            pages: PageView::default(),
            fetched: Vec::new(),
            found: Vec::new(),
            written: Vec::new(),
            chunks: std::ptr::null(),
            version: Version::NEVER,
            uses: Vec::new(),
        }
    }
}

impl LookupMemory {
    /// How many words are needed for what is fetched from a chunk.
    pub(super) const fn words<D: QueryData>() -> usize {
        assert!(align_of::<Option<D::Fetch>>() <= align_of::<u64>());
        size_of::<Option<D::Fetch>>().div_ceil(size_of::<u64>())
    }

    /// Begins to note what is fetched from so many chunks: from none of them anything yet.
    pub(super) fn begin<D: QueryData>(&mut self, chunks: usize) {
        let words = Self::words::<D>();
        self.fetched.clear();
        self.fetched.resize(chunks * words, MaybeUninit::uninit());
        for place in self.fetched.chunks_exact_mut(words) {
            // SAFETY: there is room for it, of the right alignment.
            unsafe { place.as_mut_ptr().cast::<Option<D::Fetch>>().write(None) };
        }
    }

    /// Notes what was fetched from a chunk.
    pub(super) fn note<D: QueryData>(&mut self, chunk: usize, fetch: D::Fetch) {
        let words = Self::words::<D>();
        let place = &mut self.fetched[chunk * words..][..words];
        // SAFETY: there is room for it, of the right alignment.
        unsafe { place.as_mut_ptr().cast::<Option<D::Fetch>>().write(Some(fetch)) };
    }

    /// What is needed to find entities.
    #[inline(always)]
    pub(super) fn finder(&self) -> Finder<'_> {
        Finder { slots: self.pages.slots(), fetched: self.fetched.as_ptr(), memory: self }
    }

    /// Whether something that is looked for was written since: of an entity, where that is tracked, or else in its chunk, which
    /// has what is looked for.
    ///
    /// # Safety
    ///
    /// - nobody notes meanwhile that what is looked for was written, as who [declares](super::super::uses::add_versions) to read
    ///   its versions can rely on
    pub(super) unsafe fn did_change(&self, at: Location, since: Version) -> bool {
        let chunk = at.chunk as usize;
        // SAFETY: the chunk is there, as the table says, and the match is that of its archetype. Its versions were written out.
        let (found, chunk) = unsafe { (&*self.found[chunk], &*self.chunks.add(chunk)) };
        let mut there = found.places.iter().filter(|place| place.is_there());
        // SAFETY: the columns are those of its archetype, and the table names rows that are there. The rest is the caller's promise.
        there.any(|place| unsafe { chunk.row_version(place.column, at.row) }.is_newer_than(since))
    }

    /// Notes that something of a chunk was given to be written, to be marked when all threads are done.
    #[inline(always)]
    pub(super) fn note_written(&self, chunk: u32) {
        let (word, bit) = (&self.written[chunk as usize / 64], 1 << (chunk % 64));
        // Mostly the chunk was written before. Relaxed: it is read when all threads are done.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Marks what is written of a chunk that has what is looked for.
    ///
    /// # Safety
    ///
    /// - it was made for this data, which can be changed, and nobody else uses it
    pub(super) unsafe fn mark<D: QueryData>(&self, chunk: u32) {
        // SAFETY: the chunk is there, as the table says, and the match is that of its archetype. Its versions were written out.
        unsafe {
            let found = &*self.found[chunk as usize];
            let chunk = &*self.chunks.add(chunk as usize);
            D::mark(&mut PieceMarks { chunk, version: self.version }, &found.places);
        }
    }

    /// Marks what was [noted](Self::note_written), for all rows of a chunk.
    ///
    /// # Safety
    ///
    /// - as for [`mark`](Self::mark), and all threads are done
    pub(super) unsafe fn mark_written<D: QueryData>(&self) {
        for (at, word) in (0..).zip(&self.written) {
            let mut word = word.load(Ordering::Relaxed);
            while word != 0 {
                let chunk = at * 64 + word.trailing_zeros();
                word &= word - 1;
                // SAFETY: the caller's promise. Of the chunk something was given, so it has what is looked for.
                unsafe {
                    self.mark::<D>(chunk);
                    if D::TRACKS {
                        let rows = (*self.chunks.add(chunk as usize)).len as usize;
                        if let Some(fetch) = self.finder().fetched_from::<D>(chunk) {
                            D::track(fetch, 0, rows, false);
                        }
                    }
                }
            }
        }
    }
}

/// What is needed to find entities in the memory of a lookup, as numbers that stay in registers while a job writes to something
/// else.
#[derive(Clone, Copy)]
pub(super) struct Finder<'v> {
    slots: SlotView<'v>,
    fetched: *const MaybeUninit<u64>,
    pub(super) memory: &'v LookupMemory,
}

// SAFETY: it is a reference to the memory, and what is known of it, which does not change as long as it is borrowed.
unsafe impl Send for Finder<'_> {}
// SAFETY: as above.
unsafe impl Sync for Finder<'_> {}

impl Finder<'_> {
    /// Has the memory of an entity's slot on its way.
    #[inline(always)]
    pub(super) fn expect(self, entity: Entity) {
        self.slots.prefetch(entity);
    }

    /// Where the data of an entity is: what was fetched from its chunk.
    ///
    /// # Safety
    ///
    /// - the memory was made for this data
    #[inline(always)]
    pub(super) unsafe fn find<D: QueryData>(self, entity: Entity) -> Option<(D::Fetch, Location)> {
        let at = self.slots.locate(entity)?;
        // SAFETY: the caller's promise. The table names chunks that are there.
        let fetch = unsafe { self.fetched_from::<D>(at.chunk) }?;
        Some((fetch, at))
    }

    /// What was fetched from a chunk, if it has what is looked for.
    ///
    /// # Safety
    ///
    /// - the memory was made for this data
    /// - the chunk is one of the world
    #[inline(always)]
    unsafe fn fetched_from<D: QueryData>(self, chunk: u32) -> Option<D::Fetch> {
        let words = LookupMemory::words::<D>();
        // SAFETY: there is one for each chunk of the world, which was written for this data.
        unsafe { self.fetched.add(chunk as usize * words).cast::<Option<D::Fetch>>().read() }
    }
}

//! The rows that a query finds, for threads that go through them.

#![expect(
    unsafe_code,
    reason = "chunks of a world, which threads use while nobody gets in their way"
)]

use std::any::Any;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use ancho_jobs::{Access, AccessList};

use super::choice::Choice;
use super::chunk_rows::{Soon, rows_of_chunk, track};
use super::data::{ChunkData, QueryData};
use super::matched::{Masks, Match, matching_rows, rows_there};
use super::piece::{PieceMarks, PieceView, SharedOf};
use super::runs::Runs;
use super::walk::{LONG, Walk};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::manager::{Jobs, Resource, ResourceUse};
use crate::storage::{Chunk, OutOfMemory};
use crate::version::Version;

/// The rows that a query finds, for threads that go through them.
///
/// It is made in two steps. The thread of the world [collects](Self::collect) the chunks of all archetypes that match. Which of
/// them are found, and which of their rows, may depend on what earlier jobs have still to write; so that is settled when
/// the turn of the job has come: then it is [prepared](Self::prepare), once, what is written is marked, and
/// the rows are divided into pieces, of which one thread at a time takes one.
///
/// What it points to stays as long as it is in use: no row of these archetypes comes or goes meanwhile, and matches stay where
/// they are.
pub(crate) struct Rows {
    /// Where the chunks of the world are, each at the place of its number.
    all_chunks: *const Chunk,
    matches: Vec<FoundMatch>,
    chunks: Vec<FoundChunk>,
    /// The number of each of the chunks among all chunks of the matches. Empty if no chunk was left out, since the numbers are the
    /// places then.
    unfiltered: Vec<u32>,
    /// The values of shared components of those chunks that have some.
    shared: Vec<SharedPointer>,
    /// Whether all chunks are found, and all rows of them.
    is_plain: bool,
    /// Whether each chunk is a piece, and marked when it is opened. Then there is no list of pieces.
    is_undivided: bool,
    pieces: Vec<Piece>,
    /// The same before they were divided: whole chunks.
    whole: Vec<Piece>,
    /// Which rows have changed, for pieces of queries that ask for it.
    changed: Vec<u64>,
    /// The same, of one chunk.
    changed_of_one: Vec<u64>,
    /// For each piece, whether values of it were given to be written, if chunks are [marked late](Self::mark_given).
    given: Vec<AtomicBool>,
    /// The rows that are found, each run with the number of its piece, for tracked columns of chunks that are marked late.
    given_runs: Vec<(u32, Range<u32>)>,
    /// What of the world is used, and how.
    pub(super) uses: Vec<ResourceUse>,
    /// Whether a job that goes through them is done at once, since others would be in its way.
    pub(super) at_once: bool,
    /// A job over the rows reads versions of chunks, also of components that it only reads.
    pub(super) reads_versions: bool,
    choice: Choice,
    version: Version,
    /// Whether bits are switched that say which rows are found.
    switches: bool,
    /// How many rows the chunks have, found or not.
    all: usize,
}

/// A function that picks chunks by their entities.
pub(super) type Pick<'a> = &'a mut dyn FnMut(&[Entity]) -> bool;

pub(super) type SharedPointer = *const (dyn Any + Send + Sync);

/// An archetype that matches.
struct FoundMatch {
    found: *const Match,
    /// The first of its chunks.
    first: u32,
    /// Where the values of their shared components are: those of the first, then those of the others, each as many.
    shared: u32,
    shared_count: u32,
}

/// A chunk of an archetype that matches.
///
/// It is small, since one thread writes the list and another reads it: each line of the cache goes from core to core.
#[derive(Clone, Copy)]
struct FoundChunk {
    number: u32,
    /// Which of the matches.
    of: u32,
}

/// Some rows of a chunk.
#[derive(Clone)]
struct Piece {
    /// Which of the chunks.
    chunk: u32,
    /// Its rows, of which the first is a multiple of 64: then no other piece has rows whose bits are in the same words.
    rows: Range<u32>,
    /// Where it is said which rows of the chunk have changed.
    changed: Range<u32>,
    /// How many entities are found before those of the piece, and in it, if that was asked for.
    before: u32,
    count: u32,
}

// SAFETY: threads read what the world knows of the chunks and matches, and the values of shared components, which are `Sync`.
// Nobody changes any of it while they do, but for what the job has declared that it writes. Of that each thread uses the rows of
// its pieces, and bits of them, which are in words that no other piece has.
unsafe impl Send for Rows {}
// SAFETY: as above.
unsafe impl Sync for Rows {}

/// What there is to divide into pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Divide {
    /// Chunks are divided so that all threads have some rows.
    Rows,
    /// As `Rows`, and it is counted how many entities are found before each piece.
    Numbered,
    /// Chunks stay whole.
    Chunks,
    /// As `Chunks`, and it is counted how many entities are found before each. Only chunks of which values are given are
    /// [marked](Rows::mark_given), when the job is done.
    NumberedChunks,
    /// As `Chunks`, for who is given slices: also values that are switched off are in them.
    Slices,
    /// As `NumberedChunks`, for jobs that are given slices.
    NumberedSlices,
}

impl Divide {
    fn keeps_whole(self) -> bool {
        !matches!(self, Self::Rows | Self::Numbered)
    }

    fn numbers(self) -> bool {
        matches!(self, Self::Numbered | Self::NumberedChunks | Self::NumberedSlices)
    }

    /// Whether chunks are marked when the job is done, and not before it begins.
    fn marks_late(self) -> bool {
        matches!(self, Self::NumberedChunks | Self::NumberedSlices)
    }

    fn gives_slices(self) -> bool {
        matches!(self, Self::Slices | Self::NumberedSlices)
    }
}

/// How many pieces there are at least, if there are enough rows: so that no thread waits long for the last. It is the same however
/// many threads there are, since what is left undone when a function panics is the rest of a piece.
const PIECES: usize = 64;
/// How many pieces the one that is fetched comes after the one at hand.
const SOON: usize = 4;

/// A piece at hand.
pub(super) struct OpenPiece<'r, D: QueryData> {
    pub(super) chunk: &'r Chunk,
    found: &'r Match,
    pub(super) fetch: D::Fetch,
    pub(super) rows: Range<u32>,
    changed: &'r [u64],
    soon: Option<Soon>,
    /// The numbers of its entities among those that are found, if that was asked for.
    pub(super) found_numbers: Range<usize>,
    /// The number of the chunk among all chunks of the archetypes that match, filtered out or not.
    pub(super) chunk_number: usize,
}

impl Default for Rows {
    /// Nothing, with room for nothing.
    fn default() -> Self {
        Self {
            all_chunks: std::ptr::null(),
            matches: Vec::new(),
            chunks: Vec::new(),
            unfiltered: Vec::new(),
            shared: Vec::new(),
            is_plain: false,
            is_undivided: false,
            pieces: Vec::new(),
            whole: Vec::new(),
            changed: Vec::new(),
            changed_of_one: Vec::new(),
            given: Vec::new(),
            given_runs: Vec::new(),
            uses: Vec::new(),
            at_once: false,
            reads_versions: false,
            choice: Choice::ALL,
            version: Version::NEVER,
            switches: false,
            all: 0,
        }
    }
}

impl Rows {
    /// Collects the chunks of all archetypes that match, and makes those the world's alone that are written.
    ///
    /// # Safety
    ///
    /// - the walk is that of a query of this data, and writes, unless it cannot be changed
    /// - nobody has anything that was fetched from its chunks
    pub(super) unsafe fn collect<D: QueryData>(
        &mut self,
        walk: &Walk<'_>,
    ) -> Result<(), OutOfMemory> {
        // SAFETY: the caller's promises.
        unsafe { self.collect_picked::<D>(walk, None) }
    }

    /// As [`collect`](Self::collect), but only those chunks whose entities the function picks. Others are left as they are.
    ///
    /// # Safety
    ///
    /// - as for [`collect`](Self::collect)
    pub(super) unsafe fn collect_picked<D: QueryData>(
        &mut self,
        walk: &Walk<'_>,
        mut pick: Option<Pick<'_>>,
    ) -> Result<(), OutOfMemory> {
        self.matches.clear();
        self.chunks.clear();
        self.unfiltered.clear();
        self.shared.clear();
        // If the job never runs, nothing was given.
        self.given.clear();
        let mut before = 0;
        self.choice = walk.choice();
        self.version = walk.version;
        self.switches = walk.matched.plan.parts.iter().any(|part| part.write && part.bits);
        self.is_plain = walk.matches.iter().all(|found| self.choice.is_simple(found));
        let uses_versions = D::MARKS || self.choice.asks_for_changes() || self.reads_versions;
        // SAFETY: only what the world knows of chunks is borrowed.
        let may_be_shared = D::WRITES && unsafe { (*walk.chunks).may_be_shared() };
        for found in walk.matches {
            let archetype = &walk.archetypes[found.archetype];
            let (first, shared) = (self.chunks.len(), self.shared.len() as u32);
            let of = self.matches.len() as u32;
            // What is known of the chunks is not looked at, unless there is something to be found out: with many chunks it is far
            // from this core, and the job needs it close to its own.
            let listed = archetype.chunks.iter().map(|&number| FoundChunk { number, of });
            // SAFETY: archetypes list chunks that are there. Nobody changes what the world knows of them now.
            let chunk = |number| unsafe { (*walk.chunks).at(number) };
            if walk.asks_for_values() || pick.is_some() {
                for (number, found) in (before..).zip(listed) {
                    let chunk = chunk(found.number);
                    let has_values = !walk.asks_for_values() || walk.has_values(chunk);
                    if has_values && pick.as_mut().is_none_or(|pick| pick(chunk.entities())) {
                        self.chunks.push(found);
                        self.unfiltered.push(number);
                    }
                }
            } else {
                self.chunks.extend(listed);
            }
            before += archetype.chunks.len() as u32;
            let chunks = &self.chunks[first..];
            if may_be_shared {
                chunks.iter().try_for_each(|chunk| walk.prepare::<D>(chunk.number))?;
            }
            // SAFETY: as above.
            let all = unsafe { &*walk.chunks };
            if uses_versions {
                all.write_out_versions(&archetype.chunks);
            }
            let shared_count = archetype.shape.shared.len();
            for chunk in chunks.iter().filter(|_| shared_count > 0) {
                // SAFETY: as above.
                let chunk = unsafe { all.at(chunk.number) };
                let view = PieceView { chunk, shared: walk.shared_of() };
                self.shared.extend((0..shared_count).map(|at| view.shared_value(at)));
            }
            let (first, shared_count) = (first as u32, shared_count as u32);
            self.matches.push(FoundMatch { found, first, shared, shared_count });
        }
        self.all_chunks = walk.all_chunks();
        Ok(())
    }

    /// Declares what a job uses that goes through them.
    pub(super) fn declare(&self, jobs: &Jobs, accesses: &mut AccessList) {
        jobs.declare(&self.uses, accesses);
        if self.at_once {
            accesses.complete_at_once();
        }
    }

    /// The version at which they were collected, which is that of what is written.
    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Counts how many rows the chunks have, found or not.
    pub(super) fn count_all(&mut self) -> usize {
        // SAFETY: they stay while this is in use.
        let len = |&chunk: &FoundChunk| unsafe { (*self.chunk_of(chunk)).len as usize };
        self.all = self.chunks.iter().map(len).sum();
        self.all
    }

    /// How many rows the chunks have, found or not, once they were [counted](Self::count_all).
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// Returns whether a job over the rows uses a resource: to write it, or in any way.
    pub(super) fn uses(&self, resource: Resource, write: bool) -> bool {
        let is_used =
            |&(used, access): &ResourceUse| used == resource && (!write || access == Access::Write);
        self.uses.iter().any(is_used)
    }

    /// Returns the value of a shared component that the chunk of a batch has.
    pub(super) fn shared_value(&self, at: usize, ty: ComponentType) -> Option<SharedPointer> {
        let index = if self.is_undivided { at } else { self.pieces[at].chunk as usize };
        let place = self.chunks[index];
        // SAFETY: chunks stay while the rows are in use.
        let chunk = unsafe { &*self.chunk_of(place) };
        let nth = chunk.shape().shared.binary_search(&chunk.find(ty)?.column).ok()?;
        Some(self.shared_of(index, place)[nth])
    }

    /// Where a chunk is that was collected. It stays while this is in use.
    #[inline(always)]
    fn chunk_of(&self, chunk: FoundChunk) -> *const Chunk {
        self.all_chunks.wrapping_add(chunk.number as usize)
    }

    /// What a chunk that was collected is a match of. It stays while this is in use.
    #[inline(always)]
    fn match_of(&self, chunk: FoundChunk) -> *const Match {
        self.matches[chunk.of as usize].found
    }

    /// Has all that is written be marked before anything is given: what a job takes along may ask when it was written, as lookups
    /// do, and no thread may note that meanwhile.
    pub(super) fn mark_first(&mut self) {
        self.is_plain = false;
    }

    /// Finds out which chunks and rows are found, marks what is written of them, and divides them into pieces. Returns how
    /// many.
    ///
    /// # Safety
    ///
    /// - it was collected for a query of this data
    /// - what the query reads and writes is used by nobody else from here on
    pub(super) unsafe fn prepare<D: QueryData>(&mut self, divide: Divide) -> usize {
        self.changed.clear();
        // If all is found, there is nothing to be settled, and a chunk is marked by who opens it, who has it close by then. Rows that
        // are tracked are marked before, and so is everything if somebody may ask for it.
        self.is_undivided =
            self.is_plain && divide.keeps_whole() && !divide.numbers() && !D::TRACKS;
        if self.is_undivided {
            return self.chunks.len();
        }
        self.given.clear();
        self.given_runs.clear();
        self.whole.clear();
        self.whole.reserve(self.chunks.len());
        let mut all = 0;
        for at in 0..self.chunks.len() {
            let place = self.chunks[at];
            // SAFETY: they stay while this is in use.
            let (chunk, found) = unsafe { (&*self.chunk_of(place), &*self.match_of(place)) };
            let first = self.changed.len() as u32;
            if !self.choice.is_simple(found) {
                if !self.choice.choose(chunk, found, &mut self.changed_of_one) {
                    continue;
                }
                if found.asks_for_rows {
                    self.changed.extend_from_slice(&self.changed_of_one);
                }
            }
            all += chunk.len as usize;
            let changed = first..self.changed.len() as u32;
            let rows = 0..chunk.len;
            let piece = Piece { chunk: at as u32, rows, changed, before: 0, count: 0 };
            if D::MARKS && divide.marks_late() {
                self.note_runs::<D>(&piece);
            } else if D::MARKS {
                // SAFETY: the caller's promises.
                unsafe { self.mark::<D>(&piece, divide.gives_slices()) };
            }
            self.whole.push(piece);
        }
        self.divide(all, divide);
        if D::MARKS && divide.marks_late() {
            self.given.resize_with(self.pieces.len(), AtomicBool::default);
        }
        if divide.numbers() {
            self.number();
        }
        self.pieces.len()
    }

    /// Takes all chunks as they are, whatever is switched off or has changed, and marks nothing. Each is a piece.
    pub(super) fn take_whole(&mut self) {
        self.is_undivided = false;
        self.pieces.clear();
        self.changed.clear();
        let mut before = 0;
        for (at, &place) in (0..).zip(&self.chunks) {
            // SAFETY: it stays while this is in use.
            let count = unsafe { (*self.chunk_of(place)).len };
            self.pieces.push(Piece { chunk: at, rows: 0..count, changed: 0..0, before, count });
            before += count;
        }
        self.all = before as usize;
    }

    /// The piece of an entity, by its number, for pieces that are numbered. There is such an entity.
    pub(super) fn piece_of(&self, number: usize) -> usize {
        self.pieces.partition_point(|piece| piece.before as usize <= number) - 1
    }

    /// Marks what is written of all chunks, which are the pieces.
    ///
    /// # Safety
    ///
    /// - as for [`prepare`](Self::prepare), and the chunks were [taken](Self::take_whole)
    pub(super) unsafe fn mark_taken<D: QueryData>(&self) {
        for piece in self.pieces.iter().filter(|_| D::MARKS) {
            // SAFETY: the caller's promises.
            unsafe { self.mark::<D>(piece, false) };
        }
    }

    /// Marks what is written of a chunk, if nothing is noted row by row.
    ///
    /// # Safety
    ///
    /// - as for [`prepare`](Self::prepare)
    #[inline(always)]
    unsafe fn mark_chunk<D: QueryData>(&self, place: FoundChunk) {
        // SAFETY: the chunk is there, and the places are those of the data in its archetype. Others may mark other columns of it
        // at the same time: its versions were written out when it was collected.
        unsafe {
            let marks = &mut PieceMarks { chunk: &*self.chunk_of(place), version: self.version };
            D::mark(marks, &(*self.match_of(place)).places);
        }
    }

    /// Marks what is written of the chunk of a piece, all rows of which that are found are in it, and are given as slices or one by
    /// one.
    ///
    /// # Safety
    ///
    /// - as for [`prepare`](Self::prepare)
    unsafe fn mark<D: QueryData>(&self, piece: &Piece, as_slices: bool) {
        let place = self.chunks[piece.chunk as usize];
        // SAFETY: the caller's promises.
        unsafe { self.mark_chunk::<D>(place) };
        if !D::TRACKS {
            return;
        }
        // Threads would note it at the same places.
        // SAFETY: as above. `track` changes nothing that is read here.
        unsafe {
            let fetch = self.fetch::<D>(piece.chunk as usize, place);
            self.each_run_of(piece, |run| track_as::<D>(fetch, run, as_slices));
        }
    }

    /// Calls a function for the rows of a piece that are found, which is a whole chunk: those together that lie side by side.
    fn each_run_of(&self, piece: &Piece, mut function: impl FnMut(Range<u32>)) {
        let place = self.chunks[piece.chunk as usize];
        // SAFETY: they stay while this is in use.
        let (chunk, found) = unsafe { (&*self.chunk_of(place), &*self.match_of(place)) };
        let masks = Masks { enabled: &chunk.enabled, changed: self.changed_of(piece) };
        let (mut run, mut runs) = Runs::new(&found.bits, chunk).next(&masks);
        while !run.is_empty() {
            function(run);
            (run, runs) = runs.next(&masks);
        }
    }

    /// Keeps the rows that are found in the next whole chunk, if data that it marks late tracks rows: the job may disable components,
    /// so that other rows would be found later.
    fn note_runs<D: QueryData>(&mut self, piece: &Piece) {
        if D::TRACKS {
            let (at, mut kept) = (self.whole.len() as u32, std::mem::take(&mut self.given_runs));
            self.each_run_of(piece, |run| kept.push((at, run)));
            self.given_runs = kept;
        }
    }

    /// Notes that values of a piece are given to be written, for chunks that are [marked late](Self::mark_given).
    #[inline(always)]
    pub(super) fn note_given(&self, at: usize) {
        if let Some(given) = self.given.get(at) {
            // Relaxed: it is read when all threads are done.
            given.store(true, Ordering::Relaxed);
        }
    }

    /// Marks the chunks of which values were [given](Self::note_given): those that the job passed over stay as they were. It is done
    /// when all threads are done, since lookups of the job may read versions while it runs.
    ///
    /// # Safety
    ///
    /// - if this was prepared since it was collected, it was for a query of this data, and the job that it was prepared for is just
    ///   ending
    pub(super) unsafe fn mark_given<D: QueryData>(&self, as_slices: bool) {
        for (piece, given) in self.pieces.iter().zip(&self.given) {
            if given.load(Ordering::Relaxed) {
                // SAFETY: the job has declared that it writes this, and nobody else uses it until it has ended.
                unsafe { self.mark_chunk::<D>(self.chunks[piece.chunk as usize]) };
            }
        }
        let is_given = |at: u32| {
            self.given.get(at as usize).is_some_and(|given| given.load(Ordering::Relaxed))
        };
        for (at, run) in self.given_runs.iter().filter(|(at, _)| is_given(*at)) {
            let chunk = self.pieces[*at as usize].chunk as usize;
            // SAFETY: as above. These are rows of the chunk.
            unsafe {
                track_as::<D>(self.fetch::<D>(chunk, self.chunks[chunk]), run.clone(), as_slices);
            };
        }
    }

    /// Divides chunks into pieces, so that all threads have some.
    fn divide(&mut self, rows: usize, divide: Divide) {
        let most = rows.div_ceil(PIECES).next_multiple_of(64).max(64);
        if divide.keeps_whole() || self.whole.iter().all(|piece| piece.rows.len() <= most) {
            return std::mem::swap(&mut self.pieces, &mut self.whole);
        }
        self.pieces.clear();
        for chunk in &self.whole {
            let Range { start, end } = chunk.rows;
            self.pieces.extend((start..end).step_by(most).map(|first| {
                let rows = first..end.min(first.saturating_add(most as u32));
                Piece { rows, ..chunk.clone() }
            }));
        }
    }

    /// Counts how many entities are found before each piece.
    fn number(&mut self) {
        let mut before = 0;
        for at in 0..self.pieces.len() {
            let count = self.count(&self.pieces[at]);
            (self.pieces[at].before, self.pieces[at].count) = (before, count);
            before += count;
        }
    }

    /// How many entities of a piece are found.
    fn count(&self, piece: &Piece) -> u32 {
        let place = self.chunks[piece.chunk as usize];
        // SAFETY: they stay while this is in use.
        let (chunk, found) = unsafe { (&*self.chunk_of(place), &*self.match_of(place)) };
        if found.bits.is_empty() {
            return piece.rows.end - piece.rows.start;
        }
        let masks = Masks { enabled: &chunk.enabled, changed: self.changed_of(piece) };
        let words = piece.rows.start / u64::BITS..piece.rows.end.div_ceil(u64::BITS);
        let rows = |word| {
            matching_rows(&found.bits, &masks, word, chunk.len) & rows_there(word, piece.rows.end)
        };
        words.map(|word| rows(word).count_ones()).sum()
    }

    /// Which rows of the chunk of a piece have changed, if that is asked for.
    #[inline(always)]
    fn changed_of(&self, piece: &Piece) -> &[u64] {
        &self.changed[piece.changed.start as usize..piece.changed.end as usize]
    }

    /// # Safety
    ///
    /// - this chunk, the one at this place, was collected for a query of this data
    #[inline(always)]
    unsafe fn fetch<D: QueryData>(&self, at: usize, place: FoundChunk) -> D::Fetch {
        let shared = SharedOf::Listed(self.shared_of(at, place));
        // SAFETY: they stay while this is in use. These are the places of the data in the archetype of the chunk.
        unsafe {
            let view = PieceView { chunk: &*self.chunk_of(place), shared };
            D::fetch(view, &(*self.match_of(place)).places)
        }
    }

    /// The values of the shared components of a chunk, the one at this place.
    #[inline(always)]
    fn shared_of(&self, at: usize, place: FoundChunk) -> &[SharedPointer] {
        let FoundMatch { first, shared, shared_count, .. } = self.matches[place.of as usize];
        if shared_count == 0 {
            return &[];
        }
        let shared = shared as usize + (at - first as usize) * shared_count as usize;
        &self.shared[shared..][..shared_count as usize]
    }

    /// Opens a piece.
    ///
    /// # Safety
    ///
    /// - this was prepared for a query of this data
    /// - each piece is opened once, unless the chunks were [taken](Self::take_whole)
    #[inline(always)]
    pub(super) unsafe fn open<D: QueryData>(&self, at: usize) -> OpenPiece<'_, D> {
        let chunk_index = if self.is_undivided { at } else { self.pieces[at].chunk as usize };
        let place = self.chunks[chunk_index];
        // SAFETY: they stay while this is in use.
        let (chunk, found) = unsafe { (&*self.chunk_of(place), &*self.match_of(place)) };
        let (rows, changed, found_numbers, pieces) = if self.is_undivided {
            if D::MARKS {
                // SAFETY: the job runs, and nobody else opens the piece.
                unsafe { self.mark_chunk::<D>(place) };
            }
            (0..chunk.len, &[][..], 0..0, self.chunks.len())
        } else {
            let piece = &self.pieces[at];
            let first = piece.before as usize;
            let numbers = first..first + piece.count as usize;
            (piece.rows.clone(), self.changed_of(piece), numbers, self.pieces.len())
        };
        let soon = Some(at + SOON)
            .filter(|&soon| D::ROW_BYTES > 0 && pieces >= LONG && soon < pieces)
            .map(|soon| if self.is_undivided { soon } else { self.pieces[soon].chunk as usize })
            .map(|soon| self.chunks[soon])
            .filter(|soon| soon.of == place.of);
        // Whether a row that comes soon matches cannot be asked then: another thread may be switching it.
        let may_look = !found.asks_for_rows && (found.bits.is_empty() || !self.switches);
        let soon = soon.filter(|_| may_look).map(|soon| {
            let chunk = self.chunk_of(soon);
            // SAFETY: as above.
            let memory = unsafe { (*chunk).memory_address() };
            Soon { memory, chunk }
        });
        let chunk_number = self.unfiltered.get(chunk_index).map_or(chunk_index, |&at| at as usize);
        OpenPiece {
            chunk,
            found,
            // SAFETY: the caller's promise.
            fetch: unsafe { self.fetch::<D>(chunk_index, place) },
            rows,
            changed,
            soon,
            found_numbers,
            chunk_number,
        }
    }

    /// Calls a function for what is found in some of the pieces.
    ///
    /// # Safety
    ///
    /// - this was prepared for a query of this data, which is used by nobody else for the lifetime
    /// - it is called once for each piece
    #[inline(always)]
    pub(super) unsafe fn each_row<'w, D: QueryData>(
        &self,
        pieces: Range<usize>,
        mut function: impl FnMut(D::Item<'w>),
    ) {
        for at in pieces {
            // SAFETY: the caller's promises. The row is there. None comes twice, so that nobody else uses what can be changed
            // of it, and it was made the world's alone.
            unsafe {
                let piece = self.open::<D>(at);
                piece.each_row(
                    #[inline(always)]
                    |row| function(D::get(piece.fetch, row)),
                );
            }
        }
    }

    /// The entities of a piece, found or not: the first and the last.
    pub(super) fn ends_of(&self, at: usize) -> (Entity, Entity) {
        let chunk = if self.is_undivided { at } else { self.pieces[at].chunk as usize };
        // SAFETY: the chunk stays while this is in use.
        let entities = unsafe { (*self.chunk_of(self.chunks[chunk])).entities() };
        let rows = self.pieces.get(at).filter(|_| !self.is_undivided);
        let rows = rows
            .map_or(0..entities.len(), |piece| piece.rows.start as usize..piece.rows.end as usize);
        (entities[rows.start], entities[rows.end - 1])
    }
}

/// Notes that rows are given to be changed, as slices or one by one.
///
/// # Safety
///
/// - as for [`track`]
unsafe fn track_as<D: QueryData>(fetch: D::Fetch, rows: Range<u32>, as_slices: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        match as_slices {
            true => track::<D, true>(fetch, rows),
            false => track::<D, false>(fetch, rows),
        }
    }
}

impl<'r, D: QueryData> OpenPiece<'r, D> {
    /// Calls a function for the rows that are found.
    ///
    /// # Safety
    ///
    /// - the piece is opened by one thread, once
    #[inline(always)]
    pub(super) unsafe fn each_row(&self, function: impl FnMut(usize)) {
        // SAFETY: the chunk is there, and the piece has rows of it. What was written was noted before. Others switch bits of other
        // pieces, in other words; if there are some who do, no piece that comes soon is looked at.
        unsafe {
            rows_of_chunk::<D, false>(
                self.found,
                (self.chunk, self.fetch, self.rows.clone()),
                self.changed,
                self.soon,
                function,
            );
        }
    }

    /// Calls a function for the rows that are found, those together that lie side by side: the first, and the one after the
    /// last. The piece is a whole chunk.
    #[inline(always)]
    pub(super) fn each_run(&self, mut function: impl FnMut(Range<u32>)) {
        let masks = Masks { enabled: &self.chunk.enabled, changed: self.changed };
        let (mut run, mut runs) = Runs::new(&self.found.bits, self.chunk).next(&masks);
        while !run.is_empty() {
            function(run);
            (run, runs) = runs.next(&masks);
        }
    }

    /// Calls a function for the rows that match, with their data and their numbers.
    #[inline(always)]
    pub(super) fn each_item(&mut self, mut function: impl FnMut(D::Item<'_>, usize)) {
        // SAFETY: the batch was opened once, by this thread, and is borrowed mutably. The row exists and comes once, so that nothing
        // else uses what can be written, which is unshared.
        unsafe {
            self.each_row(
                #[inline(always)]
                |row| function(D::get(self.fetch, row), row),
            );
        }
    }

    /// Calls a function for contiguous rows that match, with slices of their data and their numbers. The batch is a whole chunk.
    #[inline(always)]
    pub(super) fn each_slices(&mut self, mut function: impl FnMut(D::Slices<'_>, Range<usize>))
    where
        D: ChunkData,
    {
        self.each_run(
            #[inline(always)]
            |run| {
                let rows = run.start as usize..run.end as usize;
                // SAFETY: the batch was opened once, by this thread, and is borrowed mutably. The rows exist and come once, so that
                // nothing else uses what can be written, which is unshared.
                function(unsafe { D::slices(self.fetch, rows.start, rows.len()) }, rows);
            },
        );
    }

    /// Returns the same batch of no data.
    pub(super) fn without_data(&self) -> OpenPiece<'r, ()> {
        let Self { chunk, found, ref rows, changed, chunk_number, ref found_numbers, .. } = *self;
        let (rows, found_numbers) = (rows.clone(), found_numbers.clone());
        OpenPiece {
            chunk,
            found,
            fetch: (),
            rows,
            changed,
            soon: None,
            found_numbers,
            chunk_number,
        }
    }

    /// Whether all rows are found, whatever is switched off.
    pub(super) fn is_whole(&self) -> bool {
        self.found.bits.is_empty()
    }
}

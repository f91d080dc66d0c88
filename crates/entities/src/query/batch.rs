//! [`Rows`]: the rows of a query, divided into batches for threads; and the view of a chunk that query data is fetched from.

#![expect(unsafe_code, reason = "chunks of a world, which threads use while nothing conflicts")]

use std::any::Any;
use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ancho_jobs::{Access, AccessList};

use super::chunk_filter::{ChunkFilter, each_run};
use super::data::{ChunkData, QueryData};
use super::state::{Masks, Match, matching_rows, rows_there};
use super::view::Others;
use super::walk::{ChunkTable, PREFETCH_MIN_CHUNKS, Prefetch, Walk, refuse, rows_of_chunk, track};
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::{Jobs, Resource, ResourceUse};
use crate::storage::{Archetypes, Chunk, OutOfMemory, SharedValues};
use crate::version::Version;

/// The rows of a query, for jobs and parallel loops.
///
/// `Rows` is filled in two steps. The world's thread [collects](Self::collect) the chunks of all archetypes that match. When the
/// job runs, it [prepares](Self::prepare) the rows once. `prepare` evaluates the filters by change and by enabled state, which
/// earlier jobs may have written. It marks the chunks that are written, and divides the rows into batches, each for one thread.
///
/// The pointers stay valid as long as the rows are in use: no row of these archetypes is added or removed meanwhile, and a
/// [`Match`] never moves.
#[derive(Default)]
pub(crate) struct Rows {
    all_chunks: ChunkTable,
    matches: Vec<CollectedMatch>,
    chunks: Vec<CollectedChunk>,
    /// For each element of `chunks`, the index of the chunk among all chunks of the matches. Empty if no chunk was left out.
    unfiltered: Vec<u32>,
    /// The shared values of all chunks that have shared components.
    shared: Vec<SharedPointer>,
    /// True if all rows of all chunks match.
    is_plain: bool,
    /// True if each chunk is one batch, which is marked when it is opened. `batches` is not used then.
    is_undivided: bool,
    batches: Vec<RowBatch>,
    /// One batch for each whole chunk, before the batches are divided.
    whole: Vec<RowBatch>,
    /// One bit per row, set if the row has changed, for queries that filter by change.
    changed: Vec<u64>,
    /// Scratch memory of `prepare`: the changed bits of one chunk.
    changed_of_one: Vec<u64>,
    /// One flag per batch, set if values of the batch were yielded for writing. Used if chunks are
    /// [marked late](Self::mark_yielded).
    yielded: Vec<AtomicBool>,
    /// The runs of matching rows, each with the index of its batch. Recorded only if a job marks tracked columns after it has
    /// run.
    yielded_runs: Vec<(u32, Range<u32>)>,
    /// Resources of the world that a job over the rows declares.
    pub(super) uses: Vec<ResourceUse>,
    /// The other views of the world. A job over the rows that conflicts with one of them runs immediately.
    pub(super) others: Others,
    /// True if a job over the rows reads change versions, including those of components that it only reads.
    pub(super) reads_versions: bool,
    choice: ChunkFilter,
    /// The world's version when the rows were collected. Written chunks are marked with it.
    pub(super) version: Version,
    /// The version since which values count as changed or added.
    since: Version,
    /// True if the query writes enabled bits, which may decide which rows match.
    switches: bool,
    /// Number of rows, including rows that do not match. Set by [`count_all`](Self::count_all) and
    /// [`take_whole`](Self::take_whole).
    pub(super) all: usize,
}

/// Function that selects chunks by their entities.
pub(super) type Pick<'a> = &'a mut dyn FnMut(&[Entity]) -> bool;

pub(crate) type SharedPointer = *const (dyn Any + Send + Sync);

/// An archetype that matches, and the position of its chunks in [`Rows`].
struct CollectedMatch {
    found: *const Match,
    /// Index of the first chunk of the match.
    first: u32,
    /// Index in `Rows::shared` of the first chunk's shared values. Each chunk has `shared_count` contiguous values.
    shared: u32,
    shared_count: u32,
}

/// A chunk of an archetype that matches.
///
/// The struct is small because one thread writes the list and another reads it: each cache line moves from core to core.
#[derive(Clone, Copy)]
struct CollectedChunk {
    number: u32,
    /// Index in `Rows::matches`.
    of: u32,
}

/// Contiguous rows of a chunk, for one thread.
#[derive(Clone)]
struct RowBatch {
    /// Index in `Rows::chunks`.
    chunk: u32,
    /// The rows of the batch. The first one is a multiple of 64, so that no two batches have enabled bits in the same word.
    rows: Range<u32>,
    /// Range of words in `Rows::changed`.
    changed: Range<u32>,
    /// Number of matching entities in earlier batches. `count` is the number in this batch. Both are set only if the batches are
    /// numbered.
    before: u32,
    count: u32,
}

// SAFETY: threads read chunks, matches and shared values, which are `Sync`. Only data that the job has declared is written
// meanwhile. Each thread writes the rows of its own batches, and their enabled bits, which share no word with other batches.
unsafe impl Send for Rows {}
// SAFETY: threads read chunks, matches and shared values, which are `Sync`. Only data that the job has declared is written
// meanwhile. Each thread writes the rows of its own batches, and their enabled bits, which share no word with other batches.
unsafe impl Sync for Rows {}

/// Options for dividing rows into batches.
#[derive(Clone, Copy)]
pub(super) struct Divide {
    /// True if each chunk is one batch. Otherwise chunks are divided, so that all threads have work.
    whole: bool,
    /// True if the matching entities before each batch are counted. If `whole` is true too, only chunks whose values were yielded
    /// are [marked](Rows::mark_yielded), when the job is done.
    numbered: bool,
    /// True if values are yielded as slices, which include values of disabled optional components.
    slices: bool,
}

impl Divide {
    pub(super) const ROWS: Self = Self { whole: false, numbered: false, slices: false };
    pub(super) const NUMBERED: Self = Self { numbered: true, ..Self::ROWS };
    pub(super) const CHUNKS: Self = Self { whole: true, ..Self::ROWS };
    pub(super) const NUMBERED_CHUNKS: Self = Self { numbered: true, ..Self::CHUNKS };
    pub(super) const SLICES: Self = Self { slices: true, ..Self::CHUNKS };
    pub(super) const NUMBERED_SLICES: Self = Self { numbered: true, ..Self::SLICES };

    /// Returns whether chunks are marked when the job is done, not before.
    fn marks_late(self) -> bool {
        self.whole && self.numbered
    }
}

/// Minimum number of batches if there are enough rows, so that no thread waits long for the last batch.
///
/// The number does not depend on the number of threads: a panic skips the rest of its batch, and which rows are skipped must not
/// depend on the machine.
const MIN_BATCHES: usize = 64;
/// Number of batches between the current batch and the batch that is prefetched.
const PREFETCH_DISTANCE: usize = 4;

/// A batch that a thread works on.
///
/// **Invariant:** the batch was opened once, or its data is read-only, or each thread uses the data at its own indices only.
pub(super) struct OpenBatch<'r, D: QueryData> {
    pub(super) chunk: &'r Chunk,
    pub(super) found: &'r Match,
    pub(super) fetch: D::Fetch,
    pub(super) rows: Range<u32>,
    changed: &'r [u64],
    soon: Option<Prefetch>,
    /// Indices of the batch's entities among all matching entities, if the batches are numbered.
    pub(super) found_numbers: Range<usize>,
    /// Index of the chunk among all chunks of the archetypes that match, unfiltered.
    pub(super) chunk_number: usize,
    /// The rows that the batch belongs to.
    rows_of: &'r Rows,
    at: usize,
}

impl Rows {
    /// Collects the chunks of all archetypes that match, and unshares the chunks that are written. If `pick` is set, collects only
    /// the chunks for whose entities `pick` returns `true`.
    ///
    /// # Safety
    ///
    /// - the walk belongs to a query of this data, and is one that writes unless the data is read-only
    /// - no data that was fetched from the walk's chunks is in use
    pub(super) unsafe fn collect<D: QueryData>(
        &mut self,
        walk: &Walk<'_>,
        mut pick: Option<Pick<'_>>,
    ) -> Result<(), OutOfMemory> {
        self.matches.clear();
        self.chunks.clear();
        self.unfiltered.clear();
        self.shared.clear();
        // Cleared here too: if the job never runs, no values are yielded.
        self.yielded.clear();
        let mut before = 0;
        self.choice = walk.choice();
        self.version = walk.version;
        self.since = walk.since;
        self.switches = walk.matched.plan.parts.iter().any(|part| part.write && part.bits);
        self.is_plain = walk.matches.iter().all(|found| self.choice.is_simple(found));
        let uses_versions = D::MARKS || self.choice.asks_for_changes || self.reads_versions;
        // SAFETY: the walk's chunks are borrowed for its lifetime.
        let may_be_shared = D::WRITES && unsafe { (*walk.chunks).may_be_shared() };
        for found in walk.matches {
            let archetype = &walk.archetypes[found.archetype];
            let (first, shared) = (self.chunks.len(), self.shared.len() as u32);
            let of = self.matches.len() as u32;
            // Chunk headers are read only if a filter needs them. Reading them here would bring them into this core's cache, but
            // the job needs them in the cache of its own core.
            let listed = archetype.chunks.iter().map(|&number| CollectedChunk { number, of });
            // SAFETY: archetypes list chunks that exist, and nothing writes the headers now.
            let chunk = |number| unsafe { (*walk.chunks).get_unchecked(number) };
            if !walk.shared.is_empty() || pick.is_some() {
                for (number, found) in (before..).zip(listed) {
                    let chunk = chunk(found.number);
                    if walk.has_values(chunk)
                        && pick.as_mut().is_none_or(|pick| pick(chunk.entities()))
                    {
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
                for chunk in chunks {
                    // SAFETY: archetypes list chunks that exist. The walk is one that writes, no reference to a chunk is alive, and
                    // no fetched data is in use.
                    unsafe { walk.prepare::<D>(chunk.number)? };
                }
            }
            // SAFETY: the walk's chunks are borrowed for its lifetime, and nothing writes the headers now.
            let all = unsafe { &*walk.chunks };
            if uses_versions {
                all.write_out_versions(&archetype.chunks);
            }
            let shared_count = archetype.shape.shared.len();
            for chunk in chunks.iter().filter(|_| shared_count > 0) {
                // SAFETY: archetypes list chunks that exist.
                let chunk = unsafe { all.get_unchecked(chunk.number) };
                let view = ChunkView { chunk, shared: walk.shared_of(), since: walk.since };
                self.shared.extend((0..shared_count).map(|at| view.shared_value(at)));
            }
            let (first, shared_count) = (first as u32, shared_count as u32);
            self.matches.push(CollectedMatch { found, first, shared, shared_count });
        }
        self.all_chunks = walk.all_chunks();
        Ok(())
    }

    /// Declares the resources that a job over the rows uses.
    pub(super) fn declare(&self, jobs: &Jobs, accesses: &mut AccessList) {
        jobs.declare(&self.uses, accesses);
        if self.others.conflict() {
            accesses.complete_at_once();
        }
        // Functions of the job that run on the world's thread may use views and items that are `'static`.
        if self.others == Others::Conflicting {
            accesses.use_one_thread();
        }
    }

    /// Counts all rows of the chunks, including rows that do not match.
    pub(super) fn count_all(&mut self) -> usize {
        self.all = self.chunks.iter().map(|&place| self.chunk(place).0.len as usize).sum();
        self.all
    }

    /// Returns a collected chunk and its match.
    #[inline(always)]
    fn chunk(&self, place: CollectedChunk) -> (&Chunk, &Match) {
        // SAFETY: the chunks and the matches stay in place as long as the rows are in use.
        unsafe { (&*self.all_chunks.at(place.number), &*self.matches[place.of as usize].found) }
    }

    /// Returns the index of the chunk of a batch.
    #[inline(always)]
    fn chunk_index(&self, at: usize) -> usize {
        if self.is_undivided { at } else { self.batches[at].chunk as usize }
    }

    /// Requires that chunks are marked before the first value is yielded. Captured lookups may read versions, so no thread may mark
    /// a chunk while the job runs.
    pub(super) fn mark_first(&mut self) {
        self.is_plain = false;
    }

    /// Evaluates the filters, marks the written chunks, and divides the rows into batches. Returns the number of batches.
    ///
    /// # Safety
    ///
    /// - the rows were collected for a query of this data
    /// - while the rows are in use, no other code writes data that the query reads, or uses data that the query writes
    pub(super) unsafe fn prepare<D: QueryData>(&mut self, divide: Divide) -> usize {
        self.changed.clear();
        // If all rows match, no filter has to be evaluated, and the thread that opens a chunk marks it, with the header in its
        // cache. Tracked rows are marked here, and so are all chunks if captures may read versions.
        self.is_undivided = self.is_plain && divide.whole && !divide.numbered && !D::TRACKS;
        if self.is_undivided {
            return self.chunks.len();
        }
        self.yielded.clear();
        self.yielded_runs.clear();
        self.whole.clear();
        self.whole.reserve(self.chunks.len());
        let mut all = 0;
        let mut changed_of_one = mem::take(&mut self.changed_of_one);
        for at in 0..self.chunks.len() {
            let (chunk, found) = self.chunk(self.chunks[at]);
            if !self.choice.is_simple(found)
                && !self.choice.choose(chunk, found, &mut changed_of_one)
            {
                continue;
            }
            let (len, first) = (chunk.len, self.changed.len() as u32);
            if found.asks_for_rows {
                self.changed.extend_from_slice(&changed_of_one);
            }
            all += len as usize;
            let changed = first..self.changed.len() as u32;
            let batch = RowBatch { chunk: at as u32, rows: 0..len, changed, before: 0, count: 0 };
            if D::MARKS && divide.marks_late() {
                self.note_runs::<D>(&batch);
            } else if D::MARKS {
                // SAFETY: the rows were collected for this data, and no other code uses data that the query writes.
                unsafe { self.mark::<D>(&batch, divide.slices) };
            }
            self.whole.push(batch);
        }
        self.changed_of_one = changed_of_one;
        self.divide(all, divide);
        if D::MARKS && divide.marks_late() {
            self.yielded.resize_with(self.batches.len(), AtomicBool::default);
        }
        if divide.numbered {
            self.number();
        }
        self.batches.len()
    }

    /// Makes each chunk one batch, with all its rows. Evaluates no filters and marks no chunk.
    pub(super) fn take_whole(&mut self) {
        self.is_undivided = false;
        self.changed.clear();
        let (mut batches, mut before) = (mem::take(&mut self.batches), 0);
        batches.clear();
        for (at, &place) in (0..).zip(&self.chunks) {
            let count = self.chunk(place).0.len;
            batches.push(RowBatch { chunk: at, rows: 0..count, changed: 0..0, before, count });
            before += count;
        }
        self.batches = batches;
        self.all = before as usize;
    }

    /// Returns the index of the batch that contains the matching entity with index `number`.
    ///
    /// The batches must be numbered, and `number` must be less than the number of matching entities.
    pub(super) fn batch_of(&self, number: usize) -> usize {
        self.batches.partition_point(|batch| batch.before as usize <= number) - 1
    }

    /// Marks all chunks as written.
    ///
    /// # Safety
    ///
    /// - the rows were collected for a query of this data, and [taken whole](Self::take_whole)
    /// - no other code uses data that the query writes
    pub(super) unsafe fn mark_taken<D: QueryData>(&self) {
        for batch in self.batches.iter().filter(|_| D::MARKS) {
            // SAFETY: the rows were collected for a query of this data, and no other code uses data that the query writes.
            unsafe { self.mark::<D>(batch, false) };
        }
    }

    /// Marks the written columns of a chunk, but no tracked rows.
    ///
    /// # Safety
    ///
    /// - the rows were collected for a query of this data
    /// - no other code uses data that the query writes
    #[inline(always)]
    unsafe fn mark_chunk<D: QueryData>(&self, place: CollectedChunk) {
        let (chunk, found) = self.chunk(place);
        // SAFETY: these are the places of the data in the archetype of the chunk. Other threads may mark other columns, since the
        // versions were written out when the chunk was collected.
        unsafe { D::mark(&mut ChunkMarks { chunk, version: self.version }, &found.places) };
    }

    /// Marks the written columns of a whole chunk, and the matching rows of tracked columns. `as_slices` says whether the rows are
    /// yielded as slices or one by one.
    ///
    /// # Safety
    ///
    /// - the rows were collected for a query of this data
    /// - no other code uses data that the query writes
    unsafe fn mark<D: QueryData>(&self, batch: &RowBatch, as_slices: bool) {
        let place = self.chunks[batch.chunk as usize];
        // SAFETY: the rows were collected for a query of this data, and no other code uses data that the query writes.
        unsafe { self.mark_chunk::<D>(place) };
        if !D::TRACKS {
            return;
        }
        // Rows are tracked here, and not by the threads of the job, because those would write to the same words.
        // SAFETY: the chunk was collected for this data, and these are rows of it. `each_run_of` reads nothing that `track` writes.
        unsafe {
            let fetch = self.fetch::<D>(batch.chunk as usize, place);
            self.each_run_of(batch, |run| track::<D>(fetch, run, as_slices));
        }
    }

    /// Calls a function for each run of contiguous matching rows of a batch. The batch must be a whole chunk.
    fn each_run_of(&self, batch: &RowBatch, function: impl FnMut(Range<u32>)) {
        let (chunk, found) = self.chunk(self.chunks[batch.chunk as usize]);
        each_run(&found.bits, chunk, self.changed_of(batch), function);
    }

    /// Records the matching rows of the next whole chunk, if the data tracks rows and is marked late. The rows are recorded before
    /// the job runs, because the job may disable components and so change which rows match.
    fn note_runs<D: QueryData>(&mut self, batch: &RowBatch) {
        if D::TRACKS {
            let (at, mut kept) = (self.whole.len() as u32, mem::take(&mut self.yielded_runs));
            self.each_run_of(batch, |run| kept.push((at, run)));
            self.yielded_runs = kept;
        }
    }

    /// Marks the chunks whose values were [yielded](OpenBatch::note_yielded). Chunks that the job skipped do not count as changed.
    ///
    /// This is called when all threads are done, because lookups of the job may read versions while the job runs.
    ///
    /// # Safety
    ///
    /// - if the rows were prepared after they were collected, they were prepared for a query of this data, and all threads of the
    ///   job are done
    pub(super) unsafe fn mark_yielded<D: QueryData>(&self, as_slices: bool) {
        for (batch, yielded) in self.batches.iter().zip(&self.yielded) {
            if yielded.load(Ordering::Relaxed) {
                // SAFETY: the rows were collected for this data. The job has declared that it writes the data, so that no other
                // code uses the data until the job has ended.
                unsafe { self.mark_chunk::<D>(self.chunks[batch.chunk as usize]) };
            }
        }
        let is_yielded = |at: u32| {
            self.yielded.get(at as usize).is_some_and(|yielded| yielded.load(Ordering::Relaxed))
        };
        for (at, run) in self.yielded_runs.iter().filter(|(at, _)| is_yielded(*at)) {
            let chunk = self.batches[*at as usize].chunk as usize;
            // SAFETY: these are rows of the chunk, which was collected for this data. No other code uses data that the job writes
            // until the job has ended.
            unsafe {
                track::<D>(self.fetch::<D>(chunk, self.chunks[chunk]), run.clone(), as_slices);
            };
        }
    }

    /// Divides whole chunks into batches, so that all threads have work.
    fn divide(&mut self, rows: usize, divide: Divide) {
        let most = rows.div_ceil(MIN_BATCHES).next_multiple_of(64).max(64);
        if divide.whole || self.whole.iter().all(|batch| batch.rows.len() <= most) {
            return mem::swap(&mut self.batches, &mut self.whole);
        }
        self.batches.clear();
        for chunk in &self.whole {
            let Range { start, end } = chunk.rows;
            self.batches.extend((start..end).step_by(most).map(|first| {
                let rows = first..end.min(first.saturating_add(most as u32));
                RowBatch { rows, ..chunk.clone() }
            }));
        }
    }

    /// Numbers the batches: counts the matching entities in each batch and in the batches before it.
    fn number(&mut self) {
        let mut before = 0;
        for at in 0..self.batches.len() {
            let count = self.count(&self.batches[at]);
            (self.batches[at].before, self.batches[at].count) = (before, count);
            before += count;
        }
    }

    /// Counts the matching entities of a batch.
    fn count(&self, batch: &RowBatch) -> u32 {
        let (chunk, found) = self.chunk(self.chunks[batch.chunk as usize]);
        if found.bits.is_empty() {
            return batch.rows.end - batch.rows.start;
        }
        let masks = Masks { enabled: &chunk.enabled, changed: self.changed_of(batch) };
        let words = batch.rows.start / u64::BITS..batch.rows.end.div_ceil(u64::BITS);
        let rows = |word| {
            matching_rows(&found.bits, &masks, word, chunk.len) & rows_there(word, batch.rows.end)
        };
        words.map(|word| rows(word).count_ones()).sum()
    }

    /// Returns the changed bits of a batch's chunk. Empty unless the query filters by changes of single rows.
    #[inline(always)]
    fn changed_of(&self, batch: &RowBatch) -> &[u64] {
        &self.changed[batch.changed.start as usize..batch.changed.end as usize]
    }

    /// Fetches the data from a chunk, given its index in `chunks` and the element at that index.
    ///
    /// # Safety
    ///
    /// - the chunk was collected for a query of this data
    #[inline(always)]
    unsafe fn fetch<D: QueryData>(&self, at: usize, place: CollectedChunk) -> D::Fetch {
        let (chunk, found) = self.chunk(place);
        let shared = SharedSource::Listed(self.shared_of(at, place));
        let view = ChunkView { chunk, shared, since: self.since };
        // SAFETY: these are the places of the data in the archetype of the chunk.
        unsafe { D::fetch(view, &found.places) }
    }

    /// Returns the shared values of a chunk, given its index in `chunks` and the element at that index.
    #[inline(always)]
    fn shared_of(&self, at: usize, place: CollectedChunk) -> &[SharedPointer] {
        let CollectedMatch { first, shared, shared_count, .. } = self.matches[place.of as usize];
        if shared_count == 0 {
            return &[];
        }
        let shared = shared as usize + (at - first as usize) * shared_count as usize;
        &self.shared[shared..][..shared_count as usize]
    }

    /// Opens a batch.
    ///
    /// # Safety
    ///
    /// - the rows were prepared for a query of this data
    /// - each batch is opened once; or the data is `()`; or the chunks were [taken whole](Self::take_whole) and only the `fetch` of
    ///   the returned batch is used
    #[inline(always)]
    pub(super) unsafe fn open<D: QueryData>(&self, at: usize) -> OpenBatch<'_, D> {
        let chunk_index = self.chunk_index(at);
        let place = self.chunks[chunk_index];
        let (chunk, found) = self.chunk(place);
        let (rows, changed, found_numbers, batches) = if self.is_undivided {
            if D::MARKS {
                // SAFETY: the rows were collected for this data. The job runs, so that no other code uses data that the job
                // writes, and each batch is opened once.
                unsafe { self.mark_chunk::<D>(place) };
            }
            (0..chunk.len, &[][..], 0..0, self.chunks.len())
        } else {
            let batch = &self.batches[at];
            let first = batch.before as usize;
            let numbers = first..first + batch.count as usize;
            (batch.rows.clone(), self.changed_of(batch), numbers, self.batches.len())
        };
        let soon = Some(at + PREFETCH_DISTANCE)
            .filter(|&soon| D::ROW_BYTES > 0 && batches >= PREFETCH_MIN_CHUNKS && soon < batches)
            .map(|soon| self.chunks[self.chunk_index(soon)])
            .filter(|soon| soon.of == place.of);
        // The bits of a later batch cannot be read if another thread may write them.
        let may_look = !found.asks_for_rows && (found.bits.is_empty() || !self.switches);
        let soon = soon.filter(|_| may_look).map(|soon| {
            let (chunk, _) = self.chunk(soon);
            Prefetch { memory: chunk.memory_address(), chunk }
        });
        let chunk_number = self.unfiltered.get(chunk_index).map_or(chunk_index, |&at| at as usize);
        OpenBatch {
            chunk,
            found,
            // SAFETY: the rows were collected for this data before they were prepared.
            fetch: unsafe { self.fetch::<D>(chunk_index, place) },
            rows,
            changed,
            soon,
            found_numbers,
            chunk_number,
            rows_of: self,
            at,
        }
    }

    /// Returns the first and the last entity of a batch, including entities that do not match.
    pub(super) fn ends_of(&self, at: usize) -> (Entity, Entity) {
        let entities = self.chunk(self.chunks[self.chunk_index(at)]).0.entities();
        let rows = self.batches.get(at).filter(|_| !self.is_undivided);
        let rows = rows
            .map_or(0..entities.len(), |batch| batch.rows.start as usize..batch.rows.end as usize);
        (entities[rows.start], entities[rows.end - 1])
    }
}

impl<'r, D: QueryData> OpenBatch<'r, D> {
    /// Calls a function for each matching row.
    ///
    /// # Safety
    ///
    /// - the batch was opened once, by this thread
    #[inline(always)]
    pub(super) unsafe fn each_row(&self, function: impl FnMut(usize)) {
        // SAFETY: the chunk exists, and the rows of the batch are rows of the chunk. The chunk was marked before. Other threads
        // may write the enabled bits of other batches, which are in other words. `soon` is `None` in that case, so that the bits
        // of a later batch are not read.
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

    /// Calls a function for each run of contiguous matching rows. The batch must be a whole chunk.
    #[inline(always)]
    pub(super) fn each_run(&self, function: impl FnMut(Range<u32>)) {
        each_run(&self.found.bits, self.chunk, self.changed, function);
    }

    /// Calls a function for each matching row, with the item and the number of the row.
    #[inline(always)]
    pub(super) fn each_item(&mut self, mut function: impl FnMut(D::Item<'_>, usize)) {
        // SAFETY: the batch was opened once, by this thread, and is borrowed mutably. The row exists and is visited once, so that
        // no other code uses data of it that can be written. Chunks with such data are unshared.
        unsafe {
            self.each_row(
                #[inline(always)]
                |row| function(D::get(self.fetch, row), row),
            );
        }
    }

    /// Calls a function for each run of contiguous matching rows, with slices of their data and their row numbers. The batch must
    /// be a whole chunk.
    #[inline(always)]
    pub(super) fn each_slices(&mut self, mut function: impl FnMut(D::Slices<'_>, Range<usize>))
    where
        D: ChunkData,
    {
        self.each_run(
            #[inline(always)]
            |run| {
                let rows = run.start as usize..run.end as usize;
                // SAFETY: the batch was opened once, by this thread, and is borrowed mutably. The rows exist and are visited
                // once, so that no other code uses data of them that can be written. Chunks with such data are unshared.
                function(unsafe { D::slices(self.fetch, rows.start, rows.len()) }, rows);
            },
        );
    }

    /// Splits the batch into its items and its chunk, which can then be used independently.
    pub(super) fn split(self) -> (BatchItems<'r, D>, OpenBatch<'r, ()>) {
        // SAFETY: rows that were prepared for any data are also prepared for `()`, which can be opened more than once.
        let chunk = unsafe { self.rows_of.open::<()>(self.at) };
        (BatchItems(self), chunk)
    }

    /// Records that values of the batch are yielded for writing, if chunks are [marked late](Rows::mark_yielded).
    #[inline(always)]
    pub(super) fn note_yielded(&self) {
        if let Some(yielded) = self.rows_of.yielded.get(self.at) {
            // Relaxed: the flag is read when all threads are done.
            yielded.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the chunk's value of a shared component, or `None` if the archetype does not have the component.
    pub(super) fn shared_value(&self, ty: ComponentType) -> Option<&(dyn Any + Send + Sync)> {
        let rows = self.rows_of;
        let index = rows.chunk_index(self.at);
        let nth = self.chunk.shape().shared.binary_search(&self.chunk.find(ty)?.column).ok()?;
        let value = rows.shared_of(index, rows.chunks[index])[nth];
        // SAFETY: a chunk keeps its shared values as long as its rows stay in place, which they do because the job has declared
        // that it reads the rows. Shared values are `Sync` and never written.
        Some(unsafe { &*value })
    }

    /// Panics if the job has not declared that it uses the values of a component, or writes them if `to_change` is set.
    ///
    /// # Panics
    ///
    /// Panics with A0135 if the job has not declared the use.
    #[track_caller]
    pub(super) fn require(&self, component: ComponentType, to_change: bool) {
        let is_declared = |&(used, access): &ResourceUse| {
            used == Resource::Values(component) && (!to_change || access == Access::Write)
        };
        if !self.rows_of.uses.iter().any(is_declared) {
            refuse(EntityError::NotGiven { component, to_change });
        }
    }

    /// Returns the chunk's value of a chunk component, or `None` if the archetype does not have the component.
    ///
    /// # Panics
    ///
    /// Panics with A0135 if the job has not declared that it uses the value.
    #[track_caller]
    pub(super) fn chunk_value<T: Component + Default>(&self) -> Option<&T> {
        let ty = ComponentType::of_chunk::<T>();
        self.require(ty, false);
        let (_, value) = self.chunk.find_value(ty)?;
        // SAFETY: the chunk has a value of this type. The job has declared that it uses the values of the component, and a mutable
        // reference to one borrows the batch mutably.
        Some(unsafe { value.cast().as_ref() })
    }

    /// Returns the chunk's value of a chunk component for writing, or `None` if the archetype does not have the component.
    ///
    /// # Panics
    ///
    /// Panics with A0135 if the job has not declared that it writes the value.
    #[track_caller]
    pub(super) fn chunk_value_mut<T: Component + Default>(&mut self) -> Option<&mut T> {
        let ty = ComponentType::of_chunk::<T>();
        self.require(ty, true);
        let (_, value) = self.chunk.find_value(ty)?;
        self.note_yielded();
        // SAFETY: the chunk has a value of this type. The job has declared that it writes the values of the component. The chunk
        // is in one batch, which was opened once and is borrowed mutably as long as the reference lives. Items of a query that
        // writes a chunk component do not contain its value.
        Some(unsafe { value.cast().as_mut() })
    }
}

/// The items of a batch, split from its chunk. See [`OpenBatch::split`].
pub(super) struct BatchItems<'r, D: QueryData>(OpenBatch<'r, D>);

impl<D: QueryData> BatchItems<'_, D> {
    /// Records that values are yielded for writing, and calls a function for each matching row, with the item and the number of the
    /// row.
    #[inline(always)]
    pub(super) fn each_item(&mut self, function: impl FnMut(D::Item<'_>, usize)) {
        self.0.note_yielded();
        self.0.each_item(function);
    }
}

/// The chunk that query data is fetched from.
///
/// **Invariant:** the chunk belongs to the archetype for which the places passed to [`QueryData::fetch`] were computed.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "users cannot have one")]
pub struct ChunkView<'a> {
    pub(crate) chunk: &'a Chunk,
    pub(crate) shared: SharedSource<'a>,
    /// The version since which values count as changed or added.
    pub(crate) since: Version,
}

/// The source of a chunk's shared values.
#[derive(Clone, Copy)]
pub(crate) enum SharedSource<'a> {
    /// The tables of the world.
    World { archetypes: &'a Archetypes, values: &'a SharedValues },
    /// A list with one value for each shared component of the archetype.
    Listed(&'a [SharedPointer]),
}

impl ChunkView<'_> {
    /// Returns the chunk's value of the archetype's shared component with index `at`. The pointer is valid as long as the chunk has
    /// the value.
    pub(crate) fn shared_value(&self, at: usize) -> SharedPointer {
        match self.shared {
            SharedSource::World { archetypes, values } => {
                let groups = archetypes.groups(self.chunk.archetype).expect("it has shared types");
                let index = groups.at(self.chunk.group).values[at];
                &raw const **values.value(groups.tables[at], index)
            }
            SharedSource::Listed(values) => values[at],
        }
    }
}

/// The change versions of a chunk, for marking columns as written.
#[expect(missing_debug_implementations, reason = "users cannot have one")]
pub struct ChunkMarks<'a> {
    /// The chunk. It is not borrowed mutably, because other jobs mark other columns of it at the same time.
    pub(super) chunk: &'a Chunk,
    pub(super) version: Version,
}

impl ChunkMarks<'_> {
    /// Marks a column as written.
    ///
    /// # Safety
    ///
    /// - the chunk has the column
    /// - no other code uses the column's version, nor the versions of other columns unless they were written out
    #[inline(always)]
    pub(crate) unsafe fn mark(&mut self, column: u32) {
        // SAFETY: the chunk has the column. No other code uses its version, nor the versions of other columns unless they were
        // written out.
        unsafe { self.chunk.versions.set_version_of(column, self.version) };
    }

    /// Marks a tracked column as written. Its rows are marked afterwards.
    ///
    /// # Safety
    ///
    /// - the chunk has the column
    /// - no other code uses the column's versions, nor the versions of other columns unless they were written out
    pub(crate) unsafe fn begin(&mut self, column: u32) {
        // SAFETY: the chunk has the column. No other code uses its versions, nor the versions of other columns unless they were
        // written out.
        unsafe { self.chunk.begin_writing(column, self.version) };
    }
}

/// A pool of values whose memory is reused: jobs take a value and return it when they are done.
#[derive(Default)]
pub(crate) struct Pool<T>(Arc<Mutex<Vec<Box<T>>>>);

/// A value taken from a [`Pool`]. Dropping it, on any thread, returns the value to the pool.
pub(crate) struct Pooled<T> {
    /// `None` only during `drop`.
    value: Option<Box<T>>,
    pool: Arc<Mutex<Vec<Box<T>>>>,
}

/// Maximum number of values that a pool keeps.
const MAX_POOLED: usize = 64;

impl<T: Default> Pool<T> {
    /// Takes a returned value, whose memory is reused, or creates one if the pool is empty.
    pub(crate) fn take(&self) -> Pooled<T> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Pooled { value: Some(value.unwrap_or_default()), pool: Arc::clone(&self.0) }
    }
}

impl<T> Pooled<T> {
    #[inline(always)]
    pub(crate) fn get(&self) -> &T {
        self.value.as_deref().expect("it is there until it is dropped")
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect("it is there until it is dropped")
    }
}

impl<T> Drop for Pooled<T> {
    fn drop(&mut self) {
        let mut kept = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_POOLED {
            kept.extend(self.value.take());
        }
    }
}

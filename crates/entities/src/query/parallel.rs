//! Loops over what a query finds on all threads.

#![expect(unsafe_code, reason = "values of chunks of a world that is borrowed, on several threads")]

use std::any::type_name;
use std::ops::Range;

use ancho_burst::{CpuLevel, dispatch_as};

use super::data::{QueryData, ReadOnlyData};
use super::filter::QueryFilter;
use super::loops::refuse;
use super::matched::Masks;
use super::read::QueryRef;
use super::runs::Runs;
use super::walk::{LONG, Walk, track};
use super::write::QueryMut;
use crate::error::EntityError;
use crate::manager::Jobs;
use crate::storage::{Chunk, OutOfMemory};

/// What a query gives for each entity, and can be given on any thread.
///
/// That is everything but managed components, which stay on the thread of their world, and
/// [`TrackedMut`](crate::TrackedMut), which notes what other threads would note at the same place.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, ParallelData, QueryData, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// fn each<D: ParallelData>(world: &mut World, function: impl Fn(D::Item<'_>) + Sync) {
///     world.query_mut::<D>().for_each_parallel(function);
/// }
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn(Health(20));
/// each::<&mut Health>(&mut world, |health| health.0 -= 3);
/// assert_eq!(world.get::<Health>(orc).unwrap().0, 17);
/// ```
///
/// A managed component stays where it is:
///
/// ```compile_fail,E0277
/// use ancho_entities::{Managed, ManagedComponent, World};
///
/// #[derive(ManagedComponent)]
/// struct Script(std::cell::Cell<u32>);
///
/// World::new("Simulation").query_mut::<&Managed<Script>>().for_each_parallel(|script| script.0.set(1));
/// ```
///
/// # Safety
///
/// Not to be implemented outside of this crate: what is given for rows of different words, of 64 rows each, can be used on
/// different threads at the same time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given on several threads",
    label = "stays on the thread of its world",
    note = "use `for_each`; managed components and `TrackedMut` are of one thread"
)]
pub unsafe trait ParallelData: QueryData {}

/// The rows that a query finds, divided into pieces of which one thread at a time takes one.
#[derive(Default)]
pub(crate) struct Pieces {
    list: Vec<Piece>,
    /// The same before they were divided: whole chunks.
    chunks: Vec<Piece>,
    /// Which rows have changed, for pieces of queries that ask for it.
    changed: Vec<u64>,
}

/// Some rows of a chunk.
#[derive(Clone)]
struct Piece {
    /// Which of the matches it is.
    found: u32,
    chunk: u32,
    /// Its rows, of which the first is a multiple of 64: then no other piece has rows whose bits are in the same words.
    rows: Range<u32>,
    /// Where it is said which rows of the chunk have changed.
    changed: Range<u32>,
}

/// How many pieces there are for each thread, if there are enough rows: so that none waits long for the last.
const PIECES_EACH: usize = 8;
/// How many pieces the one that is fetched comes after the one at hand.
const SOON: usize = 2;

impl Pieces {
    /// Makes all chunks that a walk finds ready to be written, and divides them into pieces for so many threads.
    ///
    /// # Safety
    ///
    /// - the walk is that of a query of this data, and writes, unless it cannot be changed
    /// - nobody has anything that was fetched from its chunks
    unsafe fn prepare<D: QueryData>(
        &mut self,
        walk: &Walk<'_>,
        threads: usize,
    ) -> Result<(), OutOfMemory> {
        self.chunks.clear();
        self.changed.clear();
        let (mut all, mut changed) = (0, Vec::new());
        for (number, found) in (0..).zip(walk.matches) {
            let mut list = walk.archetypes[found.archetype].chunks.iter();
            while let Some(chunk) = walk.next_chosen(&mut list, found, &mut changed) {
                walk.prepare::<D>(chunk)?;
                // SAFETY: archetypes list chunks that are there.
                let rows = unsafe { (*walk.all_chunks::<D>().add(chunk as usize)).len };
                all += rows as usize;
                let first = self.changed.len() as u32;
                self.changed.extend_from_slice(&changed);
                let changed = first..self.changed.len() as u32;
                self.chunks.push(Piece { found: number, chunk, rows: 0..rows, changed });
            }
        }
        // Nothing fails from here on.
        if D::MARKS {
            for piece in &self.chunks {
                // SAFETY: as above. It is the world's alone by now, and nobody has anything of it.
                unsafe { self.mark::<D>(walk, piece) };
            }
        }
        self.divide(all, threads);
        Ok(())
    }

    /// Marks what is written of the chunk of a piece.
    ///
    /// # Safety
    ///
    /// - as for [`Walk::mark`]
    unsafe fn mark<D: QueryData>(&self, walk: &Walk<'_>, piece: &Piece) {
        let found = &walk.matches[piece.found as usize];
        // SAFETY: the chunk is there.
        let chunk = unsafe { walk.all_chunks::<D>().add(piece.chunk as usize) };
        // SAFETY: the caller's promise.
        unsafe { walk.mark::<D>(found, chunk) };
        if !D::TRACKS {
            return;
        }
        // Threads would note it at the same places.
        // SAFETY: the match is that of the chunk, and nobody changes what the world knows of it but by `track`, which changes
        // nothing that is read here.
        unsafe {
            let fetch = walk.fetch::<D>(found, chunk);
            let masks = Masks { enabled: &(*chunk).enabled, changed: self.changed_of(piece) };
            let (mut run, mut runs) = Runs::new(&found.bits, &*chunk).next(&masks);
            while !run.is_empty() {
                track::<D, false>(fetch, run);
                (run, runs) = runs.next(&masks);
            }
        }
    }

    /// Divides chunks into pieces, so that all threads have some.
    fn divide(&mut self, rows: usize, threads: usize) {
        let most = rows.div_ceil(threads * PIECES_EACH).next_multiple_of(64).max(64);
        if self.chunks.iter().all(|chunk| chunk.rows.len() <= most) {
            return std::mem::swap(&mut self.list, &mut self.chunks);
        }
        self.list.clear();
        for chunk in &self.chunks {
            let Range { start, end } = chunk.rows;
            self.list.extend((start..end).step_by(most).map(|first| {
                let rows = first..end.min(first.saturating_add(most as u32));
                Piece { rows, ..chunk.clone() }
            }));
        }
    }

    /// Which rows of the chunk of a piece have changed, if that is asked for.
    #[inline(always)]
    fn changed_of(&self, piece: &Piece) -> &[u64] {
        &self.changed[piece.changed.start as usize..piece.changed.end as usize]
    }
}

/// A walk that several threads read, and its pieces.
struct SharedWalk<'a, 'w> {
    walk: &'a Walk<'w>,
    pieces: &'a Pieces,
    /// Where the chunks are.
    chunks: *const Chunk,
}

// SAFETY: threads read what the world knows of chunks and archetypes, and the values of shared components, which are `Sync`.
// Nobody changes any of it while they do, but for the bits of a piece's rows, which are in words that no other piece has. Of the
// memory of chunks each uses the rows of its pieces.
unsafe impl Sync for SharedWalk<'_, '_> {}

impl<'w> SharedWalk<'_, 'w> {
    /// Calls a function for what is found in some of the pieces.
    ///
    /// # Safety
    ///
    /// - the walk is that of a query of this data, and its pieces are prepared
    /// - this is called once for each piece
    #[inline(always)]
    unsafe fn each_row<D: QueryData>(&self, pieces: Range<usize>, function: impl Fn(D::Item<'w>)) {
        let Self { walk, chunks, .. } = *self;
        let list = self.pieces.list.as_slice();
        // Whether a row that comes soon matches cannot be asked then: another thread may be switching it.
        let switches = walk.matched.plan.parts.iter().any(|part| part.write && part.bits);
        for at in pieces {
            let piece = &list[at];
            let found = &walk.matches[piece.found as usize];
            let soon = list
                .get(at + SOON)
                .filter(|soon| D::ROW_BYTES > 0 && list.len() >= LONG && soon.found == piece.found);
            let may_look = !found.asks_for_rows && (found.bits.is_empty() || !switches);
            let soon = soon.filter(|_| may_look).map(|soon| soon.chunk);
            // SAFETY: the chunk is there, and the piece has rows of it. It is given once, so that nobody else uses what can be
            // changed of them, and was made the world's alone. Others switch bits of other pieces, in other words.
            unsafe {
                let chunk = chunks.add(piece.chunk as usize);
                let fetch = walk.fetch::<D>(found, chunk);
                walk.rows_of_chunk::<D, false>(
                    found,
                    (chunk, fetch, piece.rows.clone()),
                    self.pieces.changed_of(piece),
                    soon,
                    #[inline(always)]
                    |row| function(D::get(fetch, row)),
                );
            }
        }
    }
}

/// Calls a function for everything that a walk finds, on all threads, compiled for the CPU at hand.
///
/// # Safety
///
/// - the walk is that of a query of this data, of these entities, and writes, unless it cannot be changed
/// - it is used once
#[track_caller]
unsafe fn each_row_parallel<'w, D: ParallelData, C: Fn(D::Item<'w>) + Sync>(
    jobs: &Jobs,
    walk: &Walk<'w>,
    function: C,
) -> Result<(), OutOfMemory> {
    jobs.with_pieces(|pieces| {
        let scheduler = jobs.scheduler();
        let threads = scheduler.thread_count();
        // SAFETY: the caller's promise.
        unsafe { pieces.prepare::<D>(walk, threads)? };
        let count = pieces.list.len();
        let shared = SharedWalk { walk, pieces, chunks: walk.all_chunks::<D>() };
        let (shared, function) = (&shared, &function);
        let batch = (count / (threads * PIECES_EACH)).max(1);
        let done = (count > 1 && threads > 1).then(|| {
            scheduler.named(type_name::<C>()).run_parallel(
                (),
                count,
                batch,
                #[inline(always)]
                // SAFETY: the pieces are prepared, and each is in one batch.
                |(), range| unsafe { shared.each_row::<D>(range, function) },
            )
        });
        // Where no job can be scheduled, as inside of one, this thread does it.
        if !matches!(done, Some(Ok(()))) {
            dispatch_as::<C, _, _>(
                CpuLevel::V4,
                #[inline(always)]
                // SAFETY: as above. No job has run.
                || unsafe { shared.each_row::<D>(0..count, function) },
            );
        }
        Ok(())
    })
}

impl<'w, D: ParallelData, F: QueryFilter> QueryMut<'w, D, F> {
    /// Calls a function with what is given for each entity, on all threads of the world's [jobs](crate::EntityManager::jobs), and
    /// waits until all is done. The function may borrow what it likes.
    ///
    /// It does the same to each entity as [`for_each`](Self::for_each), in no order that can be relied on. Which thread does
    /// what must not matter: what the function changes beside the entity is shared, and a sum of floating-point numbers, for
    /// one, would depend on the order.
    ///
    /// From inside a job, where nothing can be waited for, this thread does everything.
    ///
    /// # Panics
    ///
    /// As [`for_each`](Self::for_each). With A0011 if the function panics on one of several threads: other entities may have been
    /// given or not.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch((0..10_000).map(Health));
    /// let (damage, dead) = (100, AtomicU32::new(0));
    /// world.query_mut::<&mut Health>().for_each_parallel(|health| {
    ///     health.0 = health.0.saturating_sub(damage);
    ///     if health.0 == 0 {
    ///         dead.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// });
    /// assert_eq!(dead.into_inner(), 101);
    /// ```
    ///
    /// What several threads would share without a lock does not compile:
    ///
    /// ```compile_fail,E0594
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut sum = 0;
    /// World::new("Simulation").query_mut::<&Health>().for_each_parallel(|health| sum += health.0);
    /// ```
    #[track_caller]
    pub fn for_each_parallel(mut self, function: impl Fn(D::Item<'w>) + Sync) {
        if let Err(error) = self.give_parallel(function) {
            refuse(error.into());
        }
    }

    /// Calls a function with what is given for each entity, on all threads, unless there is no memory.
    ///
    /// # Errors
    ///
    /// If chunks are shared with a fork, and there is no memory for copies. Then the function was not called.
    #[track_caller]
    pub fn try_for_each_parallel(
        mut self,
        function: impl Fn(D::Item<'w>) + Sync,
    ) -> Result<(), EntityError> {
        Ok(self.give_parallel(function)?)
    }

    #[track_caller]
    fn give_parallel(&mut self, function: impl Fn(D::Item<'w>) + Sync) -> Result<(), OutOfMemory> {
        // SAFETY: this is used once.
        let walk = unsafe { self.open() };
        // SAFETY: the walk is that of this query, and writes. It is used once.
        unsafe { each_row_parallel::<D, _>(&self.entities.jobs, &walk, function) }
    }
}

impl<'w, D: ReadOnlyData + ParallelData, F: QueryFilter> QueryRef<'w, D, F> {
    /// Calls a function with what is given for each entity, on all threads. See [`QueryMut::for_each_parallel`].
    ///
    /// # Panics
    ///
    /// With A0011 if the function panics on one of several threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch((0..10_000).map(Health));
    /// let sum = AtomicU64::new(0);
    /// world.query::<&Health>().for_each_parallel(|health| {
    ///     sum.fetch_add(health.0.into(), Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 49_995_000);
    /// ```
    #[track_caller]
    pub fn for_each_parallel(&self, function: impl Fn(D::Item<'w>) + Sync) {
        let walk = self.walk();
        // SAFETY: the walk is that of this query. Nothing can be changed.
        let done = unsafe { each_row_parallel::<D, _>(&self.entities.jobs, &walk, function) };
        done.expect("nothing is copied to be read");
    }
}

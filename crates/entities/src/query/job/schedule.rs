//! Scheduling of jobs over entities, and the data that a job over entities owns.

#![expect(
    unsafe_code,
    reason = "jobs use values of chunks after the call that scheduled them has returned"
)]

use std::any::type_name;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;

use ancho_burst::{CpuLevel, dispatch_as};
use ancho_jobs::{
    Access, AccessList, BatchInfo, JobData, JobHandle, ParallelJobData, ScheduleError, note_panic,
    thread_index,
};

use super::QueryJob;
use crate::manager::{Jobs, Resource, ResourceUse};
use crate::query::access::{Asked, add, add_copied, add_uses};
use crate::query::batch::{Divide, OpenBatch, Pooled, Rows};
use crate::query::data::{ChunkData, QueryData};
use crate::query::parallel::ParallelData;
use crate::query::terms::Plan;
use crate::query::walk::{refuse, succeed};

/// Builder of a job over the entities of a query, with captures. Returned by [`QueryJob::with`].
#[must_use = "nothing is scheduled until one of the `schedule` calls"]
pub struct QueryJobWith<'w, D: QueryData, X> {
    pub(super) job: QueryJob<'w, D>,
    pub(super) captures: X,
}

impl<'w, D: QueryData> QueryJob<'w, D> {
    /// Schedules a job on one thread, which calls the function for each entity, in the order of the chunks.
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Number(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Number(0), 100);
    /// let mut next = 0;
    /// world.query_mut::<&mut Number>().job().schedule(move |number| {
    ///     number.0 = next;
    ///     next += 1;
    /// });
    /// assert!(world.query::<&Number>().iter().map(|number| number.0).eq(0..100));
    /// ```
    #[track_caller]
    pub fn schedule<C: FnMut(D::Item<'_>) + Send + 'static>(self, mut function: C) -> JobHandle
    where
        D: ParallelData + 'static,
    {
        self.task::<C, _, ()>(()).schedule(move |whole| {
            whole.each_item::<C>(
                #[inline(always)]
                move |item, ()| function(item),
            );
        })
    }

    /// Schedules a job on all threads, which calls the function for each entity.
    ///
    /// [`Query::for_each_parallel`](crate::Query::for_each_parallel) lists the guarantees.
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`].
    ///
    /// # Examples
    ///
    /// See [`QueryJob`].
    #[track_caller]
    pub fn schedule_parallel<C: Fn(D::Item<'_>) + Send + Sync + 'static>(
        self,
        function: C,
    ) -> JobHandle
    where
        D: ParallelData + 'static,
    {
        self.task::<C, _, ()>(()).schedule_parallel(
            Divide::ROWS,
            #[inline(always)]
            move |work| {
                work.open().each_item(
                    #[inline(always)]
                    |item, _| function(item),
                );
            },
        )
    }

    /// Schedules a job on all threads, which calls the function with slices of contiguous entities.
    ///
    /// See [`Query::for_each_chunk`](crate::Query::for_each_chunk).
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Heat(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn(Heat(20.0));
    /// world.query_mut::<&mut Heat>().job().schedule_chunks_parallel(|heat| {
    ///     heat.iter_mut().for_each(|heat| heat.0 *= 0.5);
    /// });
    /// assert_eq!(world.get::<Heat>(stone).unwrap().0, 10.0);
    /// ```
    #[track_caller]
    pub fn schedule_chunks_parallel<C: Fn(D::Slices<'_>) + Send + Sync + 'static>(
        self,
        function: C,
    ) -> JobHandle
    where
        D: ParallelData + ChunkData + 'static,
    {
        self.task::<C, _, ()>(()).schedule_parallel(
            Divide::SLICES,
            #[inline(always)]
            move |work| {
                work.open().each_slices(
                    #[inline(always)]
                    |slices, _| function(slices),
                );
            },
        )
    }

    /// Waits for jobs that conflict, and runs the job on this thread. The function may borrow local variables.
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`], and if the function panics.
    #[track_caller]
    pub fn run<C>(self, mut function: C)
    where
        D: ParallelData + 'static,
        C: FnMut(D::Item<'_>),
    {
        self.task::<C, _, ()>(()).run(move |whole| {
            whole.each_item::<C>(
                #[inline(always)]
                move |item, ()| function(item),
            );
        });
    }

    /// Collects the rows, and the resources that the query's data and filters use, for a job with captures. `N` names the job.
    ///
    /// # Panics
    ///
    /// Panics if memory for copies of shared chunks runs out.
    #[track_caller]
    pub(super) fn task<N, X: JobData, L: MarksLate>(self, captures: X) -> Task<'w, D, D, X, L> {
        // SAFETY: `D` is the data of the query.
        let mut rows = unsafe { self.collect::<D>(Asked::Data, None, L::LATE) };
        if X::USES_CONTAINERS {
            rows.get_mut().mark_first();
        }
        let name = self.name.unwrap_or_else(type_name::<N>);
        Task::new(self, name, rows, captures)
    }

    /// Collects the rows, the resources that the query's filters use, and `also`, for a job that does not use the query's data.
    #[track_caller]
    pub(super) fn task_to_find<X>(
        self,
        name: &'static str,
        also: Option<ResourceUse>,
        captures: X,
    ) -> Task<'w, D, (), X, ()> {
        // SAFETY: the data is `()`.
        let rows = unsafe { self.collect::<()>(Asked::Found, also, false) };
        Task::new(self, name, rows, captures)
    }

    /// Collects the rows, the resources that the query's filters use, and `written`, for a job that writes one component of the
    /// query's data.
    ///
    /// # Panics
    ///
    /// Panics if memory for copies of shared chunks runs out.
    #[track_caller]
    pub(super) fn task_to_write<X>(
        self,
        name: &'static str,
        written: ResourceUse,
        captures: X,
    ) -> Task<'w, D, D, X, ()> {
        // SAFETY: `D` is the data of the query.
        let rows = unsafe { self.collect::<D>(Asked::Found, Some(written), false) };
        Task::new(self, name, rows, captures)
    }

    /// Collects the chunks of all archetypes that match, and the resources that the job uses: those of the query's filters, those
    /// of its data if `asked` is [`Asked::Data`], and `also`.
    ///
    /// # Panics
    ///
    /// Panics if memory for copies of shared chunks runs out.
    ///
    /// # Safety
    ///
    /// - `W` is the data of the query, or `()`
    #[track_caller]
    unsafe fn collect<W: QueryData>(
        &self,
        asked: Asked,
        also: Option<ResourceUse>,
        reads_versions: bool,
    ) -> Pooled<Rows> {
        let (matched, jobs, storage) =
            (self.query.matched, self.query.jobs(), self.query.storage());
        jobs.begin_declaring();
        if W::WRITES && storage.chunks.may_be_shared() && jobs.are_live() {
            jobs.sync_for_uses(|uses| {
                add_copied(matched, &storage.archetypes, &storage.chunks, uses);
            });
        }
        storage.chunks.stay();
        let mut pooled = jobs.rows().take();
        let rows = pooled.get_mut();
        (rows.others, rows.reads_versions) = (self.query.others, reads_versions);
        rows.uses.clear();
        add_uses(matched, &storage.archetypes, asked, &mut rows.uses);
        // A `QueryDescriptor` may name components for writing. Its query only reads, and may borrow the world shared.
        if !D::MARKS {
            rows.uses.iter_mut().for_each(|(_, access)| *access = Access::Read);
        }
        if let Some((resource, access)) = also {
            add(&mut rows.uses, resource, access);
        }
        let used = matched.matches.iter().map(|found| found.archetype);
        let used = used.filter(|&archetype| !storage.archetypes[archetype].chunks.is_empty());
        rows.uses.extend(used.map(|archetype| (Resource::Rows(archetype), Access::Read)));
        // SAFETY: the walk belongs to this query. `W` is the data of the query or `()`, which every query can fetch. If the data
        // can be written, the walk is one that writes. No fetched data is in use, because the query was consumed to make the job.
        succeed(unsafe { rows.collect::<W>(&self.query.walk_beside_jobs(), None) });
        pooled
    }
}

/// A job over the entities of a query, before it is scheduled or run.
pub(super) struct Task<'w, D: QueryData, W, X, L> {
    job: QueryJob<'w, D>,
    name: &'static str,
    pub(super) token: QueryToken<'w, W, X, L>,
}

impl<'w, D: QueryData, W, X, L> Task<'w, D, W, X, L> {
    fn new(job: QueryJob<'w, D>, name: &'static str, rows: Pooled<Rows>, captures: X) -> Self {
        let (plan, jobs) = (&job.query.matched.plan, job.query.jobs());
        let token = QueryToken { rows, plan, jobs, captures, of: PhantomData, marks: PhantomData };
        Self { job, name, token }
    }
}

impl<D: QueryData, W, X: ParallelJobData, L> Task<'_, D, W, X, L> {
    /// Checks that captured containers have an element for each entity, if the number of entities is known before the job runs.
    ///
    /// # Panics
    ///
    /// Panics with A0010 if a container has too few elements.
    #[track_caller]
    pub(super) fn check_count(&mut self) {
        let matched = self.job.query.matched;
        // Counting visits each chunk. It is skipped for captures like `()`, which fit any number of entities.
        if matched.is_plain() && (X::USES_CONTAINERS || size_of::<X>() > 0) {
            let count = self.token.rows.get_mut().count_all();
            if let Err(error) = self.token.captures.check_count(self.name, count) {
                refuse(error);
            }
        }
    }

    /// Checks that captured containers have an element for each chunk of the matching archetypes.
    ///
    /// # Panics
    ///
    /// Panics with A0158 if a container has too few elements.
    #[track_caller]
    pub(super) fn check_chunk_count(&self) {
        let count = self.job.query.count_chunks_unfiltered();
        match self.token.captures.check_count(self.name, count) {
            Ok(()) => {}
            Err(ScheduleError::TooShort { container, job, length, count }) => panic!(
                "A0158: chunk job `{job}` writes an element for each of {count} chunks, but {container} has {length} elements; \
                 make it as long as `count_chunks_unfiltered` of the query, or write an element for each entity by an `EntityJob`"
            ),
            Err(error) => refuse(error),
        }
    }
}

impl<D: QueryData, W: QueryData + 'static, X: JobData, L: MarksLate> Task<'_, D, W, X, L> {
    /// Schedules a job on all threads, which calls the function for each batch.
    #[track_caller]
    pub(super) fn schedule_parallel<C>(self, divide: Divide, function: C) -> JobHandle
    where
        X: ParallelJobData,
        C: for<'b, 'v> Fn(BatchWork<'b, 'v, W, X>) + Send + Sync + 'static,
    {
        let Self { job, name, token } = self;
        let scheduled = job.builder(name).schedule_deferred(
            job.dependencies,
            token,
            move |whole: QueryWhole<'_, W, X>| whole.prepare(divide),
            1,
            #[inline(always)]
            move |batch: QueryBatch<'_, W, X>, batches| {
                batch.each(
                    batches,
                    #[expect(
                        clippy::redundant_closure,
                        reason = "a closure can be marked as inlined"
                    )]
                    #[inline(always)]
                    |work| function(work),
                );
            },
        );
        job.record(name, scheduled)
    }

    /// Schedules a job on one thread, which calls the function once.
    #[track_caller]
    pub(super) fn schedule<C>(self, function: C) -> JobHandle
    where
        C: for<'v> FnOnce(QueryWhole<'v, W, X>) + Send + 'static,
    {
        let Self { job, name, token } = self;
        job.record(name, job.builder(name).schedule(job.dependencies, token, function))
    }

    /// Calls the function now, on this thread.
    #[track_caller]
    pub(super) fn run(self, function: impl for<'v> FnOnce(QueryWhole<'v, W, X>)) {
        let Self { job, name, token } = self;
        if let Err(error) = job.builder(name).run(token, function) {
            refuse(error);
        }
    }
}

impl<'w, D: ParallelData + 'static, X: JobData> QueryJobWith<'w, D, X> {
    /// Schedules a job on one thread, which calls the function for each entity, in the order of the chunks.
    ///
    /// The function receives the captures as any job on one thread does: each container as a whole, even if it is written.
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    /// use ancho_jobs::JobCell;
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch((0..1000).map(Health));
    /// let mut sum = JobCell::new(0);
    /// let job = world.query::<&Health>().job().with(sum.write()).schedule(|health, sum| **sum += health.0);
    /// world.jobs().complete(job);
    /// assert_eq!(*sum.get().unwrap(), 499_500);
    /// ```
    #[track_caller]
    pub fn schedule<C: FnMut(D::Item<'_>, &mut X::Whole<'_>) + Send + 'static>(
        self,
        function: C,
    ) -> JobHandle {
        let task = self.job.task::<C, _, ()>(self.captures);
        task.schedule(move |whole| whole.each_item::<C>(function))
    }

    /// Schedules a job on all threads, which calls the function for each entity. See [`QueryJob::with`] for an example.
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`], and with A0010 if a container that is written has fewer elements than the query has
    /// entities. If the number of entities depends on enabled state or changes, the job panics instead of this call.
    #[track_caller]
    pub fn schedule_parallel<C: Fn(D::Item<'_>, X::Item<'_>) + Send + Sync + 'static>(
        self,
        function: C,
    ) -> JobHandle
    where
        X: ParallelJobData,
    {
        let mut task = self.job.task::<C, _, ()>(self.captures);
        task.check_count();
        task.schedule_parallel(
            Divide::NUMBERED,
            #[inline(always)]
            move |work| {
                let (mut batch, mut captures) = work.open_with(false);
                let mut number = 0;
                batch.each_item(
                    #[inline(always)]
                    |item, _| {
                        function(item, X::item(&mut captures, number));
                        number += 1;
                    },
                );
            },
        )
    }

    /// Waits for jobs that conflict, and runs the job on this thread. The function may borrow local variables.
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`]; if the function panics; or if a job fails that writes one of the containers and
    /// that this job [waits for](QueryJob::wait_for_containers).
    #[track_caller]
    pub fn run<C>(self, function: C)
    where
        C: FnMut(D::Item<'_>, &mut X::Whole<'_>),
    {
        self.job.task::<C, _, ()>(self.captures).run(move |whole| whole.each_item::<C>(function));
    }
}

impl<D: QueryData, X> fmt::Debug for QueryJobWith<'_, D, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryJobWith<{}, {}>", type_name::<D>(), type_name::<X>())
    }
}

/// The data of a job over entities: the rows, collected for a query of `W`, and captures of type `X`.
///
/// `L` determines when chunks are marked as changed.
pub(super) struct QueryToken<'w, W, X, L> {
    pub(super) rows: Pooled<Rows>,
    plan: &'w Plan,
    /// The jobs of the world, which is borrowed as the query requires.
    pub(super) jobs: &'w Jobs,
    pub(super) captures: X,
    of: PhantomData<fn(W) -> W>,
    marks: PhantomData<fn(L) -> L>,
}

/// The part of a [`QueryToken`] that its job owns.
pub(super) struct QueryHeld<W, H> {
    rows: Pooled<Rows>,
    captures: H,
    of: PhantomData<fn(W) -> W>,
}

/// View of a [`QueryToken`]'s data in a job on one thread.
///
/// **Invariant:** the rows were collected for a query of `W`, the job runs, and this is its only view.
pub(super) struct QueryWhole<'v, W, X: JobData> {
    rows: &'v mut Rows,
    captures: &'v mut X::Held,
    of: PhantomData<fn(W) -> W>,
}

/// View of a [`QueryToken`]'s data in one thread of a parallel job.
///
/// **Invariant:** the rows were prepared for a query of `W`, and the job runs.
pub(super) struct QueryBatch<'v, W, X: ParallelJobData> {
    rows: &'v Rows,
    captures: &'v X::Held,
    open: X::Open<'v>,
    thread: usize,
    of: PhantomData<fn(W) -> W>,
}

/// One batch of rows, to be opened once.
///
/// **Invariant:** the rows were prepared for a query of `W`, the job runs, and no other `BatchWork` has the same batch.
pub(super) struct BatchWork<'b, 'v, W, X: ParallelJobData> {
    view: &'b QueryBatch<'v, W, X>,
    at: usize,
}

// SAFETY:
// - `declare` declares all resources of the world that the rows use, and the captures declare theirs
// - the world is borrowed for the lifetime: mutably if the job writes components
// - all memory that the views access lives as long as the world; the world completes its jobs before it is dropped, and completes
//   the jobs that conflict before it changes anything
unsafe impl<W: QueryData + 'static, X: JobData, L: MarksLate> JobData for QueryToken<'_, W, X, L> {
    type Held = QueryHeld<W, X::Held>;
    type Whole<'v> = QueryWhole<'v, W, X>;

    fn declare(&self, accesses: &mut AccessList) {
        self.rows.get().declare(self.jobs, accesses);
        if X::USES_CONTAINERS {
            self.jobs.declared().declare(self.plan, || self.captures.declare(accesses));
        }
    }

    fn hold(self) -> Self::Held {
        QueryHeld { rows: self.rows, captures: self.captures.hold(), of: PhantomData }
    }

    unsafe fn whole(held: &mut Self::Held) -> QueryWhole<'_, W, X> {
        QueryWhole { rows: held.rows.get_mut(), captures: &mut held.captures, of: PhantomData }
    }

    const SETTLES: bool = X::SETTLES || L::LATE && W::MARKS;

    unsafe fn settle(held: &mut Self::Held) {
        if L::LATE && W::MARKS {
            // SAFETY: the rows were collected for this data. If the job has run, they were prepared for it too. All threads are
            // done.
            unsafe { held.rows.get().mark_yielded::<W>(L::AS_SLICES) };
        }
        if X::SETTLES {
            // SAFETY: the declared accesses passed the safety check, no conflicting job is running, and no view that was opened
            // from the captures is in use.
            unsafe { X::settle(&mut held.captures) };
        }
    }

    unsafe fn conclude(held: &mut Self::Held, failed: bool) {
        // SAFETY: the declared accesses passed the safety check, no conflicting job is running, and no view that was opened from
        // the captures is in use.
        unsafe { X::conclude(&mut held.captures, failed) };
    }
}

// SAFETY: the implementation of `JobData` fulfils its contract. Each batch of the job uses its own rows.
unsafe impl<W: QueryData + 'static, X: ParallelJobData, L: MarksLate> ParallelJobData
    for QueryToken<'_, W, X, L>
{
    type Batch<'v> = QueryBatch<'v, W, X>;
    type Item<'b> = ();

    fn check_count(&self, _: &'static str, _: usize) -> Result<(), ScheduleError> {
        Ok(())
    }

    type Open<'v> = ();

    unsafe fn open(_: &Self::Held) {}

    #[inline(always)]
    unsafe fn batch<'v>(held: &'v Self::Held, (): &(), batch: &BatchInfo) -> QueryBatch<'v, W, X> {
        // SAFETY: the declared accesses passed the safety check, and no conflicting job is running while the batches are in use.
        let open = unsafe { X::open(&held.captures) };
        let (rows, captures) = (held.rows.get(), &held.captures);
        QueryBatch { rows, captures, open, thread: batch.thread, of: PhantomData }
    }

    fn item(_: &mut QueryBatch<'_, W, X>, _: usize) {}
}

/// The time at which a job marks its chunks as changed.
///
/// `()` marks all chunks before their values are yielded. [`MarkRows`] and [`MarkSlices`] mark the chunks whose values were
/// yielded, when the job is done.
pub(super) trait MarksLate {
    /// True if chunks are marked when the job is done. Such a job has access to its chunks, and can read versions of components
    /// that it only reads.
    const LATE: bool = true;
    /// True if values are yielded as slices.
    const AS_SLICES: bool = false;
}

impl MarksLate for () {
    const LATE: bool = false;
}

/// Marks chunks when the job is done, for data that is yielded entity by entity.
pub(super) struct MarkRows;

impl MarksLate for MarkRows {}

/// Marks chunks when the job is done, for data that is yielded as slices.
pub(super) struct MarkSlices;

impl MarksLate for MarkSlices {
    const AS_SLICES: bool = true;
}

impl<'v, W: QueryData, X: JobData> QueryWhole<'v, W, X> {
    /// Evaluates the filters, marks the written chunks, and divides the rows into batches. Returns the number of batches.
    fn prepare(self, divide: Divide) -> usize {
        // SAFETY: the rows were collected for this data. The job runs, so that jobs that conflict are done or have not begun.
        unsafe { self.rows.prepare::<W>(divide) }
    }

    /// Evaluates the filters, and makes each matching chunk one batch of `()`. Returns the rows, the number of batches, and the
    /// captures. Marks no chunk.
    pub(super) fn chunks(self) -> (&'v Rows, usize, X::Whole<'v>) {
        // SAFETY: rows that were collected for any data are also collected for `()`. The job runs, and this is its only view.
        let (count, captures) =
            unsafe { (self.rows.prepare::<()>(Divide::CHUNKS), X::whole(self.captures)) };
        (self.rows, count, captures)
    }

    /// Calls the function for each entity, in a loop compiled for several CPU levels. `N` names the function in profiles.
    #[inline(always)]
    fn each_item<N>(self, mut function: impl FnMut(W::Item<'_>, &mut X::Whole<'_>)) {
        let Self { rows, captures, .. } = self;
        // SAFETY: the rows were collected for this data. The job runs, and this is its only view.
        let (count, mut captures) =
            unsafe { (rows.prepare::<W>(Divide::CHUNKS), X::whole(captures)) };
        let rows = &*rows;
        dispatch_as::<N, _, _>(
            CpuLevel::V4,
            #[inline(always)]
            move || {
                watch::<W>(
                    rows,
                    0..count,
                    #[inline(always)]
                    |at| {
                        // SAFETY: the rows are prepared for this data, and each batch is opened once.
                        unsafe { rows.open::<W>(at) }.each_item(
                            #[inline(always)]
                            |item, _| function(item, &mut captures),
                        );
                    },
                );
            },
        );
    }

    /// Calls the function for each batch, in a loop compiled for several CPU levels.
    #[inline(always)]
    pub(super) fn each_batch<C>(self, divide: Divide, function: C)
    where
        X: ParallelJobData,
        C: Fn(BatchWork<'_, '_, W, X>),
    {
        let Self { rows, captures, .. } = self;
        let captures = &*captures;
        // SAFETY: the rows were collected for this data. The job runs, and this is its only view.
        let (count, open) = unsafe { (rows.prepare::<W>(divide), X::open(captures)) };
        let thread = thread_index().unwrap_or(0);
        let view = QueryBatch { rows: &*rows, captures, open, thread, of: PhantomData };
        dispatch_as::<C, _, _>(
            CpuLevel::V4,
            #[inline(always)]
            move || view.each(0..count, function),
        );
    }
}

impl<'v, W: QueryData, X: ParallelJobData> QueryBatch<'v, W, X> {
    /// Calls the function for each batch of a range. No other call may have a batch of this range.
    #[inline(always)]
    fn each(&self, batches: Range<usize>, function: impl Fn(BatchWork<'_, 'v, W, X>)) {
        watch::<W>(
            self.rows,
            batches,
            #[inline(always)]
            |at| function(BatchWork { view: self, at }),
        );
    }
}

impl<'v, W: QueryData, X: ParallelJobData> BatchWork<'_, 'v, W, X> {
    /// Opens the batch.
    #[inline(always)]
    fn open(self) -> OpenBatch<'v, W> {
        // SAFETY: the rows are prepared for this data, and the batch is opened once.
        unsafe { self.view.rows.open::<W>(self.at) }
    }

    /// Opens the batch and its captures. The captures are indexed by entity in the query, or, with `by_chunk`, by chunk. With
    /// `by_chunk`, the rows must be divided into whole chunks.
    #[inline(always)]
    pub(super) fn open_with(self, by_chunk: bool) -> (OpenBatch<'v, W>, X::Batch<'v>) {
        let Self { view, at } = self;
        // SAFETY: the rows are prepared for this data, and the batch is opened once.
        let batch = unsafe { view.rows.open::<W>(at) };
        let index = batch.chunk_number;
        let range = if by_chunk { index..index + 1 } else { batch.found_numbers.clone() };
        let info = BatchInfo { index: at, range, thread: view.thread };
        // SAFETY: the job runs. Each entity and each chunk has a different index, and each batch is opened once, so that no other
        // batch has one of these indices.
        let captures = unsafe { X::batch(view.captures, &view.open, &info) };
        (batch, captures)
    }
}

/// Calls the function for each batch of a range. If the function panics, the panic is recorded with the entities of the batch.
#[inline(always)]
fn watch<W: QueryData>(rows: &Rows, batches: Range<usize>, mut function: impl FnMut(usize)) {
    for at in batches {
        let working = Working { rows, at, query: type_name::<W> };
        function(at);
        std::mem::forget(working);
    }
}

/// Guard of a batch in progress. It is dropped only by a panic.
struct Working<'r> {
    rows: &'r Rows,
    at: usize,
    query: fn() -> &'static str,
}

impl Drop for Working<'_> {
    #[cold]
    fn drop(&mut self) {
        let (first, last) = self.rows.ends_of(self.at);
        note_panic(format!("query `{}`, entities {first} to {last}", (self.query)()));
    }
}

/// Capture that yields the index of each entity in the query, starting with zero, in a parallel job.
///
/// The indices follow the order of the chunks, whichever threads process them. This is Unity's `EntityIndexInQuery`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, IndexInQuery, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Number(usize);
///
/// let mut world = World::new("Simulation");
/// world.spawn_many(Number(0), 1000);
/// let query = world.query_mut::<&mut Number>();
/// query.job().with(IndexInQuery).schedule_parallel(|number, index| number.0 = index);
/// assert!(world.query::<&Number>().iter().map(|number| number.0).eq(0..1000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[doc(alias = "EntityIndexInQuery")]
pub struct IndexInQuery;

// SAFETY: the views access no memory.
unsafe impl JobData for IndexInQuery {
    type Held = ();
    type Whole<'v> = ();

    const USES_CONTAINERS: bool = false;

    fn declare(&self, _: &mut AccessList) {}

    fn hold(self) {}

    unsafe fn whole(_: &mut ()) {}
}

// SAFETY: the views access no memory.
unsafe impl ParallelJobData for IndexInQuery {
    type Batch<'v> = usize;
    type Item<'b> = usize;

    fn check_count(&self, _: &'static str, _: usize) -> Result<(), ScheduleError> {
        Ok(())
    }

    type Open<'v> = ();

    unsafe fn open(_: &()) {}

    #[inline(always)]
    unsafe fn batch(_: &(), _: &(), batch: &BatchInfo) -> usize {
        batch.range.start
    }

    #[inline(always)]
    fn item(first: &mut usize, offset: usize) -> usize {
        *first + offset
    }
}

/// The query of the job that is being declared. Captured lookups compare it with their own.
#[derive(Debug)]
pub(crate) struct DeclaredJob {
    /// The plan of the query, or null if no captures are being declared.
    plan: Cell<*const Plan>,
}

// SAFETY: the pointer is not null only during `declare`, which borrows the world, so that the world is not sent meanwhile.
unsafe impl Send for DeclaredJob {}

impl Default for DeclaredJob {
    fn default() -> Self {
        Self { plan: Cell::new(ptr::null()) }
    }
}

impl DeclaredJob {
    /// Calls a function that declares the captures of a job over a query with this plan.
    fn declare(&self, plan: &Plan, declare: impl FnOnce()) {
        /// Resets the pointer when it is dropped, even if the function panics.
        struct Declaring<'a>(&'a DeclaredJob);

        impl Drop for Declaring<'_> {
            fn drop(&mut self) {
                self.0.plan.set(ptr::null());
            }
        }

        let _declaring = Declaring(self);
        self.plan.set(plan);
        declare();
    }

    /// Returns whether a job over a query with this plan is being declared.
    pub(super) fn is_over(&self, plan: &Plan) -> bool {
        // SAFETY: the pointer is null, or `declare` borrows the plan until it has reset the pointer to null.
        unsafe { self.plan.get().as_ref() }.is_some_and(|declared| declared == plan)
    }
}

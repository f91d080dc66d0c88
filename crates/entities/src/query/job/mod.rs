#![doc = include_str!("README.md")]
#![expect(
    unsafe_code,
    reason = "values of chunks of a world, which jobs use when the call that scheduled them is over"
)]

mod array;
mod declared;
mod entity_job;
mod error;
mod index;
mod lists;
mod lookup;
mod token;
mod verbs;
mod with;

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use ancho_jobs::{Access, JobBuilder, JobData, JobHandle, ParallelJobData, ScheduleError};

pub use array::{ArrayHeld, QueryArray, QueryArrayBatch};
pub(crate) use declared::DeclaredJob;
pub use entity_job::{ChunkAt, ChunkInJob, ChunkJob, EntityAt, EntityJob};
pub use error::JobError;
pub use index::IndexInQuery;
pub(crate) use lookup::LookupMemory;
pub use lookup::{JobLookup, JobLookupView, LookupHeld, Unchecked};
use token::{MarksLate, QueryBatch, QueryToken, QueryWhole, work_on};
pub use with::QueryJobWith;

use super::data::{ChunkData, QueryData};
use super::matched::Matched;
use super::parallel::ParallelData;
use super::pool::Pooled;
use super::rows::{Divide, Rows};
use super::settings::Settings;
use super::uses::{Asked, add, add_copied, add_uses};
use super::walk::Walk;
use crate::manager::{EntityManager, Jobs, Resource, ResourceUse};

/// A job over what a query finds, which is about to be scheduled.
///
/// From [`QueryMut::job`](crate::QueryMut::job), [`QueryRef::job`](crate::QueryRef::job) and
/// [`Query::job`](crate::Query::job). A job that is scheduled goes on when the call has returned, on the threads of the
/// world's [jobs](EntityManager::jobs); it starts at the next [`flush`](ancho_jobs::JobScheduler::flush), or when
/// somebody waits for it.
///
/// Nobody has to say what it must wait for. Jobs that read the same components run side by side. One that writes a component
/// waits for those that were scheduled before it and use that component, and those after it wait for it, however they were
/// scheduled. Whoever uses the world on its own thread meanwhile waits for the jobs in the way, and no others: who reads a
/// component, for those that write it; who adds or removes entities, for those that go through their archetypes.
///
/// Which entities are found, by what is switched off and has changed, is settled when the job runs, and not when it is
/// scheduled.
///
/// If the function panics for an entity, others are done all the same, jobs that wait for this one because of what they use run,
/// and who [completes](ancho_jobs::JobScheduler::try_complete) its handle is told, also if it was completed on the way.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Velocity(f32);
///
/// let mut world = World::new("Simulation");
/// let stone = world.spawn((Position(0.0), Velocity(1.5)));
/// let dt = 0.5;
/// world
///     .query_mut::<(&mut Position, &Velocity)>()
///     .job()
///     .named("Move")
///     .schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * dt)?;
/// // Reading a position waits for the job. Reading a velocity would not.
/// assert_eq!(world.get::<Position>(stone)?.0, 0.75);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is scheduled until one of the `schedule` calls"]
pub struct QueryJob<'w, D> {
    /// Borrowed for the lifetime: mutably, unless nothing can be changed.
    entities: NonNull<EntityManager>,
    matched: &'w Matched,
    settings: Settings,
    /// Whether it is done at once, since others would be in its way.
    at_once: bool,
    name: Option<&'static str>,
    dependencies: &'w [JobHandle],
    after: &'w [JobHandle],
    in_turn: bool,
    world: PhantomData<&'w mut EntityManager>,
    /// It may not become a subtype, whose values may lie otherwise.
    of: PhantomData<fn(D) -> D>,
}

impl<'w, D: QueryData> QueryJob<'w, D> {
    /// A job over what a query finds.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed for the lifetime: mutably, unless nothing can be changed; and what the query can change is used
    ///   by nobody else meanwhile, or the job is done at once
    /// - the state is the manager's, and that of a query of this data with these settings
    unsafe fn new(
        entities: NonNull<EntityManager>,
        matched: &'w Matched,
        settings: Settings,
        at_once: bool,
    ) -> Self {
        Self {
            entities,
            matched,
            settings,
            at_once,
            name: None,
            dependencies: &[],
            after: &[],
            in_turn: false,
            world: PhantomData,
            of: PhantomData,
        }
    }

    /// Gives the job a name, by which errors and tools call it. Without one, it is called by the type of its function.
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Lets the job depend on others, beside those that it waits for because of what it uses: if one of them fails, it does not
    /// run.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let bad = world.jobs().schedule(&[], (), |()| panic!("no orders")).unwrap();
    /// let harm = world.query_mut::<&mut Health>().job().depends_on(&[bad]).schedule(|health| health.0 = 0)?;
    /// assert!(world.jobs().try_complete(harm).is_err());
    /// assert_eq!(world.get::<Health>(orc)?.0, 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn depends_on(self, jobs: &'w [JobHandle]) -> Self {
        Self { dependencies: jobs, ..self }
    }

    /// Orders the job after others, beside those that it waits for because of what it uses. It runs also if one of them fails.
    pub fn after(self, jobs: &'w [JobHandle]) -> Self {
        Self { after: jobs, ..self }
    }

    /// Lets the job wait for those that use the containers which it [takes along](Self::with), in a way that conflicts, as it waits
    /// for those that use its components: it has its turn when they are done. If one of them fails that writes a container, it does
    /// not run. See [`JobBuilder::in_turn`].
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
    /// world.spawn_batch((1..=100).map(Health));
    /// let mut sum = JobCell::new(0);
    /// world.query::<&Health>().job().with(sum.write()).schedule(|health, sum| **sum += health.0)?;
    /// let share = world.query_mut::<&mut Health>().job().in_turn().with(sum.read());
    /// let shared = share.schedule(|health, sum| health.0 = **sum / 100)?;
    /// world.jobs().complete(shared);
    /// assert!(world.query::<&Health>().iter().all(|health| health.0 == 50));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_turn(self) -> Self {
        Self { in_turn: true, ..self }
    }

    /// Lets the job take something along: tokens of containers, [lookups](crate::Lookup::into_job), and tuples of them.
    ///
    /// In a [parallel](QueryJobWith::schedule_parallel) job the function is given, with each entity, what is read of it as a
    /// whole, and of what is written the element of the entity's number among those that are found.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    /// use ancho_jobs::JobSlice;
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch((0..1000).map(Health));
    /// let mut doubled = JobSlice::new(1000, 0);
    /// let job = world
    ///     .query::<&Health>()
    ///     .job()
    ///     .with(doubled.write())
    ///     .schedule_parallel(|health, doubled| *doubled = 2 * health.0)?;
    /// world.jobs().complete(job);
    /// assert_eq!(doubled.as_slice().unwrap()[999], 1998);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with<X: JobData>(self, extra: X) -> QueryJobWith<'w, D, X> {
        QueryJobWith { job: self, extra }
    }

    /// Schedules a job that one thread does, entity by entity, in the order of the chunks.
    ///
    /// # Errors
    ///
    /// With A0006 from inside a job, with A0008 if too many jobs are uncompleted, with A0004 if a handle is of another world; or
    /// if chunks are shared with a fork, and there is no memory for copies. Then nothing was scheduled.
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
    /// })?;
    /// assert!(world.query::<&Number>().iter().map(|number| number.0).eq(0..100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn schedule<C>(self, mut function: C) -> Result<JobHandle, JobError>
    where
        D: ParallelData + 'static,
        C: FnMut(D::Item<'_>) + Send + 'static,
    {
        let name = self.name_or::<C>();
        self.with(()).schedule_whole(name, move |item, ()| function(item))
    }

    /// Schedules a job that all threads do.
    ///
    /// See [`QueryMut::for_each_parallel`](crate::QueryMut::for_each_parallel) for what can be relied on, and what cannot.
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
    ///
    /// # Examples
    ///
    /// See [`QueryJob`].
    #[expect(clippy::redundant_closure, reason = "a closure of our own can be marked")]
    #[track_caller]
    pub fn schedule_parallel<C>(self, function: C) -> Result<JobHandle, JobError>
    where
        D: ParallelData + 'static,
        C: Fn(D::Item<'_>) + Send + Sync + 'static,
    {
        let name = self.name_or::<C>();
        let token = self.token::<_, ()>(())?;
        self.submit(
            token,
            Divide::Rows,
            name,
            #[inline(always)]
            // SAFETY: it is prepared for this data, and each piece is opened once.
            move |batch, at| unsafe {
                batch.rows.each_row::<D>(
                    at..at + 1,
                    #[inline(always)]
                    |item| function(item),
                );
            },
        )
    }

    /// Schedules a job that all threads do, and that is given slices of entities that lie side by side.
    ///
    /// See [`QueryRef::for_each_chunk`](crate::QueryRef::for_each_chunk).
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
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
    /// })?;
    /// assert_eq!(world.get::<Heat>(stone)?.0, 10.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn schedule_chunks_parallel<C>(self, function: C) -> Result<JobHandle, JobError>
    where
        D: ParallelData + ChunkData + 'static,
        C: Fn(D::Slices<'_>) + Send + Sync + 'static,
    {
        let name = self.name_or::<C>();
        let token = self.token::<_, ()>(())?;
        self.submit(
            token,
            Divide::Slices,
            name,
            #[inline(always)]
            move |batch, at| {
                // SAFETY: it is prepared for this data, and each piece is opened once.
                let piece = unsafe { batch.rows.open::<D>(at) };
                piece.each_run(
                    #[inline(always)]
                    |run| {
                        let (first, rows) = (run.start as usize, run.len());
                        // SAFETY: as in `schedule_parallel`, for all rows of the run.
                        function(unsafe { D::slices(piece.fetch, first, rows) });
                    },
                );
            },
        )
    }

    /// Does it now, on this thread. What it uses is waited for. The function may borrow what it likes.
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule).
    ///
    /// # Panics
    ///
    /// If the function panics.
    #[track_caller]
    pub fn run<C>(self, mut function: C) -> Result<(), JobError>
    where
        D: ParallelData,
        C: FnMut(D::Item<'_>),
    {
        let name = self.name_or::<C>();
        self.with(()).run_whole(name, move |item, ()| function(item))
    }

    fn name_or<C>(&self) -> &'static str {
        self.name.unwrap_or_else(type_name::<C>)
    }

    /// What is known of jobs of the world.
    fn jobs(&self) -> &'w Jobs {
        // SAFETY: the manager is borrowed for the lifetime, and nobody has a mutable reference to its jobs meanwhile.
        unsafe { &(*self.entities.as_ptr()).jobs }
    }

    /// Collects the rows and what is used of the world, for a job that takes something along.
    #[track_caller]
    fn token<X: JobData, L>(&self, extra: X) -> Result<QueryToken<'w, X, L>, JobError> {
        let mut rows = self.collect()?;
        if X::USES_CONTAINERS {
            rows.get_mut().mark_first();
        }
        Ok(self.token_of(rows, extra))
    }

    /// The data of a job over rows that were collected.
    fn token_of<X, L>(&self, rows: Pooled<Rows>, extra: X) -> QueryToken<'w, X, L> {
        let (plan, jobs) = (&self.matched.plan, self.jobs());
        QueryToken { rows, plan, jobs, extra, marks: PhantomData }
    }

    /// Collects the rows that the query may find, and what it uses of the world.
    #[track_caller]
    fn collect(&self) -> Result<Pooled<Rows>, JobError> {
        // SAFETY: it is the data of the query.
        unsafe { self.collect_for::<D>(Asked::Data, None) }
    }

    /// Collects the rows that the query may find, for a job that uses this data of them. What it uses of the world is what is asked
    /// of the query, and perhaps something else.
    ///
    /// # Safety
    ///
    /// - the data is that of the query, or nothing
    #[track_caller]
    unsafe fn collect_for<W: QueryData>(
        &self,
        asked: Asked,
        also: Option<ResourceUse>,
    ) -> Result<Pooled<Rows>, JobError> {
        let jobs = self.jobs();
        jobs.begin_declaring();
        // SAFETY: the manager is borrowed for the lifetime. Views that have other parts of it have no references but while they
        // are asked.
        let storage = unsafe { &(*self.entities.as_ptr()).storage };
        if W::WRITES && storage.chunks.may_be_shared() && jobs.are_live() {
            jobs.before_uses(|uses| {
                add_copied(self.matched, &storage.archetypes, &storage.chunks, uses);
            });
        }
        storage.chunks.stay();
        let mut pooled = jobs.rows().take();
        let rows = pooled.get_mut();
        rows.at_once = self.at_once;
        rows.uses.clear();
        add_uses(self.matched, &storage.archetypes, asked, &mut rows.uses);
        if let Some((resource, access)) = also {
            add(&mut rows.uses, resource, access);
        }
        let used = self.matched.matches.iter().map(|found| found.archetype);
        let used = used.filter(|&archetype| !storage.archetypes[archetype].chunks.is_empty());
        rows.uses.extend(used.map(|archetype| (Resource::Rows(archetype), Access::Read)));
        // SAFETY: as promised to `new`. If nothing can be changed, nothing is. Every query is one of no data, too.
        unsafe {
            let walk = Walk::writing(self.entities.as_ptr(), self.matched, &self.settings);
            rows.collect::<W>(&walk)?;
        }
        Ok(pooled)
    }

    /// Schedules a job for all threads: a function that is called for each piece.
    #[track_caller]
    fn submit<X, L, C>(
        self,
        token: QueryToken<'w, X, L>,
        divide: Divide,
        name: &'static str,
        piece: C,
    ) -> Result<JobHandle, JobError>
    where
        D: ParallelData + 'static,
        X: ParallelJobData,
        L: MarksLate,
        C: Fn(&QueryBatch<'_, X>, usize) + Send + Sync + 'static,
    {
        let scheduled = self.builder(name).schedule_deferred(
            self.dependencies,
            token,
            // SAFETY: the rows were collected for this data. All that was in the way is done, and nobody else begins.
            move |whole: QueryWhole<'_, X>| unsafe { whole.rows.prepare::<D>(divide) },
            1,
            #[inline(always)]
            move |batch: QueryBatch<'_, X>, pieces| {
                work_on::<D>(
                    batch.rows,
                    pieces,
                    #[inline(always)]
                    |at| piece(&batch, at),
                );
            },
        );
        self.noted(name, scheduled)
    }

    /// What became of a job that was to be scheduled.
    fn noted(
        &self,
        name: &'static str,
        scheduled: Result<JobHandle, ScheduleError>,
    ) -> Result<JobHandle, JobError> {
        let handle = scheduled?;
        self.jobs().after_scheduling(handle, name);
        Ok(handle)
    }

    /// Schedules a job for one thread: a function that is called for each chunk.
    #[track_caller]
    fn submit_single<X, L, C>(
        self,
        token: QueryToken<'w, X, L>,
        divide: Divide,
        name: &'static str,
        piece: C,
    ) -> Result<JobHandle, JobError>
    where
        D: ParallelData + 'static,
        X: ParallelJobData,
        L: MarksLate,
        C: Fn(&QueryBatch<'_, X>, usize) + Send + 'static,
    {
        let scheduled = self.builder(name).schedule(
            self.dependencies,
            token,
            // SAFETY: the rows were collected for this data. All that was in the way is done, and nobody else begins.
            move |whole: QueryWhole<'_, X>| unsafe { whole.each_piece::<D, C>(divide, piece) },
        );
        self.noted(name, scheduled)
    }

    /// Calls a function for each chunk, now, on this thread.
    #[track_caller]
    fn run_single<X, L, C>(
        self,
        token: QueryToken<'w, X, L>,
        divide: Divide,
        name: &'static str,
        piece: C,
    ) -> Result<(), JobError>
    where
        D: ParallelData,
        X: ParallelJobData,
        L: MarksLate,
        C: Fn(&QueryBatch<'_, X>, usize),
    {
        let ran = self.builder(name).run(
            token,
            // SAFETY: the rows were collected for this data, and nobody else uses what the query does.
            |whole: QueryWhole<'_, X>| unsafe { whole.each_piece::<D, C>(divide, piece) },
        );
        Ok(ran?)
    }

    /// As [`token`](Self::token), for what has an element for each entity: if it is known how many are found, it must have so
    /// many.
    #[track_caller]
    fn counted_token<X: ParallelJobData, L>(
        &self,
        extra: X,
        name: &'static str,
    ) -> Result<QueryToken<'w, X, L>, JobError> {
        let mut token = self.token(extra)?;
        let is_known = !self.matched.asks_for_changes && !self.matched.asks_for_bits;
        // What is nothing has elements for all. Counting looks at each chunk.
        if is_known && (X::USES_CONTAINERS || size_of::<X>() > 0) {
            token.extra.check_count(name, token.rows.get_mut().count_all())?;
        }
        Ok(token)
    }

    /// As [`token`](Self::token), for what has an element for each chunk that the query might find.
    #[track_caller]
    fn token_by_chunk<X: ParallelJobData, L>(
        &self,
        extra: X,
        name: &'static str,
    ) -> Result<QueryToken<'w, X, L>, JobError> {
        // SAFETY: the manager is borrowed for the lifetime, and other views have no mutable references to it.
        let storage = unsafe { &(*self.entities.as_ptr()).storage };
        extra.check_count(name, self.matched.count_chunks(storage)).map_err(
            |error| match error {
                ScheduleError::TooShort { container, job, length, count } => {
                    JobError::TooFewForChunks { container, job, length, chunks: count }
                }
                other => other.into(),
            },
        )?;
        self.token(extra)
    }

    fn builder(&self, name: &'static str) -> JobBuilder<'w> {
        let job = self.jobs().scheduler().named(name).after(self.after);
        if self.in_turn { job.in_turn() } else { job }
    }
}

impl<D> fmt::Debug for QueryJob<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryJob<{}>", type_name::<D>())
    }
}

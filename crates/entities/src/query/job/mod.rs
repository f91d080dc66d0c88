#![doc = include_str!("README.md")]

mod arrays;
mod chunk;
mod elements;
mod job_struct;
mod lookup;
mod schedule;

use std::any::type_name;
use std::fmt;

use ancho_jobs::{JobBuilder, JobData, JobHandle, ScheduleError};

pub use arrays::{ArrayHeld, QueryArray, QueryArrayBatch};
pub use chunk::ChunkInJob;
pub use elements::{BufferElements, ElementsHeld};
pub use job_struct::{ChunkJob, EntityAt, EntityJob};
use lookup::LookupMemory;
pub use lookup::{JobLookup, JobLookupView, LookupHeld, Unchecked};
use schedule::DeclaredJob;
pub use schedule::{IndexInQuery, QueryJobWith};

use super::batch::{Pool, Rows};
use super::data::QueryData;
use super::filter::QueryFilter;
use super::parallel::ParallelData;
use super::view::Query;
use super::walk::refuse;
use crate::manager::Jobs;

/// Builder of a job over the entities of a query.
///
/// Returned by [`Query::job`](crate::Query::job). A scheduled job runs in the background, on the threads of the world's [job
/// scheduler](crate::EntityManager::jobs). It starts at the next [`flush`](ancho_jobs::JobScheduler::flush), or when another job or
/// thread waits for it. The returned handle may be ignored: the world orders the job and completes it.
///
/// Dependencies follow from the query. Jobs that read the same components run in parallel. A job that writes a component waits
/// for the jobs scheduled before it that use the component, and later jobs that use it wait for this one. The world's own thread
/// waits only for jobs that conflict with its access. Reading a component waits for the jobs that write it, and a structural change
/// waits for the jobs over the archetypes that it changes.
///
/// Filters by enabled state and by change are evaluated when the job runs, not when it is scheduled.
///
/// If the function panics for an entity, other entities may be skipped. Jobs that wait for this one only because of their
/// components still run. [Completing](ancho_jobs::JobScheduler::try_complete) the handle reports the panic, even if the job was
/// completed before.
///
/// # Panics
///
/// The `schedule` and `run` methods panic, and schedule no job:
///
/// - with A0006 if called in a job
/// - with A0008 if too many jobs are uncompleted
/// - with A0004 if a handle of `depends_on` or `after` belongs to another world
/// - with A0001 if a captured container is in use by a job that this one is not ordered after
/// - with A0002 if a container is captured twice
/// - if chunks are shared with a fork, and memory for copies runs out
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
///     .schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * dt);
/// // Reading a position waits for the job. Reading a velocity would not.
/// assert_eq!(world.get::<Position>(stone).unwrap().0, 0.75);
/// ```
#[must_use = "nothing is scheduled until one of the `schedule` calls"]
#[doc(alias = "IJobEntity")]
pub struct QueryJob<'w, D: QueryData> {
    query: Query<'w, D>,
    name: Option<&'static str>,
    dependencies: &'w [JobHandle],
    after: &'w [JobHandle],
    waits_for_containers: bool,
}

impl<'w, D: QueryData> QueryJob<'w, D> {
    /// Names the job, for errors and tools. The default is the type name of its function.
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Adds dependencies, in addition to those that follow from the query. If one of them fails, this job does not run.
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
    /// let harm = world.query_mut::<&mut Health>().job().depends_on(&[bad]).schedule(|health| health.0 = 0);
    /// assert!(world.jobs().try_complete(harm).is_err());
    /// assert_eq!(world.get::<Health>(orc).unwrap().0, 20);
    /// ```
    pub fn depends_on(self, jobs: &'w [JobHandle]) -> Self {
        Self { dependencies: jobs, ..self }
    }

    /// Orders the job after other jobs, in addition to those that follow from the query. This job runs even if one of them fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let bad = world.jobs().schedule(&[], (), |()| panic!("no orders"))?;
    /// world.query_mut::<&mut Health>().job().after(&[bad]).schedule(|health| health.0 = 0);
    /// assert_eq!(world.get::<Health>(orc)?.0, 0, "it runs after a failed job too");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn after(self, jobs: &'w [JobHandle]) -> Self {
        Self { after: jobs, ..self }
    }

    /// Orders the job after the jobs that conflict with the containers it [captures](Self::with). Without this call, scheduling
    /// panics with A0001.
    ///
    /// If one of those jobs writes a container and fails, this job does not run. See [`JobBuilder::in_turn`].
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
    /// world.query::<&Health>().job().with(sum.write()).schedule(|health, sum| **sum += health.0);
    /// let share = world.query_mut::<&mut Health>().job().wait_for_containers().with(sum.read());
    /// share.schedule(|health, sum| health.0 = **sum / 100);
    /// assert!(world.query::<&Health>().iter().all(|health| health.0 == 50));
    /// ```
    pub fn wait_for_containers(self) -> Self {
        Self { waits_for_containers: true, ..self }
    }

    /// Adds captures: tokens of containers, [lookups](crate::Lookup::into_job), and tuples of them.
    ///
    /// In a [parallel](QueryJobWith::schedule_parallel) job, the function receives the captures with each entity: the whole of a
    /// container that is read, and one element of a container that is written. The element is the one at the entity's index in the
    /// query.
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
    ///     .schedule_parallel(|health, doubled| *doubled = 2 * health.0);
    /// world.jobs().complete(job);
    /// assert_eq!(doubled.as_slice().unwrap()[999], 1998);
    /// ```
    pub fn with<X: JobData>(self, captures: X) -> QueryJobWith<'w, D, X> {
        QueryJobWith { job: self, captures }
    }

    fn builder(&self, name: &'static str) -> JobBuilder<'w> {
        let job = self.query.jobs().scheduler().named(name).after(self.after);
        if self.waits_for_containers { job.in_turn() } else { job }
    }

    /// Reports a scheduled job to the world, and returns its handle.
    ///
    /// # Panics
    ///
    /// Panics with the error's code if the job was not scheduled.
    #[track_caller]
    fn record(&self, name: &'static str, scheduled: Result<JobHandle, ScheduleError>) -> JobHandle {
        match scheduled {
            Ok(handle) => {
                self.query.jobs().after_scheduling(handle, name);
                handle
            }
            Err(error) => refuse(error),
        }
    }
}

impl<D: QueryData> fmt::Debug for QueryJob<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryJob<{}>", type_name::<D>())
    }
}

impl<'w, D: QueryData, F: QueryFilter> Query<'w, D, F> {
    /// Converts the query into a [job builder](QueryJob). See [`Lookup::into_job`](crate::Lookup::into_job) for an example.
    ///
    /// To use the query afterwards, call [`reborrow`](Self::reborrow) first: `query.reborrow().job()`.
    pub fn job(self) -> QueryJob<'w, D::Static> {
        QueryJob {
            query: self.into_static(),
            name: None,
            dependencies: &[],
            after: &[],
            waits_for_containers: false,
        }
    }

    /// Schedules a job of one thread. The handle may be ignored. See [`QueryJob::schedule`].
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let (mut health,) = world.split::<(Query<&mut Health>,)>();
    /// health.schedule(|health| health.0 -= 1);
    /// // Using the query again waits for the job.
    /// assert_eq!(health.get_mut(orc).unwrap().0, 19);
    /// ```
    #[track_caller]
    pub fn schedule<C: FnMut(<D::Static as QueryData>::Item<'_>) + Send + 'static>(
        &mut self,
        function: C,
    ) -> JobHandle
    where
        D::Static: ParallelData,
    {
        self.reborrow().job().schedule(function)
    }

    /// Schedules a job of all threads. The handle may be ignored. See [`QueryJob::schedule_parallel`].
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Position(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Velocity(f32);
    ///
    /// fn drift(dt: f32, mut movers: Query<(&mut Position, &Velocity)>) {
    ///     movers.schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * dt);
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn((Position(0.0), Velocity(1.5)));
    /// drift(2.0, world.split::<Query<(&mut Position, &Velocity)>>());
    /// assert_eq!(world.get::<Position>(stone).unwrap().0, 3.0);
    /// ```
    #[track_caller]
    pub fn schedule_parallel<C: Fn(<D::Static as QueryData>::Item<'_>) + Send + Sync + 'static>(
        &mut self,
        function: C,
    ) -> JobHandle
    where
        D::Static: ParallelData,
    {
        self.reborrow().job().schedule_parallel(function)
    }
}

/// Row lists and lookup tables of completed jobs, reused by later jobs.
#[derive(Default)]
struct JobMemory {
    rows: Pool<Rows>,
    lookups: Pool<LookupMemory>,
    declared: DeclaredJob,
}

impl Jobs {
    /// Returns the pool of row lists for jobs.
    pub(super) fn rows(&self) -> &Pool<Rows> {
        &self.memory::<JobMemory>().rows
    }

    /// Returns the pool of lookup tables for jobs.
    fn lookups(&self) -> &Pool<LookupMemory> {
        &self.memory::<JobMemory>().lookups
    }

    /// Returns the query of the job that is being declared.
    fn declared(&self) -> &DeclaredJob {
        &self.memory::<JobMemory>().declared
    }
}

//! Exclusive transactions: jobs with exclusive access to the entities of a world.

use std::any::type_name;
use std::fmt;

use ancho_collections::Rejected;
use ancho_jobs::{
    AccessError, JobBuilder, JobCell, JobData, JobFailed, JobHandle, JobScheduler, ScheduleError,
    current_job,
};

use crate::manager::EntityManager;
use crate::world::World;

/// A world whose entities are lent to one job at a time, for example to load a level in the background.
///
/// A job of the transaction has the whole [`EntityManager`], and can make structural changes. Other jobs over entities only access
/// components.
///
/// A transaction owns its world for as many frames as the jobs take. [`end`](Self::end) returns the world. Dropping a transaction
/// waits for the jobs, and drops the world. This is Unity's `ExclusiveEntityTransaction`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, QueryDescriptor, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Tree(f32);
///
/// let mut game = World::new("Game");
/// let mut loading = World::new("Loading").begin_transaction();
/// let forest = loading.schedule(&[], |entities| {
///     entities.spawn_batch((0..1000).map(|tree| Tree(tree as f32)));
/// })?;
/// let clearing = loading.schedule(&[forest], |entities| {
///     entities.batch(QueryDescriptor::of::<&Tree, ()>()).for_each(|entities, tree| {
///         if entities.get::<Tree>(tree).is_ok_and(|tree| tree.0 < 100.0) {
///             entities.despawn(tree).unwrap();
///         }
///     });
/// })?;
/// loading.jobs().flush();
/// // Frames go by, until `loading.jobs().is_completed(clearing)`, or the program waits for it.
/// let mut loaded = loading.end()?;
/// game.move_entities_from(&mut loaded)?;
/// assert_eq!(game.entity_count(), 900);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An ended transaction cannot be used:
///
/// ```compile_fail,E0382
/// # use ancho_entities::World;
/// let mut transaction = World::new("Loading").begin_transaction();
/// let world = transaction.end();
/// transaction.schedule(&[], |_| ());
/// ```
#[must_use = "the world is dropped with it; call `end` to get it back"]
pub struct ExclusiveEntityTransaction {
    /// The world without its entities, which jobs may use. This field is dropped first, and waits for the jobs.
    world: World,
    entities: JobCell<EntityManager>,
    /// Jobs that may not be completed, or whose failures were not reported.
    scheduled: Vec<JobHandle>,
    /// The name of the next job, if one was set.
    next_name: Option<&'static str>,
    /// The length of `scheduled` at which jobs that the scheduler has forgotten are removed next.
    many: usize,
}

/// The minimum length of `scheduled` at which forgotten jobs are removed.
const MANY: usize = 64;

impl ExclusiveEntityTransaction {
    #[track_caller]
    pub(crate) fn new(mut world: World) -> Self {
        let entities = world.detach();
        let entities = JobCell::new(entities).named("entities of a transaction");
        Self { world, entities, scheduled: Vec::new(), next_name: None, many: MANY }
    }

    /// Returns the name of the world.
    pub fn name(&self) -> &str {
        self.world.name()
    }

    /// Returns the scheduler of the world, which runs the jobs. Use it to [flush](JobScheduler::flush) jobs, and to read their
    /// state.
    #[track_caller]
    pub fn jobs(&self) -> &JobScheduler {
        self.world.jobs()
    }

    /// Sets the name of the next job in messages and profiles. The default is the name of the closure's type.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut transaction = World::new("Loading").begin_transaction();
    /// transaction.named("Load").schedule(&[], |_| panic!("no such file")).unwrap();
    /// let failed = transaction.complete().unwrap_err();
    /// assert_eq!(failed.to_string(), "A0011: job `Load` panicked: no such file");
    /// ```
    #[must_use = "nothing is scheduled until one of the `schedule` calls"]
    pub fn named(&mut self, name: &'static str) -> &mut Self {
        self.next_name = Some(name);
        self
    }

    /// Schedules a job that has exclusive access to the entities, after its dependencies.
    ///
    /// The job starts at the next [`flush`](JobScheduler::flush), or when another call waits for it.
    ///
    /// Jobs that were scheduled through [`entities_mut`](Self::entities_mut) are completed first, because they belong to another
    /// scheduler and cannot be dependencies.
    ///
    /// # Errors
    ///
    /// Returns A0001 if another job of the transaction is not completed and not among the dependencies. Other errors are those of
    /// [`JobScheduler::schedule`]. If there is an error, nothing was scheduled.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut transaction = World::new("Loading").begin_transaction();
    /// let first = transaction.schedule(&[], |entities| _ = entities.spawn(())).unwrap();
    /// assert!(transaction.schedule(&[], |entities| _ = entities.spawn(())).is_err());
    /// transaction.schedule(&[first], |entities| _ = entities.spawn(())).unwrap();
    /// assert_eq!(transaction.end().unwrap().entity_count(), 2);
    /// ```
    pub fn schedule<F>(
        &mut self,
        dependencies: &[JobHandle],
        job: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        F: for<'v> FnOnce(&'v mut EntityManager) + Send + 'static,
    {
        self.submit::<F>(|jobs, entities| jobs.schedule(dependencies, entities.write(), job))
    }

    /// Schedules a job that has exclusive access to the entities, and access to containers, after its dependencies.
    ///
    /// # Errors
    ///
    /// The errors of [`schedule`](Self::schedule).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    /// use ancho_jobs::JobSlice;
    ///
    /// #[derive(Component)]
    /// struct Height(f32);
    ///
    /// let heights = JobSlice::new(100, 1.5);
    /// let mut transaction = World::new("Loading").begin_transaction();
    /// transaction
    ///     .schedule_with(&[], heights.read(), |(entities, heights)| {
    ///         entities.spawn_batch(heights.iter().map(|&height| Height(height)));
    ///     })
    ///     .unwrap();
    /// assert_eq!(transaction.end().unwrap().entity_count(), 100);
    /// ```
    pub fn schedule_with<D, F>(
        &mut self,
        dependencies: &[JobHandle],
        data: D,
        job: F,
    ) -> Result<JobHandle, ScheduleError>
    where
        D: JobData,
        F: for<'v> FnOnce((&'v mut EntityManager, D::Whole<'v>)) + Send + 'static,
    {
        self.submit::<F>(|jobs, entities| {
            jobs.schedule(dependencies, (entities.write(), data), job)
        })
    }

    /// Schedules a job with a closure of type `F`.
    fn submit<F>(
        &mut self,
        schedule: impl FnOnce(
            JobBuilder<'_>,
            &mut JobCell<EntityManager>,
        ) -> Result<JobHandle, ScheduleError>,
    ) -> Result<JobHandle, ScheduleError> {
        let Self { world, entities, scheduled, next_name, many } = self;
        let name = next_name.take().unwrap_or_else(type_name::<F>);
        // Jobs of another scheduler cannot be dependencies, so they are completed here. Inside a job nothing can be completed, and
        // `schedule` fails below.
        if current_job().is_none()
            && let Ok(entities) = entities.get_mut()
        {
            entities.complete_jobs_over_detached();
        }
        let jobs = world.jobs();
        let job = schedule(jobs.named(name), entities)?;
        if scheduled.len() >= *many {
            scheduled.retain(|&job| !jobs.is_forgotten(job));
            *many = MANY.max(scheduled.len() * 2);
        }
        scheduled.push(job);
        Ok(job)
    }

    /// Returns the entities.
    ///
    /// # Errors
    ///
    /// Returns A0003 if a job of the transaction is not completed.
    pub fn entities(&self) -> Result<&EntityManager, AccessError> {
        self.entities.get()
    }

    /// Returns the entities for writing.
    ///
    /// # Errors
    ///
    /// Returns A0003 if a job of the transaction is not completed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut transaction = World::new("Loading").begin_transaction();
    /// transaction.entities_mut().unwrap().spawn(());
    /// transaction.schedule(&[], |entities| _ = entities.spawn(())).unwrap();
    /// assert!(transaction.entities_mut().is_err(), "a job has them");
    /// transaction.complete().unwrap();
    /// assert_eq!(transaction.entities_mut().unwrap().entity_count(), 2);
    /// ```
    pub fn entities_mut(&mut self) -> Result<&mut EntityManager, AccessError> {
        self.entities.get_mut()
    }

    /// Waits for all jobs of the transaction, including those that were scheduled through [`entities_mut`](Self::entities_mut).
    ///
    /// # Errors
    ///
    /// If a job panicked, returns the first failure that was not reported yet. Changes that the job made before the panic remain.
    ///
    /// # Panics
    ///
    /// Panics with A0006 if called inside a job, unless all jobs are completed.
    #[track_caller]
    pub fn complete(&mut self) -> Result<(), JobFailed> {
        let completed = self.jobs().try_complete_all(&self.scheduled);
        // The list is cleared after waiting: if waiting panics, the jobs must stay in the list.
        self.scheduled.clear();
        let lent = self.entities.get_mut().ok().and_then(EntityManager::complete_detached);
        completed.and(lent.map_or(Ok(()), Err))
    }

    /// Waits for all jobs of the transaction, and returns the world.
    ///
    /// # Errors
    ///
    /// Returns the first failure that was not reported yet if a job panicked, including jobs that were scheduled through
    /// [`entities_mut`](Self::entities_mut). Changes that the job made before the panic remain. The error contains the world.
    ///
    /// # Panics
    ///
    /// Panics with A0006 if called inside a job, unless all jobs are completed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut transaction = World::new("Loading").begin_transaction();
    /// transaction.schedule(&[], |entities| {
    ///     entities.spawn_many((), 10);
    ///     panic!("no such file");
    /// })?;
    /// let ended = transaction.end().unwrap_err();
    /// assert_eq!(ended.error.message(), "no such file");
    /// assert_eq!(ended.value.entity_count(), 10);
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    #[track_caller]
    pub fn end(self) -> Result<World, Rejected<Box<World>, JobFailed>> {
        let jobs = self.jobs();
        jobs.complete_quietly(&self.scheduled);
        let mut failures: Vec<_> =
            self.scheduled.iter().filter_map(|&job| jobs.take_failure(job)).collect();
        let Self { mut world, entities, .. } = self;
        let Ok(entities) = entities.into_inner() else {
            unreachable!("all jobs that had the entities are completed");
        };
        failures.extend(world.reattach(entities));
        world.deliver_outside();
        match failures.into_iter().next() {
            None => Ok(world),
            Some(error) => Err(Rejected { value: Box::new(world), error }),
        }
    }
}

impl fmt::Debug for ExclusiveEntityTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExclusiveEntityTransaction")
            .field("world", &self.world.name())
            .field("entities", &self.entities)
            .field("jobs", &self.scheduled.len())
            .finish()
    }
}

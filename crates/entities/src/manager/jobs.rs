//! The threads that a world has its work done by.

use std::cell::OnceCell;

use ancho_jobs::{JobFailed, JobHandle, JobPool, JobScheduler, current_job};

use super::EntityManager;
use super::job_access::Fences;
use crate::query::{DeclaredJob, LookupMemory, Pool, Rows};

/// The scheduler of a world, which is made when it is first asked for, and what parallel loops need memory for.
pub(crate) struct Jobs {
    /// `None` is the pool of the process.
    pool: Option<JobPool>,
    scheduler: OnceCell<JobScheduler>,
    /// Which jobs use what of the world.
    pub(super) fences: Fences,
    /// What jobs that are done had, so that the next have its memory.
    rows: Pool<Rows>,
    lookups: Pool<LookupMemory>,
    declared: DeclaredJob,
}

impl Jobs {
    pub(crate) fn new(pool: Option<JobPool>) -> Self {
        Self {
            pool,
            scheduler: OnceCell::new(),
            fences: Fences::default(),
            rows: Pool::default(),
            lookups: Pool::default(),
            declared: DeclaredJob::default(),
        }
    }

    /// The jobs of a world that has its work done by the same threads.
    pub(super) fn of_same_pool(&self) -> Self {
        Self::new(self.pool.clone())
    }

    #[inline]
    pub(crate) fn scheduler(&self) -> &JobScheduler {
        self.scheduler.get_or_init(|| match &self.pool {
            Some(pool) => JobScheduler::new(pool),
            None => JobScheduler::new(&JobPool::shared()),
        })
    }

    /// Ends all jobs, since what they use is about to go. Returns whether that was possible: if not, it has to stay.
    pub(super) fn end(&mut self) -> bool {
        let Some(scheduler) = self.scheduler.take() else { return true };
        // If one of the jobs has got hold of the world, it cannot wait for itself, nor for others that wait for it.
        let can_wait = scheduler.begin_drop();
        let is_unused = can_wait || !self.fences.is_live();
        // Whoever drops it waits for all jobs, also inside of a job of another world.
        drop(scheduler);
        is_unused
    }

    /// Begins to end the scheduler. Returns whether its jobs can be completed, also if this is inside of a job of another.
    pub(crate) fn begin_drop(&self) -> bool {
        self.scheduler.get().is_none_or(JobScheduler::begin_drop)
    }

    /// Whether jobs over entities were scheduled of which it was not asked yet.
    #[inline(always)]
    pub(crate) fn has_scheduled(&self) -> bool {
        self.fences.has_scheduled()
    }

    /// Takes the list of jobs over entities that were scheduled since, in their order.
    pub(crate) fn scheduled(&self) -> Vec<JobHandle> {
        self.fences.take_scheduled()
    }

    /// Gives back the list, so that the next has its memory.
    pub(crate) fn give_back_scheduled(&self, list: Vec<JobHandle>) {
        self.fences.give_back_scheduled(list);
    }

    /// Says whether jobs are listed that are scheduled. Returns whether they were.
    #[inline(always)]
    pub(crate) fn list_scheduled(&self, listed: bool) -> bool {
        self.fences.list_scheduled(listed)
    }

    /// Lists a job that a system has returned, unless it is listed already.
    pub(crate) fn note_returned(&self, job: JobHandle) {
        self.fences.note_returned(job);
    }

    /// Starts all jobs that wait for it. Inside a job of another scheduler, the next start outside does.
    #[inline]
    pub(crate) fn start(&self) {
        if let Some(scheduler) = self.scheduler.get()
            && scheduler.uncompleted() > 0
            && current_job().is_none()
        {
            scheduler.flush();
        }
    }

    /// Takes what is known of jobs that failed, and that nobody was told of.
    pub(crate) fn take_failures(&self) -> Vec<JobFailed> {
        self.scheduler.get().map_or_else(Vec::new, JobScheduler::take_failures)
    }

    /// Memory for the rows that jobs go through.
    pub(crate) fn rows(&self) -> &Pool<Rows> {
        &self.rows
    }

    /// Which query the job is over that is just being declared.
    pub(crate) fn declared(&self) -> &DeclaredJob {
        &self.declared
    }

    /// Memory for what jobs look for entities in.
    pub(crate) fn lookups(&self) -> &Pool<LookupMemory> {
        &self.lookups
    }
}

impl EntityManager {
    /// The scheduler of the world: its parallel loops run there, and other jobs can.
    ///
    /// It belongs to the pool of the [settings](crate::WorldSettings::job_pool).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let world = World::new("Simulation");
    /// let jobs = world.jobs();
    /// let sum = jobs.run((), |()| 1 + 1).unwrap();
    /// assert_eq!(sum, 2);
    /// ```
    pub fn jobs(&self) -> &JobScheduler {
        self.jobs.scheduler()
    }
}

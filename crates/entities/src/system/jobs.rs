//! Jobs that systems schedule: recording, completing and reporting them.

use ancho_jobs::JobHandle;

use crate::schedule::{SystemFault, SystemId};
use crate::world::World;

impl World {
    /// Completes all jobs over entities of the world, and all jobs whose handles systems returned. Each [update](Self::update)
    /// begins with this call.
    ///
    /// Does not wait for jobs over containers alone that were scheduled with [`EntityManager::jobs`](crate::EntityManager::jobs),
    /// or by a system that does not return the handle. Such a job may run during many updates. Complete it by its handle, or
    /// complete all jobs with [`JobScheduler::complete_everything`](ancho_jobs::JobScheduler::complete_everything).
    ///
    /// The next update reports failures, as it reports errors of systems. Each failure is reported once: after this call,
    /// [`try_complete`](ancho_jobs::JobScheduler::try_complete) returns `Ok` for the handle of a job that panicked. If
    /// `try_complete` has already returned the panic, no update reports it.
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
    /// world.spawn_many(Health(20), 10);
    /// let heal = world.query_mut::<&mut Health>().schedule_parallel(|health| health.0 += 1);
    /// let mut sum = JobCell::new(0);
    /// let count = world.jobs().schedule(&[], sum.write(), |sum| *sum = (1..=10).sum())?;
    /// world.complete_jobs();
    /// assert!(world.jobs().is_completed(heal));
    /// assert!(!world.jobs().is_completed(count));
    /// world.jobs().complete_everything();
    /// assert_eq!(*sum.get()?, 55);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn complete_jobs(&mut self) {
        self.collect_jobs(self.systems.executing);
        let jobs = std::mem::take(&mut self.systems.jobs);
        self.finish_jobs(&jobs);
        let scheduler = self.entities.jobs();
        // Jobs over entities that the world had before belong to another scheduler, and are completed together with those entities.
        for &(job, system) in jobs.iter().filter(|&&(job, _)| scheduler.knows(job)) {
            if let Err(failed) = scheduler.try_complete(job) {
                self.systems.fail(system, SystemFault::Job(failed));
            }
        }
        self.systems.jobs = jobs;
        self.systems.jobs.clear();
        self.systems.removed.clear();
        self.entities.jobs.sync_all();
        self.report_failures_of_no_system();
        self.systems.frame += 1;
    }

    /// Reports the failures of completed jobs, without waiting.
    pub(super) fn report_failed_jobs(&mut self) {
        self.report_completed_jobs();
        self.report_failures_of_no_system();
    }

    fn report_failures_of_no_system(&mut self) {
        for failed in self.entities.jobs.take_failures() {
            self.fail_world(SystemFault::JobOfWorld(failed));
        }
    }

    /// Finishes several jobs in any order. Completing them one by one would wait for one job while others could run.
    fn finish_jobs(&self, jobs: &[(JobHandle, SystemId)]) {
        if jobs.len() < 2 {
            return;
        }
        let scheduler = self.entities.jobs();
        // No job is scheduled during this call, so the memory of the list of scheduled jobs can be reused.
        let mut handles = self.entities.jobs.scheduled();
        handles.extend(jobs.iter().map(|&(job, _)| job).filter(|&job| scheduler.knows(job)));
        scheduler.finish_all(&handles);
        self.entities.jobs.give_back_scheduled(handles);
    }

    /// Records the jobs that were scheduled since the last call, together with the system that scheduled them.
    #[inline]
    pub(super) fn collect_jobs(&mut self, system: Option<SystemId>) {
        if self.entities.jobs.has_scheduled() {
            self.record_jobs(system);
        }
    }

    /// Calls [`record_jobs`](Self::record_jobs). The id is passed in registers, which costs nothing if no jobs were scheduled.
    #[cold]
    fn record_jobs_of(&mut self, system: SystemId) {
        self.record_jobs(Some(system));
    }

    #[cold]
    fn record_jobs(&mut self, system: Option<SystemId>) {
        let scheduled = self.entities.jobs.scheduled();
        if let Some(system) = system {
            self.systems.jobs.extend(scheduled.iter().map(|&job| (job, system)));
        }
        self.entities.jobs.give_back_scheduled(scheduled);
    }

    /// Starts the jobs that a system has scheduled.
    #[inline]
    pub(super) fn start_jobs(&mut self, system: SystemId) {
        if self.entities.jobs.has_scheduled() {
            self.record_jobs_of(system);
        }
        self.entities.jobs.start();
    }

    /// Reports the failed jobs of systems that were already completed. Each panic is reported once.
    pub(super) fn report_completed_jobs(&mut self) {
        self.collect_jobs(self.systems.executing);
        let scheduler = self.entities.jobs();
        if !scheduler.has_failures() {
            return;
        }
        let known = self.systems.jobs.iter().filter(|&&(job, _)| scheduler.knows(job));
        let failed: Vec<_> =
            known.filter_map(|&(job, system)| Some((system, scheduler.take_panic(job)?))).collect();
        for (system, failed) in failed {
            self.systems.fail(system, SystemFault::Job(failed));
        }
    }

    /// Reports a fault that belongs to no system.
    pub(super) fn fail_world(&mut self, fault: SystemFault) {
        self.systems.fail_as(self.name().into(), fault);
    }
}

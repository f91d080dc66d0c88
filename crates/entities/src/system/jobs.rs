//! Jobs that systems schedule, and commands that wait for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use ancho_jobs::{JobHandle, current_job};

use super::error::{SystemFault, UpdateError, panic_message};
use super::id::SystemId;
use super::point::{CommandPoint, Waiting};
use super::table::Record;
use super::tell::discard;
use crate::commands::EntityCommandBuffer;
use crate::world::World;

/// What a panic has said, in the words of an error.
fn panicked(payload: Box<dyn std::any::Any + Send>) -> String {
    let message = format!("panicked: {}", panic_message(&*payload));
    discard(payload);
    message
}

impl World {
    /// Completes all jobs that use entities of the world, whoever has scheduled them, and all whose handles systems have returned.
    /// An [update](Self::update) begins with it.
    ///
    /// It does not wait for a job that uses containers alone, and that nobody has told the world of: one that was scheduled by
    /// [`EntityManager::jobs`](crate::EntityManager::jobs), or by a system which does not return its handle. Such a job may take
    /// many updates. It is completed by its handle, or with all others by
    /// [`JobScheduler::complete_everything`](ancho_jobs::JobScheduler::complete_everything).
    ///
    /// What has failed is told by the next update, or by its handler.
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
        // If the world was given other entities, jobs of the first are left to them, and to whoever has them.
        for &(job, system) in jobs.iter().filter(|&&(job, _)| scheduler.knows(job)) {
            if let Err(failed) = scheduler.try_complete(job) {
                self.systems.fail(system, SystemFault::Job(failed));
            }
        }
        self.systems.jobs = jobs;
        self.systems.jobs.clear();
        self.systems.gone.clear();
        self.entities.jobs.before_everything();
        self.report_failures_of_no_system();
    }

    /// Reports all failures of jobs that were completed, and waits for none.
    pub(super) fn report_failed_jobs(&mut self) {
        self.report_completed_jobs();
        self.report_failures_of_no_system();
    }

    fn report_failures_of_no_system(&mut self) {
        for failed in self.entities.jobs.take_failures() {
            self.fail_world(SystemFault::JobOfWorld(failed));
        }
    }

    /// Has several jobs finished, in whichever order they can be: to complete one by one would be to wait for each while others
    /// could be worked on.
    fn finish_jobs(&self, jobs: &[(JobHandle, SystemId)]) {
        if jobs.len() < 2 {
            return;
        }
        let scheduler = self.entities.jobs();
        // None are scheduled meanwhile, so that the memory of their list is there to be used.
        let mut handles = self.entities.jobs.scheduled();
        handles.extend(jobs.iter().map(|&(job, _)| job).filter(|&job| scheduler.knows(job)));
        scheduler.finish_all(&handles);
        self.entities.jobs.give_back_scheduled(handles);
    }

    /// Notes the jobs that were scheduled since, by a system if one was running.
    #[inline]
    pub(super) fn collect_jobs(&mut self, system: Option<SystemId>) {
        if self.entities.jobs.has_scheduled() {
            self.note_jobs(system);
        }
    }

    /// Who runs is handed over in registers, which takes no time if there are none.
    #[cold]
    fn note_jobs_of(&mut self, system: SystemId) {
        self.note_jobs(Some(system));
    }

    #[cold]
    fn note_jobs(&mut self, system: Option<SystemId>) {
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
            self.note_jobs_of(system);
        }
        self.entities.jobs.start();
    }

    /// Carries out what waits for a point.
    pub(super) fn run_point(&mut self, id: SystemId) {
        let Some(place) = self.systems.record(id).and_then(|record: &Record| record.point) else {
            return;
        };
        if self.systems.points.is_idle(place) {
            return;
        }
        let mut waiting = std::mem::take(&mut self.systems.points.get_mut(place).waiting);
        let started = self.systems.profiles.then(Instant::now);
        self.raise_version();
        let mut failed = Vec::new();
        for Waiting { mut buffer, recorder, name } in waiting.drain(..) {
            self.complete_recording(&buffer, recorder);
            let entities = &mut self.entities;
            match catch_unwind(AssertUnwindSafe(|| entities.play(&mut buffer))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    failed.push((Arc::clone(&name), error.of_system().to_string()));
                }
                Err(payload) => failed.push((Arc::clone(&name), panicked(payload))),
            }
            // What was not carried out is dropped, which is code of the user.
            match catch_unwind(AssertUnwindSafe(|| buffer.clear())) {
                Ok(Ok(())) => self.systems.points.give_back(place, buffer),
                Ok(Err(_)) => {}
                Err(payload) => {
                    failed.push((name, panicked(payload)));
                    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(buffer))) {
                        discard(payload);
                    }
                }
            }
        }
        let point = self.systems.points.get_mut(place);
        if point.waiting.is_empty() {
            point.waiting = waiting;
        }
        let version = self.entities.storage.version;
        if let Some(slot) = self.systems.slot_mut(id) {
            slot.last_run = version;
        }
        if !failed.is_empty() {
            self.systems.fail(id, SystemFault::Commands(failed));
        }
        if let Some(started) = started {
            self.systems.note_time(id, started);
        }
    }

    /// Completes the jobs that record in a buffer, and no others but those that they wait for. Reports which of them failed.
    fn complete_recording(&mut self, buffer: &EntityCommandBuffer, recorder: Option<SystemId>) {
        let scheduler = self.entities.jobs();
        // A job of another scheduler is completed by its owner: until then, playing the buffer is refused.
        let mut jobs = buffer.recording_jobs().filter(|&job| scheduler.knows(job));
        let Some(last) = jobs.next_back() else { return };
        // Inside a job of another scheduler no job can be completed: playing the buffer is refused, too.
        if current_job().is_none() {
            scheduler.complete_quietly(&[last]);
        }
        if !scheduler.has_failures() {
            return;
        }
        let jobs = jobs.chain([last]);
        let failed: Vec<_> = jobs.filter_map(|job| scheduler.take_panic(job)).collect();
        for failed in failed {
            match recorder {
                Some(system) => self.systems.fail(system, SystemFault::Job(failed)),
                None => self.fail_world(SystemFault::JobOfWorld(failed)),
            }
        }
        // Jobs that these wait for are among those of systems.
        self.report_completed_jobs();
    }

    /// Reports which jobs of systems failed and were completed on behalf of another, each panic once.
    fn report_completed_jobs(&mut self) {
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

    /// Reports something that went wrong, and not with a system.
    fn fail_world(&mut self, fault: SystemFault) {
        let system = self.name().into();
        self.systems.errors.push(UpdateError { system, fault });
    }

    /// Begins to record commands that are carried out when a point comes, also in jobs. Each call begins a buffer, and they are played
    /// in this order.
    ///
    /// What is recorded is carried out also if the system fails afterwards, unlike that of a parameter
    /// [`CommandsAt`](crate::CommandsAt): a buffer that is not to be played has to be
    /// [told so](EntityCommandBuffer::set_should_play).
    ///
    /// # Errors
    ///
    /// With A0114 if the world has no such point.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EndSimulation, System, SystemResult, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// struct Spawner;
    ///
    /// impl System for Spawner {
    ///     fn on_update(&mut self, world: &mut World) -> SystemResult {
    ///         world.commands_at::<EndSimulation>()?.commands()?.spawn(Orc);
    ///         assert_eq!(world.entity_count(), 0);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(Spawner);
    /// world.try_update(0.1).unwrap();
    /// assert_eq!(world.entity_count(), 1);
    /// ```
    pub fn commands_at<P: CommandPoint>(
        &mut self,
    ) -> Result<&mut EntityCommandBuffer, super::error::SystemError> {
        self.add_default_groups();
        let place = self.systems.points.place_of::<P>();
        let refused = |_| super::error::SystemError::NoSuchPoint { point: P::name() };
        let buffer = self.systems.points.begin(place).map_err(refused)?;
        let recorder = self.systems.executing;
        let name = recorder.map_or_else(|| "the program".into(), |id| self.systems.name_of(id));
        let waiting = &mut self.systems.points.get_mut(place).waiting;
        waiting.push(Waiting { buffer, recorder, name });
        let last = waiting.last_mut().expect("it was just put there");
        Ok(&mut last.buffer)
    }
}

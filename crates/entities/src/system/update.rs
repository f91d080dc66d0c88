//! The update of systems.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use ancho_collections::Allocator;

use super::update_guard::UpdateGuard;
use crate::messages::ClockId;
use crate::panics::discard;
use crate::schedule::{RateTurn, SystemFault, SystemId, UpdateError, UpdateErrors, panic_message};
use crate::time::Time;
use crate::version::Version;
use crate::world::{ErasedSystem, Flags, Moment, Outcome, Systems, World};

#[cfg(test)]
mod tests;

/// The number of recorded jobs at which they are completed, if systems are only updated one by one.
const MANY_JOBS: usize = 1024;

impl World {
    /// Updates all systems once. `seconds` is the time since the last update. The world's time advances by exactly that, unless a
    /// [maximum](Self::set_maximum_delta) is set.
    ///
    /// Jobs of the last update are completed first. Then the groups run, each with its systems in order. Jobs that a system
    /// schedules start when it returns, and run in the background.
    ///
    /// If a system fails, the others still run. Then each error is passed to the [handler](Self::set_error_handler). If there is
    /// no handler, the method panics. [`try_update`](Self::try_update) returns the errors instead.
    ///
    /// [Warnings](UpdateError::is_warning) are passed to the handler too. Without a handler, they are printed. The same warning in
    /// consecutive runs is printed at the first, tenth, hundredth … time.
    ///
    /// # Panics
    ///
    /// After all systems have run, with the messages of all errors, unless there is a handler. The world is valid afterwards, and
    /// can be updated again. If the thread is already panicking, the errors are printed instead. If a system of the world calls
    /// this method, the error (A0109) is kept for the outer update.
    ///
    /// # Determinism
    ///
    /// The order of systems depends only on how they were added.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ResMut, Resource, Time, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Clock(f64);
    ///
    /// fn tick(time: Time, mut clock: ResMut<Clock>) {
    ///     clock.0 = time.elapsed();
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Clock(0.0));
    /// world.add_system(tick);
    /// for _ in 0..4 {
    ///     world.update(0.25);
    /// }
    /// assert_eq!(world.resource::<Clock>().0, 1.0);
    /// ```
    #[doc(alias = "run_schedule")]
    #[track_caller]
    pub fn update(&mut self, seconds: impl Into<f64>) {
        self.update_all(seconds.into());
        self.reset_abandoned_update();
        // Inside of a system, errors are kept for the outer update.
        if !self.systems.errors.is_empty() && !self.systems.is_in_update() {
            self.report_or_panic();
        }
    }

    /// Updates all systems once, and returns all errors in the order in which they occurred. The handler does not receive them.
    ///
    /// [Warnings](UpdateError::is_warning) are not returned. They are passed to the [handler](Self::set_error_handler), or printed
    /// if no handler is set.
    ///
    /// # Errors
    ///
    /// Errors of systems (A0078, A0103 to A0107, A0113 to A0118), of their order (A0097, A0123 to A0128), and of jobs of the last
    /// update. Returns A0120 if the time step is invalid, and A0109 if a system of the world is being updated. In the last two
    /// cases no system has run.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Single, World};
    ///
    /// #[derive(Component)]
    /// #[component(name = "Player")]
    /// struct Player(u32);
    ///
    /// fn follow(_: Single<&Player>) {}
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(follow);
    /// assert!(world.try_update(0.1).unwrap_err().to_string().starts_with("A0104: system "));
    /// assert!(world.try_update(f64::NAN).unwrap_err().to_string().starts_with("A0120: "));
    /// world.spawn(Player(1));
    /// assert!(world.try_update(0.1).is_ok());
    /// ```
    pub fn try_update(&mut self, seconds: impl Into<f64>) -> Result<(), UpdateErrors> {
        self.reset_abandoned_update();
        // Errors since the last update are returned, too. A system that calls this method does not get errors of other systems.
        let before = if self.systems.is_in_update() { self.systems.errors.len() } else { 0 };
        self.update_all(seconds.into());
        self.errors_since(before)
    }

    /// Updates one system, or a group with its members, if it is enabled and its requirements are met. Systems can call this
    /// method.
    ///
    /// For a system, data counts as changed if it changed since the system last ran, regardless of the caller of the update. If a
    /// system updates another one and writes data afterwards, that data counts as changed for the other one. If both systems write
    /// the same components, changes by the inner system may be missed by the outer one.
    ///
    /// # Errors
    ///
    /// Errors of the system. Returns A0108 if the world does not have the system. Returns A0109 if the system is being updated,
    /// directly or by a system that it updates.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct ActiveWorlds(u32);
    ///
    /// fn turn(mut turns: ResMut<ActiveWorlds>) {
    ///     turns.0 += 1;
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(ActiveWorlds(0));
    /// let turn = world.add_system(turn);
    /// world.add_system(move |world: &mut World| {
    ///     for _ in 0..10 {
    ///         world.update_system(turn).unwrap();
    ///     }
    /// });
    /// world.update(0.1);
    /// assert_eq!(world.resource::<ActiveWorlds>().0, 11);
    /// ```
    pub fn update_system(&mut self, id: SystemId) -> Result<(), UpdateErrors> {
        self.reset_abandoned_update();
        let before = self.systems.errors.len();
        self.limit_jobs();
        match self.systems.slot(id) {
            None => {
                self.systems.fail_as(format!("{id:?}").into(), SystemFault::NoSuchSystem);
            }
            Some(slot) if slot.flags.has(Flags::EXECUTING) => {
                self.systems.fail(id, SystemFault::IsExecuting);
            }
            Some(_) => {
                self.begin_update();
                let world = self.systems.id;
                let _guard = UpdateGuard::begin(world);
                let listed = self.entities.jobs.list_scheduled(true);
                self.run(id);
                if self.systems.id == world {
                    self.entities.jobs.list_scheduled(listed);
                    self.raise_version();
                    // The last system of a group may have replaced the entities.
                    self.sync_last_runs();
                }
            }
        }
        self.errors_since(before)
    }

    /// Completes the recorded jobs if there are many, because systems are only updated one by one.
    pub(super) fn limit_jobs(&mut self) {
        if self.systems.jobs.len() >= MANY_JOBS && self.systems.executing.is_none() {
            self.complete_jobs();
        }
    }

    /// Returns the innermost system that is being updated, or `None` outside of systems.
    pub fn executing_system(&self) -> Option<SystemId> {
        self.systems.executing
    }

    /// Sets the function that receives errors and [warnings](UpdateError::is_warning) of [`update`](Self::update), which then does
    /// not panic. The function receives each error, and [`UpdateError::repeats`] returns how often it occurred in a row.
    ///
    /// The function also receives errors that occur when the world is dropped. Without a handler, these are printed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let (sender, errors) = mpsc::channel();
    /// world.set_error_handler(move |error| sender.send(error.to_string()).unwrap());
    /// world.add_system(|| Err::<(), _>("no fuel"));
    /// world.update(0.1);
    /// assert!(errors.recv().unwrap().ends_with("failed: no fuel"));
    /// ```
    pub fn set_error_handler(&mut self, handler: impl FnMut(&UpdateError) + Send + 'static) {
        self.systems.handler = Some(Box::new(handler));
    }

    pub(super) fn errors_since(&mut self, before: usize) -> Result<(), UpdateErrors> {
        if self.systems.errors.len() <= before { Ok(()) } else { self.take_errors(before) }
    }

    /// Takes the errors since an index. Reports the warnings, or keeps them for the outer update.
    #[cold]
    fn take_errors(&mut self, before: usize) -> Result<(), UpdateErrors> {
        self.systems.seen_errors = self.systems.seen_errors.min(before);
        let taken = self.systems.errors.drain(before..);
        let (warnings, errors): (Vec<_>, _) = taken.partition(UpdateError::is_warning);
        if self.systems.is_in_update() {
            self.systems.errors.extend(warnings);
        } else {
            self.report(&warnings);
        }
        if errors.is_empty() { Ok(()) } else { Err(UpdateErrors(errors)) }
    }

    /// Passes all errors and warnings to the handler, or prints them. For errors that have no caller, such as those of a world that
    /// is dropped.
    pub(super) fn report_errors(&mut self) {
        let errors = std::mem::take(&mut self.systems.errors);
        self.systems.seen_errors = 0;
        self.report(&errors);
    }

    fn report(&mut self, errors: &[UpdateError]) {
        match &mut self.systems.handler {
            Some(handler) => errors.iter().for_each(handler),
            None => errors.iter().for_each(print),
        }
    }

    /// Passes all errors and warnings to the handler. Without a handler, prints warnings, and panics with the errors.
    #[cold]
    #[track_caller]
    fn report_or_panic(&mut self) {
        if self.systems.handler.is_some() || thread::panicking() {
            return self.report_errors();
        }
        if let Err(errors) = self.take_errors(0) {
            panic!("{errors}");
        }
    }

    fn update_all(&mut self, seconds: f64) {
        self.reset_abandoned_update();
        if self.systems.is_in_update() {
            return self.fail_world(SystemFault::IsExecuting);
        }
        self.complete_jobs();
        if let Some(log) = &mut self.systems.world_errors
            && !log.begin_run(self.systems.frame)
        {
            self.systems.world_errors = None;
        }
        if let Err(error) = self.time.advance(seconds) {
            return self.fail_world(SystemFault::Time(error));
        }
        if !self.systems.captured_rates.is_empty() {
            self.systems.drop_captured_rates();
        }
        self.messages.clocks.begin_update();
        self.entities.reclaim_returned_ids();
        self.memory.advance();
        if self.systems.watcher.is_some() {
            self.notify_watcher(Moment::Begun);
        }
        if self.systems.sets.is_unchecked {
            self.check_sets();
        }
        let archetypes = self.entities.storage.archetypes.len();
        if self.systems.states.is_unchecked || archetypes != self.systems.states.checked_archetypes
        {
            self.check_states();
        }
        let Some(root) = self.systems.root else { return };
        let world = self.systems.id;
        let _guard = UpdateGuard::begin(world);
        self.begin_update();
        self.systems.is_updating = true;
        self.entities.jobs.list_scheduled(true);
        self.own_entities();
        if self.has_events() {
            self.deliver();
            if self.systems.id != world {
                return;
            }
        }
        self.run(root);
        if self.systems.id == world {
            self.messages.clocks.end_update();
            if self.systems.watcher.is_some() {
                self.notify_watcher(Moment::Ended);
            }
            self.systems.is_updating = false;
            self.entities.jobs.list_scheduled(false);
            self.raise_version();
        }
    }

    /// Advances the version of the world. Data that is written from now on counts as changed for all systems that have run,
    /// including a system that updates others and then resumes.
    #[inline]
    pub(super) fn raise_version(&mut self) {
        self.entities.storage.version = self.entities.storage.version.next();
    }

    /// Records the state to restore if the update is abandoned. Does nothing if the update is nested in another one.
    pub(super) fn begin_update(&mut self) {
        if !self.systems.is_in_update() {
            self.systems.time_depth = self.time.depth();
        }
    }

    /// Updates a system if the world has it and its flags and requirements allow it.
    #[inline]
    pub(super) fn run(&mut self, id: SystemId) {
        // Whether a system has started depends on the entities.
        self.sync_last_runs();
        match self.systems.slots.get(id.index() as usize) {
            Some(slot) if slot.generation != id.generation() => {}
            Some(slot) if slot.flags.is_ready() => self.run_ready(id),
            Some(_) => self.run_if_possible(id),
            None => {}
        }
    }

    /// Tests whether a system can run. Starts or stops the system if necessary, and updates it.
    #[inline(never)]
    fn run_if_possible(&mut self, id: SystemId) {
        let Some(slot) = self.systems.slot_mut(id) else { return };
        let flags = slot.flags;
        if flags.has(Flags::REMOVED) {
            return;
        }
        if flags.has(Flags::EXECUTING) {
            return self.systems.fail(id, SystemFault::IsExecuting);
        }
        if flags.has(Flags::DONE) {
            return;
        }
        if !flags.has(Flags::ENABLED) || !self.has_requirements(id) {
            return self.stop(id);
        }
        if flags.has(Flags::HAS_ERRORS) {
            self.systems.begin_logged_run(id);
        }
        // The conditions of a group are tested before each of its steps.
        let has_conditions = flags.has(Flags::CONDITIONS);
        let is_conditional_group = has_conditions && flags.has(Flags::GROUP);
        if has_conditions && !is_conditional_group && !self.conditions_hold(id) {
            return self.stop(id);
        }
        if !flags.has(Flags::STARTED) && !is_conditional_group && !self.start(id) {
            return;
        }
        if flags.has(Flags::GROUP) {
            self.run_group(id);
        } else if flags.has(Flags::POINT) {
            let world = self.systems.id;
            self.run_point(id);
            if self.systems.id == world {
                self.after_system(id);
            }
        } else {
            self.run_ready(id);
        }
    }

    /// Starts a system. Returns whether it can run: it was not removed, and its callback did not fail.
    fn start(&mut self, id: SystemId) -> bool {
        if let Some(slot) = self.systems.slot_mut(id) {
            slot.flags.set(Flags::STARTED, true);
        }
        let started = self.call_system(id, |system, world| system.start(world));
        !self.finish_removal(id) && started
    }

    /// Tests whether the requirements of a system are met.
    fn has_requirements(&mut self, id: SystemId) -> bool {
        let entities = &self.entities;
        let Some(slot) = self.systems.slot_mut(id) else { return false };
        if !slot.flags.has(Flags::REQUIRES) {
            return true;
        }
        let system = &mut slot.system;
        let Some(record) = &mut slot.record else { return false };
        record.requirements.are_met(entities, || system.as_mut()?.has_entities(entities))
    }

    /// Updates a function system or a struct system whose requirements are met.
    #[inline]
    fn run_ready(&mut self, id: SystemId) {
        self.execute(id, |system, world, since| system.update(world, since));
    }

    /// Ends the update of a system whose commands need the system table.
    #[cold]
    pub(super) fn finish_system(&mut self, id: SystemId) {
        self.execute(id, |system, world, _| system.finish(world));
    }

    /// Calls a function with a system that is moved out of its slot, and the version of its last run.
    #[inline(always)]
    pub(super) fn execute(
        &mut self,
        id: SystemId,
        function: impl FnOnce(&mut dyn ErasedSystem, &mut Self, Version) -> Outcome,
    ) {
        let started = if self.systems.profiles { Some(Instant::now()) } else { None };
        self.sync_last_runs();
        let Some(slot) = self.systems.slots.get_mut(id.index() as usize) else { return };
        let Some(mut system) = slot.system.take() else { return };
        slot.flags.set(Flags::EXECUTING, true);
        let since = slot.last_run;
        let outer = self.systems.executing.replace(id);
        let outer_since = std::mem::replace(&mut self.systems.since, since);
        let entities = self.systems.entities;
        if outer.is_some() {
            self.collect_jobs(outer);
        }
        self.raise_version();
        let (world, floors) = (self.systems.id, self.time.raise_floor());
        let outcome = catch_unwind(AssertUnwindSafe(|| function(&mut *system, self, since)));
        if self.systems.id != world {
            return self.report_replaced_world(system);
        }
        self.resume_outer(outer, outer_since, entities);
        self.time.unwind_to_floor(floors);
        let version = self.entities.storage.version;
        match self.systems.slot_mut(id) {
            Some(slot) => {
                slot.system = Some(system);
                slot.flags.set(Flags::EXECUTING, false);
                if has_run(&outcome) {
                    slot.last_run = version;
                }
            }
            // The slot is missing, although an executing system is only marked as removed. So the world was moved during the call,
            // and updated elsewhere.
            None => {
                let name: Arc<str> = system.name().into();
                return self.drop_catching(&name, system);
            }
        }
        if !matches!(outcome, Ok(Ok(()))) {
            self.report_outcome(id, outcome);
        }
        if let Some(started) = started {
            self.systems.record_time(id, started);
        }
        self.after_system(id);
    }

    /// Records the fault or panic of a system, if it failed.
    #[cold]
    pub(super) fn report_outcome(&mut self, id: SystemId, outcome: thread::Result<Outcome>) {
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => self.systems.fail(id, *fault),
            Err(payload) => {
                let message = panic_message(&*payload);
                discard(payload);
                self.systems.fail(id, SystemFault::Panicked { message });
            }
        }
        for fault in std::mem::take(&mut self.systems.other_faults) {
            self.systems.fail(id, fault);
        }
    }

    /// Ends the update of a system that is not a group: starts its jobs, and runs patches.
    #[inline]
    fn after_system(&mut self, id: SystemId) {
        self.start_jobs(id);
        if self.has_events() {
            let world = self.systems.id;
            self.deliver();
            if self.systems.id != world {
                return;
            }
        }
        if self.systems.watcher.is_some() {
            self.notify_after(id);
        }
        let Some(slot) = self.systems.slots.get(id.index() as usize) else { return };
        let flags = slot.flags;
        if flags.has(Flags::REMOVED) {
            self.remove_or_defer(id);
        }
        if !self.systems.patches.is_empty() && !flags.has(Flags::PATCH) {
            self.run_patches();
        }
    }

    #[cold]
    fn run_patches(&mut self) {
        let (world, patches) = (self.systems.id, Arc::clone(&self.systems.patches));
        for &patch in patches.iter() {
            // A patch that updates other systems does not run after them.
            let is_free = |slot: &crate::world::SystemSlot| !slot.flags.has(Flags::EXECUTING);
            if self.systems.slot(patch).is_some_and(is_free) {
                self.run(patch);
            }
            if self.systems.id != world {
                return;
            }
        }
    }

    /// Updates the systems of a group at the group's rate.
    fn run_group(&mut self, id: SystemId) {
        if let Err(fault) = self.sort(id) {
            return self.systems.fail(id, *fault);
        }
        if self.skips_idle_turn(id) {
            return;
        }
        if self.systems.startup == Some(id) {
            return self.run_startup(id);
        }
        let started = self.systems.profiles.then(Instant::now);
        let world = self.systems.id;
        let Some(slot) = self.systems.slot_mut(id) else { return };
        let Some(children) = slot.record.as_mut().map(|record| &mut record.children) else {
            return;
        };
        let has_rate = children.rate.is_some();
        // The callback of a group takes the list itself.
        let has_callbacks = slot.system.is_some();
        let sorted = if has_callbacks { None } else { children.sorted.take() };
        slot.flags.set(Flags::EXECUTING, true);
        if has_rate {
            self.run_at_rate(id, sorted.as_deref());
        } else {
            self.run_step(id, sorted.as_deref());
        }
        if self.systems.id != world {
            return;
        }
        let version = self.entities.storage.version;
        // The group may have been removed or sorted during the update.
        if let Some(slot) = self.systems.slot_mut(id) {
            slot.flags.set(Flags::EXECUTING, false);
            // The conditions of a group compare with its last step, not with its last turn.
            let has_stepped = !has_rate && slot.flags.has(Flags::STARTED);
            if !slot.flags.has(Flags::CONDITIONS) || has_stepped {
                slot.last_run = version;
            }
            if let (Some(record), Some(sorted)) = (&mut slot.record, sorted) {
                record.children.sorted.get_or_insert(sorted);
            }
        }
        if let Some(started) = started {
            self.systems.record_time(id, started);
        }
    }

    /// Runs one step of a group, if its conditions hold. `sorted` is `None` if the group has callbacks.
    #[inline]
    fn run_step(&mut self, id: SystemId, sorted: Option<&[SystemId]>) {
        let flags =
            self.systems.slots.get(id.index() as usize).map_or(Flags::NONE, |slot| slot.flags);
        if flags.has(Flags::CONDITIONS) && !self.begin_conditional_step(id) {
            return;
        }
        if flags.has(Flags::STATES) {
            let world = self.systems.id;
            self.apply_state_requests(id);
            if self.systems.id != world {
                return;
            }
        }
        match sorted {
            Some(sorted) => self.run_children(sorted),
            None => self.run_callback_of_group(id),
        }
    }

    /// Tests the conditions of a group before a step, and starts or stops the group. Returns whether the step takes place.
    #[inline(never)]
    fn begin_conditional_step(&mut self, id: SystemId) -> bool {
        self.sync_last_runs();
        if !self.conditions_hold(id) {
            self.stop(id);
            return false;
        }
        let has_started = self.systems.slot(id).map(|slot| slot.flags.has(Flags::STARTED));
        has_started.is_some_and(|has_started| has_started || self.start(id))
    }

    #[inline(never)]
    fn run_callback_of_group(&mut self, id: SystemId) {
        let since = self.systems.slot(id).map_or(Version::NEVER, |slot| slot.last_run);
        let world = self.systems.id;
        self.call_system(id, |system, world| system.update(world, since));
        if self.systems.id == world && self.has_events() {
            self.deliver();
        }
    }

    /// Updates the systems of the group whose [`on_update`](crate::SystemGroup::on_update) is being called, once.
    ///
    /// # Panics
    ///
    /// Panics with A0221 outside of `on_update` of a group.
    ///
    /// # Examples
    ///
    /// See [`SystemGroup`](crate::SystemGroup).
    #[track_caller]
    pub fn update_members(&mut self) {
        let executing = self.systems.executing;
        let world = self.systems.id;
        let Some((id, sorted)) = executing.and_then(|id| {
            let slot = self.systems.slot_mut(id)?;
            let is_callback = slot.flags.has(Flags::GROUP) && slot.flags.has(Flags::EXECUTING);
            let sorted = slot.record.as_mut()?.children.sorted.take();
            is_callback.then_some((id, sorted?))
        }) else {
            panic!(
                "A0221: `update_members` was called outside of a group; call it in `on_update` of a `SystemGroup`, and use \
                 `update_system` elsewhere"
            );
        };
        self.run_children(&sorted);
        if self.systems.id == world
            && let Some(record) = self.systems.record_mut(id)
        {
            record.children.sorted.get_or_insert(sorted);
        }
    }

    fn run_children(&mut self, sorted: &[SystemId]) {
        let world = self.systems.id;
        let mut rest = sorted;
        loop {
            rest = &rest[self.run_fast_path(rest)..];
            if self.systems.id != world {
                return;
            }
            if self.entities.storage.lifecycle.is_pending() {
                self.deliver();
                if self.systems.id != world {
                    return;
                }
            }
            let [child, others @ ..] = rest else { return };
            self.run(*child);
            if self.systems.id != world {
                return;
            }
            rest = others;
        }
    }

    /// Updates the systems of a group. The rate manager returns the number and the times of the updates.
    fn run_at_rate(&mut self, id: SystemId, sorted: Option<&[SystemId]>) {
        if self.time.stands_still() && !self.runs_while_paused(id) {
            return;
        }
        let (world, time) = (self.systems.id, self.time.current());
        let maximum_delta = self.time.maximum_delta();
        let mut updates = 0;
        while let Some(next) = self.next_update(id, RateTurn { time, maximum_delta, updates }) {
            let depth = self.time.depth();
            if let Err(error) = self.time.push(next) {
                return self.systems.fail(id, SystemFault::RateTime(error));
            }
            let outer = self.enter_step(id);
            let outer_clock = self.enter_clock(id);
            self.run_step(id, sorted);
            if self.systems.id != world {
                return;
            }
            self.messages.clocks.leave_step(outer_clock);
            self.mark_step(id);
            self.memory.leave_group(outer);
            self.time.unwind_to(depth);
            updates += 1;
            if self.has_stopped_on_error(id) {
                return;
            }
        }
    }

    /// Counts a step of a group with a rate, for the lifetime of messages. Returns the clock of the enclosing group.
    fn enter_clock(&mut self, id: SystemId) -> ClockId {
        let clocks = &mut self.messages.clocks;
        match self.systems.record_mut(id) {
            Some(record) => {
                let clock = *record.children.clock.get_or_insert_with(|| clocks.add());
                clocks.enter_step(clock)
            }
            None => clocks.current(),
        }
    }

    /// Records the version of a step of a group with conditions, so that the conditions of its next step see later changes only.
    #[inline]
    fn mark_step(&mut self, id: SystemId) {
        let version = self.entities.storage.version;
        if let Some(slot) = self.systems.slot_mut(id)
            && slot.flags.has(Flags::CONDITIONS)
            && slot.flags.has(Flags::STARTED)
        {
            slot.last_run = version;
        }
    }

    /// Tests whether the rate manager of a group updates the group while the world is paused.
    #[cold]
    fn runs_while_paused(&mut self, id: SystemId) -> bool {
        let rate = self.systems.record(id).and_then(|record| record.children.rate.as_ref());
        let Some(rate) = rate else { return true };
        match catch_unwind(AssertUnwindSafe(|| rate.runs_while_paused())) {
            Ok(runs) => runs,
            Err(payload) => {
                self.report_outcome(id, Err(payload));
                false
            }
        }
    }

    fn has_stopped_on_error(&self, id: SystemId) -> bool {
        let flags = self.systems.slot(id).map(|slot| slot.flags);
        flags.is_some_and(|flags| flags.has(Flags::STOPS_ON_ERROR) && !flags.has(Flags::ENABLED))
    }

    fn next_update(&mut self, id: SystemId, turn: RateTurn) -> Option<Time> {
        let children = &mut self.systems.record_mut(id)?.children;
        if turn.updates == 0 {
            children.rate_is_new = false;
        } else if children.rate_is_new {
            // If a system sets the rate in each step, restarting the turn each time would never end.
            return None;
        }
        let rate = children.rate.as_mut()?;
        match catch_unwind(AssertUnwindSafe(|| rate.next_update(turn))) {
            Ok(next) => next,
            Err(payload) => {
                self.report_outcome(id, Err(payload));
                None
            }
        }
    }

    /// Begins a step of a group. Memory that its systems allocate lives until the end of the group's next step. Returns the
    /// allocator to restore after the step.
    pub(super) fn enter_step(&mut self, group: SystemId) -> Option<Allocator> {
        match self.systems.record_mut(group) {
            Some(record) => self.memory.enter_group(&mut record.children.memory),
            None => self.memory.of_group(),
        }
    }
}

impl Systems {
    #[cold]
    pub(super) fn record_time(&mut self, id: SystemId, started: Instant) {
        let took = started.elapsed();
        if let Some(record) = self.record_mut(id) {
            record.profile.runs += 1;
            record.profile.last = took;
            record.profile.total += took;
        }
    }
}

/// Tests whether a system was called. If it was not, its last run stays the same.
#[inline]
pub(super) fn has_run(outcome: &thread::Result<Outcome>) -> bool {
    !matches!(outcome, Ok(Err(fault)) if fault.is_before_run())
}

/// Prints an error, unless it repeats. Ignores errors of the output, such as a closed pipe.
fn print(error: &UpdateError) {
    if let Some(line) = line_of(error) {
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

/// Returns the printed line of an error that occurs for the first, tenth, hundredth … time in a row. `None` at other times.
fn line_of(error: &UpdateError) -> Option<String> {
    match error.repeats {
        1 => Some(format!("{error}\n")),
        repeats if repeats == 10_u64.pow(repeats.ilog10()) => {
            Some(format!("{error} ({repeats} times in a row)\n"))
        }
        _ => None,
    }
}

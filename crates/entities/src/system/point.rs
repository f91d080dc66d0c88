//! Command points: systems that play recorded command buffers.

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use ancho_jobs::{CellConcurrent, current_job};

use super::param::ParamBuffer;
use crate::commands::{CommandLog, Commands, EntityCommandBuffer};
use crate::panics::discard;
use crate::schedule::{Points, SystemFault, SystemId, WaitingBuffer, panic_message};
use crate::world::{Record, World};

/// A point of the update at which recorded commands play, identified by its type.
///
/// A point is added like a system. Systems record commands for it with [`CommandsAt`](crate::CommandsAt) and
/// [`World::commands_at`](crate::World::commands_at). The point waits for the recording jobs only, then plays the buffers in the
/// order in which they were created. If a recording job panics, its commands are dropped, and the point reports the panic (A0107).
/// If commands of a buffer fail, the other buffers are still played, and one error names the recording systems. Commands for
/// despawned entities are skipped, with a [warning](crate::UpdateError::is_warning) for the recording system. A
/// [disabled](EntityCommandBuffer::set_should_play) buffer is skipped. Unity's `EntityCommandBufferSystem`.
///
/// Each built-in [group](crate::SystemGroup) has a point at its beginning and its end, except that
/// [`Presentation`](crate::Presentation) has none at its end. Other groups have the points that are added to them.
///
/// # Examples
///
/// ```
/// use ancho_entities::{CommandPoint, CommandsAt, Component, IntoSystem, Query, ResMut, Resource, World};
///
/// struct AfterBirth;
///
/// impl CommandPoint for AfterBirth {}
///
/// #[derive(Component)]
/// struct Orc;
///
/// #[derive(Resource, Clone)]
/// struct Counts(Vec<usize>);
///
/// fn bear(mut commands: CommandsAt<AfterBirth>) {
///     commands.commands().spawn(Orc);
/// }
///
/// fn count(orcs: Query<&Orc>, mut counts: ResMut<Counts>) {
///     counts.0.push(orcs.count());
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Counts(Vec::new()));
/// world.add_system(AfterBirth);
/// world.add_system(bear.before(AfterBirth));
/// world.add_system(count.after(bear).before(AfterBirth));
/// world.add_system(count.after(AfterBirth));
/// world.update(0.1);
/// assert_eq!(world.resource::<Counts>().0, [0, 1]);
/// ```
#[doc(alias = "EntityCommandBufferSystem")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a command point",
    label = "not a command point",
    note = "points of the built-in groups are `BeginSimulation`, `EndSimulation`, `EndFixedStep` and others; for a point of your \
            own, write `impl CommandPoint for {Self} {{}}`, and add it with `add_system`"
)]
pub trait CommandPoint: Sized + Send + 'static {
    /// Returns the name that errors and tools show.
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

named_units! {
    CommandPoint:
    /// The beginning of [`Initialization`](crate::Initialization).
    #[doc(alias = "BeginInitializationEntityCommandBufferSystem")]
    BeginInitialization,
    /// The end of [`Initialization`](crate::Initialization).
    #[doc(alias = "EndInitializationEntityCommandBufferSystem")]
    EndInitialization,
    /// The beginning of [`Simulation`](crate::Simulation).
    #[doc(alias = "BeginSimulationEntityCommandBufferSystem")]
    BeginSimulation,
    /// The end of [`Simulation`](crate::Simulation).
    #[doc(alias = "EndSimulationEntityCommandBufferSystem")]
    EndSimulation,
    /// The beginning of [`FixedStep`](crate::FixedStep).
    BeginFixedStep,
    /// The end of [`FixedStep`](crate::FixedStep).
    EndFixedStep,
    /// The beginning of [`VariableStep`](crate::VariableStep).
    BeginVariableStep,
    /// The end of [`VariableStep`](crate::VariableStep).
    EndVariableStep,
    /// The beginning of [`Presentation`](crate::Presentation).
    #[doc(alias = "BeginPresentationEntityCommandBufferSystem")]
    BeginPresentation,
}

/// Recorder of commands that play at a [`CommandPoint`], on the main thread and in jobs.
///
/// Each run of a system has its own buffer, and buffers play in the order in which their systems ran. The point waits for the
/// recording jobs. The commands of a job that panics, or of a system that fails, are dropped. This is Unity's
/// `EntityCommandBufferSystem.CreateCommandBuffer`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{CommandsAt, Component, EndSimulation, Entity, Query, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// fn bury(all: Query<(Entity, &Health)>, mut commands: CommandsAt<EndSimulation>) {
///     let job = all.job().with(commands.writer());
///     job.schedule_parallel(|(entity, health), commands| {
///         if health.0 == 0 {
///             commands.despawn(entity);
///         }
///     });
/// }
///
/// let mut world = World::new("Simulation");
/// world.spawn_batch((0..100).map(|number| Health(number % 10)));
/// world.add_system(bury);
/// world.update(0.1);
/// assert_eq!(world.entity_count(), 90);
/// ```
#[doc(alias = "EntityCommandBufferSystem")]
#[doc(alias = "ApplyDeferred")]
pub struct CommandsAt<'s, P: CommandPoint> {
    buffer: ParamBuffer<'s>,
    point: PhantomData<fn() -> P>,
}

impl<'s, P: CommandPoint> CommandsAt<'s, P> {
    pub(super) fn new(buffer: ParamBuffer<'s>) -> Self {
        Self { buffer, point: PhantomData }
    }
}

impl<P: CommandPoint> CommandsAt<'_, P> {
    /// Records commands on this thread. Created entities get their ids immediately.
    ///
    /// # Panics
    ///
    /// Panics with A0003 if a recording job has not been completed. To record on this thread and in a job, take two parameters.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{BeginSimulation, CommandsAt, World};
    ///
    /// fn spawn_later(mut later: CommandsAt<BeginSimulation>) {
    ///     later.commands().spawn(());
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(spawn_later);
    /// world.update(0.1);
    /// assert_eq!(world.entity_count(), 0, "the point comes in the next update");
    /// world.update(0.1);
    /// assert_eq!(world.entity_count(), 1);
    /// ```
    #[track_caller]
    pub fn commands(&mut self) -> Commands<'_> {
        match self.buffer.commands() {
            Ok(commands) => commands,
            Err(error) => panic!("{error}"),
        }
    }

    /// Sets whether the commands of this run are played. If false, the point drops them. See
    /// [`EntityCommandBuffer::set_should_play`].
    pub fn set_should_play(&mut self, should_play: bool) {
        self.buffer.buffer.set_should_play(should_play);
    }

    /// Returns a token for jobs that record commands. Entities that the jobs create have placeholders.
    pub fn writer(&mut self) -> CellConcurrent<'_, CommandLog> {
        self.buffer.buffer.writer()
    }
}

impl<P: CommandPoint> fmt::Debug for CommandsAt<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommandsAt<{}>", type_name::<P>())
    }
}

impl Points {
    /// Returns the index of a point, which never changes.
    pub(crate) fn place_of<P: CommandPoint>(&mut self) -> u32 {
        self.place(TypeId::of::<P>(), P::name())
    }
}

impl World {
    /// Creates a buffer whose commands play at a command point. Jobs can record in the buffer, too. Buffers play in the order in
    /// which they were created.
    ///
    /// The commands play even if the system fails afterwards, unlike those of the parameter [`CommandsAt`](crate::CommandsAt). To
    /// prevent it, call [`set_should_play`](EntityCommandBuffer::set_should_play).
    ///
    /// # Errors
    ///
    /// Returns A0114 if the world does not have the point.
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
    ) -> Result<&mut EntityCommandBuffer, crate::schedule::SystemError> {
        self.add_default_groups();
        let place = self.systems.points.place_of::<P>();
        let refused = |_| crate::schedule::SystemError::NoSuchPoint { point: P::name() };
        let buffer = self.systems.points.take_buffer(place).map_err(refused)?;
        let recorder = self.systems.executing;
        let name = recorder.map_or_else(|| "the program".into(), |id| self.systems.name_of(id));
        let waiting = &mut self.systems.points.get_mut(place).waiting;
        waiting.push(WaitingBuffer { buffer, recorder, name });
        let last = waiting.last_mut().expect("it was just put there");
        Ok(&mut last.buffer)
    }

    /// Plays the buffers that wait for a point.
    pub(super) fn run_point(&mut self, id: SystemId) {
        let Some(place) = self.systems.record(id).and_then(|record: &Record| record.point) else {
            return;
        };
        let world = self.systems.id;
        self.observers.holds += 1;
        self.play_waiting(id, place);
        if self.systems.id != world {
            return;
        }
        self.observers.holds -= 1;
        if !self.observers.masks.is_empty() {
            self.compare_masks();
        }
    }

    /// Plays the buffers that wait for a point.
    fn play_waiting(&mut self, id: SystemId, place: u32) {
        if self.systems.points.is_idle(place) {
            return;
        }
        let mut waiting = std::mem::take(&mut self.systems.points.get_mut(place).waiting);
        let started = self.systems.profiles.then(Instant::now);
        self.raise_version();
        let mut failed = Vec::new();
        let world = self.systems.id;
        let mut buffers = waiting.drain(..);
        while let Some(WaitingBuffer { mut buffer, recorder, name }) = buffers.next() {
            self.complete_recording(&buffer, recorder);
            let at = Location::caller();
            // Commands that need the world may push times, or replace the world.
            let needs_world = buffer.needs_world();
            let floors = needs_world.then(|| self.time.raise_floor());
            let played = catch_unwind(AssertUnwindSafe(|| buffer.play_in(self, at)));
            if self.systems.id != world {
                self.systems.fail_as(Arc::clone(&name), SystemFault::WorldExchanged);
                // The other buffers were recorded for the world that is not here any more.
                let others = buffers.map(|other| other.buffer).chain([buffer]);
                for buffer in others.collect::<Vec<_>>() {
                    self.drop_catching(&name, buffer);
                }
                return;
            }
            if let Some(floors) = floors {
                self.time.unwind_to_floor(floors);
            }
            match played {
                Ok(played) => {
                    if let Some(skipped) = SystemFault::skipped_commands(&played) {
                        match recorder.filter(|&id| self.systems.slot(id).is_some()) {
                            Some(id) => self.systems.fail(id, skipped),
                            None => self.systems.fail_as(Arc::clone(&name), skipped),
                        }
                    }
                    if let Err(error) = played {
                        failed.push((Arc::clone(&name), error.of_system().to_string()));
                    }
                }
                Err(payload) => failed.push((Arc::clone(&name), panic_error(payload))),
            }
            // Clearing the buffer drops values that were not played, which runs user code.
            match catch_unwind(AssertUnwindSafe(|| buffer.clear())) {
                Ok(Ok(())) => self.systems.points.recycle(place, buffer),
                Ok(Err(_)) => {}
                Err(payload) => {
                    failed.push((name, panic_error(payload)));
                    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(buffer))) {
                        discard(payload);
                    }
                }
            }
        }
        drop(buffers);
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
            self.systems.record_time(id, started);
        }
    }

    /// Completes the jobs that record in a buffer, and their dependencies. Reports failures.
    fn complete_recording(&mut self, buffer: &EntityCommandBuffer, recorder: Option<SystemId>) {
        let scheduler = self.entities.jobs();
        // A job of another scheduler is completed by its owner. Until then, playback refuses the buffer.
        let mut jobs = buffer.recording_jobs().filter(|&job| scheduler.knows(job));
        let Some(last) = jobs.next_back() else { return };
        // Inside a job of another scheduler, no job can be completed. Then playback refuses the buffer, too.
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
        // The dependencies may be jobs of other systems.
        self.report_completed_jobs();
    }
}

/// Returns the message of a panic as an error.
fn panic_error(payload: Box<dyn std::any::Any + Send>) -> String {
    let message = format!("panicked: {}", panic_message(&*payload));
    discard(payload);
    message
}

//! Command buffers, and the log that they share with recording jobs.

use std::fmt;
use std::mem;
use std::panic::Location;
use std::sync::Arc;

use ancho_collections::{Container, Lanes, Native, ParallelWriter};
use ancho_jobs::{
    BatchInfo, CellConcurrent, ConcurrentWrite, ContainerLabel, JobHandle, current_job,
};

use super::error::{CommandError, already_played};
use super::playback::Segment;
use super::recorder::{CommandRecorder, Commands};
use super::report::{PlaybackReport, Unapplied};
use super::resolved_ids::{LaneIds, ResolvedIds, UncreatedIds};
use super::world_command::PlaybackHost;
use crate::entity::Entity;
use crate::manager::{DistinctEntities, EntityManager, ReturnedIds};
use crate::panics::FirstPanic;
use crate::placeholder::BufferStamps;

/// Buffer of commands: operations on entities that are recorded now and applied together later.
///
/// A world cannot be changed during a query loop or from a job. Commands are recorded instead:
///
/// - on the main thread, with the world: [`EntityManager::commands`](crate::EntityManager::commands). Created entities get their
///   ids immediately, and exist after playback.
/// - on the main thread, without the world, as in a loop that borrows it: [`commands`](Self::commands). Created entities have
///   *placeholders*, which can be used in later commands and in the values of components. After playback,
///   [`resolve`](Self::resolve) returns the entity of a placeholder.
/// - in jobs, on one or many threads: [`writer`](Self::writer), with placeholders too.
///
/// [`EntityManager::play`](crate::EntityManager::play) applies all commands in the order in which they were recorded. Before that,
/// created entities without ids get theirs, so values may refer to entities that later commands create. Commands for despawned
/// entities are skipped, and other commands that fail are reported together. A strict world stops at the first command that fails.
/// Afterwards the buffer cannot be used until it is [cleared](Self::clear), which keeps its memory.
///
/// This is Unity's `EntityCommandBuffer`.
///
/// # Determinism
///
/// Commands of a parallel job are applied in the order of its indices, or of chunks and their entities, for any number of threads.
/// [Sort keys](CommandRecorder::set_sort_key) are optional.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Entity, EntityCommandBuffer, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Grave(u32);
///
/// let mut world = World::new("Simulation");
/// world.spawn_batch((0..1000).map(|number| Health(number % 10)));
/// let mut buffer = EntityCommandBuffer::new();
/// let query = world.query::<(Entity, &Health)>();
/// let bury = query.job().with(buffer.writer()).schedule_parallel(|(entity, health), commands| {
///     if health.0 == 0 {
///         commands.despawn(entity);
///         commands.spawn(Grave(entity.index()));
///     }
/// });
/// world.jobs().complete(bury);
/// world.play(&mut buffer)?;
/// assert_eq!(world.query::<&Health>().count(), 900);
/// assert_eq!(world.query::<&Grave>().count(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EntityCommandBuffer {
    log: Native<CommandLog>,
    should_play: bool,
    /// Recording jobs, except the last one.
    earlier_jobs: Vec<JobHandle>,
}

impl EntityCommandBuffer {
    /// Creates a buffer that is played once and then cleared.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{EntityCommandBuffer, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.spawn(());
    /// world.play(&mut buffer)?;
    /// assert!(buffer.commands().is_err(), "it was played");
    /// buffer.clear()?;
    /// buffer.commands()?.spawn(());
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Self {
            log: Native::of(CommandLog::new(false)),
            should_play: true,
            earlier_jobs: Vec::new(),
        }
    }

    /// Creates a buffer that can be played several times, even in different worlds. It records nothing after the first playback.
    ///
    /// Each playback duplicates the recorded values, as [`instantiate`](crate::EntityManager::instantiate) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut wave = EntityCommandBuffer::reusable();
    /// wave.commands()?.spawn_many(Health(20), 10);
    /// let (mut one, mut other) = (World::new("one"), World::new("other"));
    /// one.play(&mut wave)?;
    /// one.play(&mut wave)?;
    /// other.play(&mut wave)?;
    /// assert_eq!((one.entity_count(), other.entity_count()), (20, 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn reusable() -> Self {
        Self { log: Native::of(CommandLog::new(true)), should_play: true, earlier_jobs: Vec::new() }
    }

    /// Names the buffer in error messages.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Entity, EntityCommandBuffer, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new().named("loot");
    /// buffer.commands()?.add(Entity::NULL, ());
    /// let error = world.play(&mut buffer).unwrap_err();
    /// assert!(error.to_string().contains("loot"));
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { log: self.log.named(name), ..self }
    }

    /// Returns the label of the buffer in error messages.
    pub fn label(&self) -> ContainerLabel {
        self.log.label()
    }

    /// Records commands on this thread, without a world: created entities have placeholders.
    ///
    /// # Errors
    ///
    /// Returns an error if an incomplete job records in the buffer (A0003), or the buffer was played (A0080).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Leader(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// let commands = buffer.commands()?;
    /// let king = commands.spawn(());
    /// let knight = commands.spawn(Leader(king));
    /// world.play(&mut buffer)?;
    /// let (king, knight) = (buffer.resolve(king).unwrap(), buffer.resolve(knight).unwrap());
    /// assert_eq!(world.get(knight), Ok(&Leader(king)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn commands(&mut self) -> Result<&mut CommandRecorder, CommandError> {
        Ok(self.log_for_recording()?.main_lane())
    }

    /// Returns the log, or an error if commands cannot be recorded.
    pub(super) fn log_for_recording(&mut self) -> Result<&mut CommandLog, CommandError> {
        let buffer = self.label();
        let log = self.log.get_mut().map_err(CommandError::InUse)?;
        if log.is_played {
            return Err(CommandError::AlreadyPlayed { buffer });
        }
        Ok(log)
    }

    /// Returns a token for jobs that record commands: a single job, or all batches of a parallel job.
    ///
    /// The job gets a [`CommandRecorder`]. It panics with A0080 if the buffer was played.
    ///
    /// If the job panics in any batch, all commands of the job are discarded. Commands of other jobs are kept.
    pub fn writer(&mut self) -> CellConcurrent<'_, CommandLog> {
        // A token borrows the buffer, so the job of the previous token is the last recording job when the next token is created.
        if let Some(last) = self.log.last_writer()
            && self.earlier_jobs.last() != Some(&last)
        {
            self.earlier_jobs.push(last);
        }
        self.log.writer()
    }

    /// Returns the entity of a placeholder, after playback and until the buffer is cleared.
    ///
    /// Returns `None` for placeholders of other buffers, and for entities whose commands failed or were skipped. Entities that are
    /// not placeholders are returned unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{EntityCommandBuffer, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// let orc = buffer.commands()?.spawn(());
    /// assert_eq!(buffer.resolve(orc), None, "not played yet");
    /// world.play(&mut buffer)?;
    /// assert!(world.exists(buffer.resolve(orc).unwrap()));
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    pub fn resolve(&self, entity: Entity) -> Option<Entity> {
        let log = self.log.get().ok()?;
        if !entity.is_placeholder() {
            return Some(entity);
        }
        if log.is_played { log.resolve(entity) } else { None }
    }

    /// Returns the number of recorded commands, or 0 while a job records.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{EntityCommandBuffer, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// let commands = buffer.commands()?;
    /// let orc = commands.spawn(());
    /// commands.set_name(orc, "Grishnákh");
    /// assert_eq!(buffer.len(), 2);
    /// world.play(&mut buffer)?;
    /// assert_eq!(buffer.len(), 0);
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    pub fn len(&self) -> usize {
        self.log.get().map_or(0, |log| if log.is_played && !log.reusable { 0 } else { log.len() })
    }

    /// Returns whether [`len`](Self::len) is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets whether playing the buffer applies its commands. The default is true.
    ///
    /// Playing a disabled buffer changes neither the world nor the buffer: the buffer can be enabled again and played. A
    /// [`CommandPoint`](crate::CommandPoint) skips a disabled buffer and discards its commands. [`clear`](Self::clear) drops the
    /// commands and enables the buffer again. This is Unity's `ShouldPlayback`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.spawn(Orc);
    /// buffer.set_should_play(false);
    /// world.play(&mut buffer)?;
    /// assert_eq!((world.entity_count(), buffer.len()), (0, 1));
    ///
    /// buffer.set_should_play(true);
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.entity_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_should_play(&mut self, should_play: bool) {
        self.should_play = should_play;
    }

    /// Returns whether playing the buffer applies its commands: see [`set_should_play`](Self::set_should_play).
    pub fn should_play(&self) -> bool {
        self.should_play
    }

    /// Removes all commands, so that the buffer can be used again. Drops commands that were not played. Keeps the memory.
    ///
    /// [Enables](Self::set_should_play) the buffer.
    ///
    /// # Errors
    ///
    /// Returns an error if an incomplete job records in the buffer (A0003).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{EntityCommandBuffer, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.spawn_many((), 10);
    /// buffer.clear()?;
    /// buffer.commands()?.spawn(());
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.entity_count(), 1);
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    pub fn clear(&mut self) -> Result<(), CommandError> {
        let log = self.log.get_mut().map_err(CommandError::InUse)?;
        self.should_play = true;
        self.earlier_jobs.clear();
        log.clear();
        Ok(())
    }

    /// Tests whether a command needs the world.
    pub(crate) fn needs_world(&self) -> bool {
        self.log.get().is_ok_and(|log| log.lanes.iter().any(|lane| lane.needs_world))
    }

    /// Applies the commands to a host: see [`EntityManager::play`].
    pub(crate) fn play_in(
        &mut self,
        host: &mut dyn PlaybackHost,
        at: &'static Location<'static>,
    ) -> Result<PlaybackReport, CommandError> {
        let label = self.label();
        let log = self.log.get_mut().map_err(CommandError::InUse)?;
        if !self.should_play {
            return Ok(PlaybackReport::new(label, at, None));
        }
        let entities = host.entities();
        entities.reclaim_returned_ids();
        if log.is_played && !log.reusable {
            return Err(CommandError::AlreadyPlayed { buffer: label });
        }
        if log.is_reserved_by_other(entities.reserved_ids.returned_if_any()) {
            return Err(CommandError::OtherWorld { buffer: label });
        }
        if log.len() == 0 {
            return Ok(PlaybackReport::new(label, at, None));
        }
        let report = PlaybackReport::new(label, at, log.play(host));
        if report.failed() > 0 { Err(CommandError::Failed(Box::new(report))) } else { Ok(report) }
    }

    /// Tests whether an incomplete job records in the buffer.
    pub(crate) fn is_in_use(&self) -> bool {
        self.log.get().is_err()
    }

    /// Iterates over the recording jobs in order. All of them have finished when the last one has.
    pub(crate) fn recording_jobs(&self) -> impl DoubleEndedIterator<Item = JobHandle> {
        self.earlier_jobs.iter().copied().chain(self.log.last_writer())
    }

    /// Describes all commands in words, one per line, in the order of playback.
    ///
    /// If the buffer is [disabled](Self::set_should_play), the first line says so.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component)]
    /// #[component(name = "Health")]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(());
    /// let mut buffer = EntityCommandBuffer::new();
    /// let commands = buffer.commands()?;
    /// commands.add(orc, Health(20));
    /// commands.despawn(orc);
    /// assert_eq!(buffer.trace(), "1: add `Health` to 0v1\n2: despawn 0v1\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace(&self) -> String {
        let trace = self.log.get().map_or_else(|error| error.to_string(), CommandLog::trace);
        if self.should_play { trace } else { format!("not to be played:\n{trace}") }
    }
}

impl Default for EntityCommandBuffer {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for EntityCommandBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.log.get() {
            Ok(_) => f
                .debug_struct("EntityCommandBuffer")
                .field("commands", &self.len())
                .field("should_play", &self.should_play)
                .finish(),
            Err(error) => write!(f, "EntityCommandBuffer({})", error.summary()),
        }
    }
}

impl EntityManager {
    /// Records commands on this thread: created entities get their ids immediately, and exist after playback.
    ///
    /// The ids are those of the next entities. If the buffer is dropped or cleared before playback, no entity ever gets these ids:
    /// their indices are reused with other versions, from the next [`play`](Self::play) or
    /// [`advance_version`](Self::advance_version) on. A fork never reuses their indices. For ids that do not depend on the timing
    /// of threads, drop buffers on the world's thread.
    ///
    /// # Errors
    ///
    /// Returns an error if an incomplete job records in the buffer (A0003), or if the buffer was played (A0080), is reusable
    /// (A0085), or has ids of another world (A0082).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// let orc = world.commands(&mut buffer)?.spawn(Health(20));
    /// assert!(!world.exists(orc));
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get(orc), Ok(&Health(20)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn commands<'w>(
        &'w self,
        buffer: &'w mut EntityCommandBuffer,
    ) -> Result<Commands<'w>, CommandError> {
        let label = buffer.label();
        let log = buffer.log_for_recording()?;
        if log.reusable {
            return Err(CommandError::Reusable { buffer: label });
        }
        if log.is_reserved_by_other(self.reserved_ids.returned_if_any()) {
            return Err(CommandError::OtherWorld { buffer: label });
        }
        Ok(Commands::new(log, self))
    }

    /// Checks recorded commands without applying them: whether their entities exist, and that no command changes a prefab. In a
    /// strict world, also checks that no command creates a prefab.
    ///
    /// The entities of batches and the sources of instances are checked too. Other errors are only found by playback. Playback does
    /// not depend on this method: it is for tools and tests. Commands for despawned entities are reported in every world, although
    /// playback skips them in a world that is not strict.
    ///
    /// # Errors
    ///
    /// The first command that fails a check (A0078), and if an incomplete job records in the buffer (A0003).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, Prefab, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn((Health(20), Prefab));
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.set(orc, Health(0));
    /// assert!(world.check_commands(&buffer).unwrap_err().to_string().contains("A0084: entity 0v1 is a prefab"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn check_commands(&self, buffer: &EntityCommandBuffer) -> Result<(), CommandError> {
        let (at, label) = (Location::caller(), buffer.label());
        let log = buffer.log.get().map_err(CommandError::InUse)?;
        log.check(self).map_err(|failed| {
            let unapplied = Some(Box::new(Unapplied::checked(log.len(), failed)));
            CommandError::Failed(Box::new(PlaybackReport::new(label, at, unapplied)))
        })
    }

    /// Applies recorded commands, and returns a report of those that were skipped.
    ///
    /// Commands that need the world, such as `insert_resource` and `run`, fail with A0240. [`World::play`](crate::World::play)
    /// applies them.
    ///
    /// A buffer that is empty or [disabled](EntityCommandBuffer::set_should_play) changes nothing, and does not change itself.
    ///
    /// A command is skipped if its entity was despawned, before playback or by an earlier command. Its value is dropped. The same
    /// holds for the source of `instantiate`, the root of a linked group, and each entity of a slice. If the command would have
    /// created entities, these count as despawned. A function that is recorded with `run` is never skipped.
    ///
    /// Other commands that fail do nothing, and the remaining commands are played. A strict world skips no command, and stops at the
    /// first command that fails.
    ///
    /// Commands are coalesced where that is faster, with the same result. An entity that several commands change moves once. An
    /// entity that is created and despawned never enters a chunk. Values that are overwritten or removed by a later command are
    /// only dropped. Archetypes and versions of intermediate states are not created.
    ///
    /// Long sequences of the same command are skipped if the following sequences name the same entities in the same order and
    /// cancel them. Such sequences are up to six of `spawn`, `add`, `set` or `remove`, followed by `despawn`, or `add` followed by
    /// `remove`. Commands whose values refer to entities are not skipped. Nothing is skipped in a strict world, or before `despawn`
    /// in a world that shares chunks with a fork.
    ///
    /// The following commands are always applied one by one:
    ///
    /// - `add_types`, `set_archetype`, `create`, `instantiate`, `set_enabled`, `set_name`, `add_buffer`, `set_buffer`, `append` and
    ///   `run`
    /// - commands for several entities: `batch`, `spawn_many`, `spawn_batch`, `create_many` and `swap_components`
    /// - commands that add or remove shared components; other commands keep those that entities have
    /// - all commands for entities that have chunk components, more than 64 components, or only cleanup components
    /// - `despawn` of roots of groups, and of entities with cleanup components
    ///
    /// # Errors
    ///
    /// If commands fail (A0078), if an incomplete job records in the buffer (A0003), or if the buffer was played (A0080) or has ids of
    /// another world (A0082). All commands that fail are reported together, in order, and the error contains the report.
    ///
    /// A command that fails changes nothing, even if it is for several entities. There are three exceptions, which may be applied
    /// in part: functions, commands for several entities if there is no memory, and slices that name an entity twice in a strict
    /// world.
    ///
    /// # Panics
    ///
    /// Panics if user code panics, such as `clone` or `drop` of a component. The commands before the panic are applied. If `drop`
    /// panics, some commands after it may be applied too.
    ///
    /// # Determinism
    ///
    /// The order of entities in chunks follows from the commands alone. Coalesced commands add entities to an archetype in the
    /// order in which the commands first name them.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, EntityManager, World};
    ///
    /// #[derive(Component)]
    /// struct Coin;
    ///
    /// fn drop_coins(entities: &mut EntityManager) {
    ///     let mut buffer = EntityCommandBuffer::new();
    ///     buffer.commands().unwrap().spawn_batch([Coin, Coin, Coin]);
    ///     entities.play(&mut buffer).unwrap();
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// drop_coins(&mut world);
    /// assert_eq!(world.query::<&Coin>().count(), 3);
    /// ```
    #[track_caller]
    pub fn play(
        &mut self,
        buffer: &mut EntityCommandBuffer,
    ) -> Result<PlaybackReport, CommandError> {
        buffer.play_in(self, Location::caller())
    }
}

/// Commands of an [`EntityCommandBuffer`]. Tokens of the buffer share the log with jobs.
#[derive(Debug)]
pub struct CommandLog {
    /// Lanes with commands, sorted by number.
    pub(super) lanes: Vec<CommandRecorder>,
    /// Lanes of the batches of a running job.
    batches: Lanes<CommandRecorder>,
    /// Lanes without commands, whose memory is reused.
    spare: Vec<CommandRecorder>,
    /// Number of the next lane.
    next_lane: u32,
    pub(super) stamps: BufferStamps,
    /// Set if the last lane belongs to the main thread, which continues to record in it.
    pub(super) continues_lane: bool,
    pub(super) reusable: bool,
    pub(super) is_played: bool,
    /// Entities of the placeholders, after playback.
    pub(super) resolved: ResolvedIds,
    /// Entities that the current playback has not created.
    pub(super) uncreated: UncreatedIds,
    /// World that has reserved ids for created entities.
    pub(super) reserved_by: Option<Arc<ReturnedIds>>,
    /// Scratch memory for playback.
    pub(super) segments: Vec<Segment>,
    pub(super) list: Vec<Entity>,
    pub(super) members: DistinctEntities,
}

impl Container for CommandLog {
    #[track_caller]
    fn label() -> ContainerLabel {
        ContainerLabel::of::<EntityCommandBuffer>()
    }
}

impl ConcurrentWrite for CommandLog {
    type Writer<'v> = ParallelWriter<'v, CommandRecorder>;
    type Item<'b> = &'b mut CommandRecorder;

    fn writer(&self, batch: &BatchInfo) -> ParallelWriter<'_, CommandRecorder> {
        assert!(!self.is_played, "{}", already_played(None));
        // A job that runs outside of batches, such as a single job, has an empty range.
        let number = batch.index as u32 + u32::from(!batch.range.is_empty());
        let mut writer = self.batches.open(batch.index);
        let lane = self.next_lane.saturating_add(number);
        writer.begin(self.stamps.prefixes_of(lane), lane, current_job());
        writer
    }

    fn item<'b>(
        writer: &'b mut ParallelWriter<'_, CommandRecorder>,
        _: usize,
    ) -> &'b mut CommandRecorder {
        writer
    }

    fn conclude(&mut self, failed: bool) {
        let Self { lanes, batches, spare, next_lane, continues_lane, .. } = self;
        let mut panics = FirstPanic::default();
        batches.settle(|lane| {
            // A reused lane still has an old number. Numbers of discarded lanes are not reused, because their placeholders may
            // still exist.
            *next_lane = (lane.lane + 1).max(*next_lane);
            *continues_lane = false;
            if failed {
                panics.during(|| lane.clear());
            } else {
                lanes.push(mem::replace(lane, spare.pop().unwrap_or_default()));
            }
        });
        panics.go_on();
    }
}

impl CommandLog {
    pub(super) fn new(reusable: bool) -> Self {
        Self {
            lanes: Vec::new(),
            batches: Lanes::new(),
            spare: Vec::new(),
            next_lane: 0,
            stamps: BufferStamps::new(),
            continues_lane: false,
            reusable,
            is_played: false,
            resolved: ResolvedIds::default(),
            uncreated: UncreatedIds::default(),
            reserved_by: None,
            segments: Vec::new(),
            list: Vec::new(),
            members: DistinctEntities::default(),
        }
    }

    /// Returns the number of commands in all lanes.
    pub(super) fn len(&self) -> usize {
        self.lanes.iter().map(CommandRecorder::len).sum()
    }

    /// Returns the lane of the main thread. Begins one if the last lane is that of a job.
    #[track_caller]
    pub(super) fn main_lane(&mut self) -> &mut CommandRecorder {
        if !self.continues_lane {
            let mut lane = self.spare.pop().unwrap_or_default();
            lane.begin(self.stamps.prefixes_of(self.next_lane), self.next_lane, None);
            self.next_lane += 1;
            self.lanes.push(lane);
            self.continues_lane = true;
        }
        let lane = self.lanes.last_mut().expect("there is one to continue");
        lane.set_sort_key(None);
        lane
    }

    /// Tests whether another world has reserved ids for created entities.
    pub(super) fn is_reserved_by_other(&self, returned: Option<&Arc<ReturnedIds>>) -> bool {
        self.reserved_by
            .as_ref()
            .is_some_and(|by| returned.is_none_or(|returned| !Arc::ptr_eq(by, returned)))
    }

    /// Returns the lane of the main thread, and the world that has reserved ids.
    #[track_caller]
    pub(super) fn main_lane_and_reserved_by(
        &mut self,
    ) -> (&mut CommandRecorder, &mut Option<Arc<ReturnedIds>>) {
        self.main_lane();
        let lane = self.lanes.last_mut().expect("it is that of the main thread");
        (lane, &mut self.reserved_by)
    }

    /// Returns the entity of a placeholder.
    pub(super) fn resolve(&self, entity: Entity) -> Option<Entity> {
        self.resolved.resolve(entity).ok().filter(|entity| !entity.is_null())
    }

    /// Removes all commands. Drops their values, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.return_ids();
        self.stamps = BufferStamps::new();
        (self.next_lane, self.continues_lane, self.is_played) = (0, false, false);
        self.resolved.stamps.clone_from(&self.stamps);
        let mut clearing = Clearing(self);
        clearing.clear();
    }

    /// Returns reserved ids that were not used to the world that reserved them.
    fn return_ids(&mut self) {
        if let Some(by) = self.reserved_by.take() {
            by.extend(self.lanes.iter_mut().flat_map(|lane| lane.ids.drain(..)));
        }
    }
}

/// Log whose lanes are being cleared. If dropping a lane's values panics, the lane is lost, and the other lanes are still cleared.
struct Clearing<'l>(&'l mut CommandLog);

impl Clearing<'_> {
    fn clear(&mut self) {
        let CommandLog { lanes, resolved, spare, .. } = &mut *self.0;
        while let Some(mut lane) = lanes.pop() {
            if let Some(LaneIds { ids, .. }) = resolved.lanes.pop()
                && ids.capacity() > lane.ids.capacity()
            {
                lane.ids = ids;
            }
            lane.clear();
            spare.push(lane);
        }
        resolved.lanes.clear();
    }
}

impl Drop for Clearing<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Drop for CommandLog {
    fn drop(&mut self) {
        self.return_ids();
    }
}

//! Buffers of commands.

#![expect(unsafe_code, reason = "a world that views borrow too")]

use std::fmt;
use std::panic::Location;
use std::ptr::NonNull;

use ancho_collections::Native;
use ancho_jobs::{CellConcurrent, ContainerLabel, JobHandle};

use super::error::{CommandError, PlaybackError};
use super::log::CommandLog;
use super::recorder::CommandRecorder;
use super::with_world::Commands;
use crate::entity::Entity;
use crate::manager::EntityManager;

/// Changes that are recorded now and carried out later, all at once: what is created, destroyed, added, removed and set.
///
/// A world cannot be changed while somebody goes through it, or from a job. What is to be done is recorded instead:
///
/// - on the main thread, through the world: [`EntityManager::commands`](crate::EntityManager::commands). Entities that are created have their ids at
///   once, and exist when the buffer was played.
/// - on the main thread, without the world, as in a loop that has it: [`commands`](Self::commands). Entities that are created
///   have *placeholders*, which can be used in later commands and in the values of components. [`resolve`](Self::resolve) says
///   afterwards which entity a placeholder stands for.
/// - in jobs, one or many threads at a time: [`writer`](Self::writer), with placeholders too.
///
/// [`World::play`](crate::World::play) carries everything out, in the order in which it was recorded. Before that, the entities
/// that are created get their ids, those of them that have none yet; so values may refer to entities that later commands create. If a command fails, those before it are done, and those after it
/// are not. Then the buffer is done with, until it is [cleared](Self::clear), which keeps its memory.
///
/// Unity's `EntityCommandBuffer`.
///
/// # Determinism
///
/// What a parallel job records is played in the order of its indices, or of chunks and the entities in them: the same for any
/// number of threads. [Keys](CommandRecorder::set_sort_key) can be given, and need not be.
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
    /// The jobs that were scheduled to record in it, but for the last.
    earlier_jobs: Vec<JobHandle>,
}

impl EntityCommandBuffer {
    /// A buffer that is played once, and then cleared.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            log: Native::of(CommandLog::new(false)),
            should_play: true,
            earlier_jobs: Vec::new(),
        }
    }

    /// A buffer that can be played several times, also in several worlds. Once it was played, nothing more is recorded.
    ///
    /// Values are duplicated for each playback, as they are when entities are instantiated.
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
    /// wave.commands()?.spawn_many(10, Health(20));
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

    /// Gives the buffer a name for error messages.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { log: self.log.named(name), ..self }
    }

    /// What the buffer is called in error messages.
    pub fn label(&self) -> ContainerLabel {
        self.log.label()
    }

    /// Records commands on this thread, without a world: entities that are created have placeholders.
    ///
    /// # Errors
    ///
    /// If a job records in the buffer that was not completed (A0003), or the buffer was played (A0080).
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
        Ok(self.recording()?.main_lane())
    }

    /// The log, if something can be recorded.
    fn recording(&mut self) -> Result<&mut CommandLog, CommandError> {
        let buffer = self.label();
        let log = self.log.get_mut().map_err(CommandError::InUse)?;
        if log.is_played {
            return Err(CommandError::AlreadyPlayed { buffer });
        }
        Ok(log)
    }

    /// A token for jobs that record commands: a single job, or all batches of a parallel one.
    ///
    /// A job is given a [`CommandRecorder`]. One that is given a buffer which was played panics with A0080.
    ///
    /// If a job panics, in whichever batch, everything that it recorded is discarded. What other jobs recorded stays.
    pub fn writer(&mut self) -> CellConcurrent<'_, CommandLog> {
        // A token borrows the buffer, so each job that records is the last one when the next token is made.
        if let Some(last) = self.log.last_writer()
            && self.earlier_jobs.last() != Some(&last)
        {
            self.earlier_jobs.push(last);
        }
        self.log.writer()
    }

    /// Which entity a placeholder stands for, once the buffer was played, and until it is cleared.
    ///
    /// `None` for placeholders of others, and, if a command has failed, for entities that were not created. An entity that is no
    /// placeholder stands for itself.
    pub fn resolve(&self, entity: Entity) -> Option<Entity> {
        let log = self.log.get().ok()?;
        if !entity.is_placeholder() {
            return Some(entity);
        }
        if log.is_played { log.resolve(entity) } else { None }
    }

    /// How many commands there are, of those who have recorded and are done. None, as long as a job records.
    pub fn len(&self) -> usize {
        self.log.get().map_or(0, |log| if log.is_played && !log.reusable { 0 } else { log.len() })
    }

    /// Whether there are no commands, or none that can be seen: see [`len`](Self::len).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Says whether the buffer is carried out when it is played, as it is unless this was said.
    ///
    /// To play one that is switched off does nothing, in the world and to the buffer, as often as it is done: it can be switched on
    /// again, and played. A [point](crate::CommandPoint) of systems passes over it, and forgets what was recorded. Values are dropped
    /// with the buffer, or by [`clear`](Self::clear), which switches it on again. Unity's `ShouldPlayback`.
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

    /// Whether the buffer is carried out when it is played: see [`set_should_play`](Self::set_should_play).
    pub fn should_play(&self) -> bool {
        self.should_play
    }

    /// Forgets everything, so that the buffer can be used anew. What was recorded and not played is dropped; memory is kept.
    ///
    /// One that was [switched off](Self::set_should_play) is played again.
    ///
    /// # Errors
    ///
    /// If a job records in the buffer that was not completed (A0003).
    pub fn clear(&mut self) -> Result<(), CommandError> {
        let log = self.log.get_mut().map_err(CommandError::InUse)?;
        self.should_play = true;
        self.earlier_jobs.clear();
        log.clear();
        Ok(())
    }

    /// Whether a job records in it that was not completed.
    pub(crate) fn is_in_use(&self) -> bool {
        self.log.get().is_err()
    }

    /// The jobs that were scheduled to record in it. When the last has finished, all others have.
    pub(crate) fn recording_jobs(&self) -> impl DoubleEndedIterator<Item = JobHandle> {
        self.earlier_jobs.iter().copied().chain(self.log.last_writer())
    }

    /// Records commands for a world that views have too.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed for the lifetime; who uses it meanwhile has no mutable references to it while something is
    ///   recorded
    /// - all that is recorded is for this world
    pub(crate) unsafe fn commands_beside_views<'w>(
        &'w mut self,
        entities: NonNull<EntityManager>,
    ) -> Result<Commands<'w>, CommandError> {
        let log = self.recording()?;
        // SAFETY: the caller promises it.
        Ok(unsafe { Commands::beside_views(log, entities) })
    }

    /// Everything that is recorded, in words, a line for each command, in the order in which it is played.
    ///
    /// If it is [not to be played](Self::set_should_play), the first line says that.
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
    /// Records commands on this thread: entities that are created have their ids at once, and exist when the buffer was played.
    ///
    /// The ids are those that the next entities would have had. If the buffer is dropped or cleared, and not played, no entity ever
    /// has them: their indices are used again from the next [`play`](Self::play) or [`advance_version`](Self::advance_version) on, with
    /// other versions. A fork never uses them. To have ids that do not depend on threads, drop buffers on the thread of the world.
    ///
    /// # Errors
    ///
    /// If a job records in the buffer that was not completed (A0003), the buffer was played (A0080), is one for several
    /// playbacks (A0085), or has ids of another world (A0082).
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
        let log = buffer.recording()?;
        if log.reusable {
            return Err(CommandError::Reusable { buffer: label });
        }
        if log.is_promised_by_other(self.promises.known_returns()) {
            return Err(CommandError::OtherWorld { buffer: label });
        }
        Ok(Commands::new(log, self))
    }

    /// Looks at what was recorded, without carrying it out: whether the entities are there that it is done to, also those of slices and
    /// those that instances are made of, and none of them is a prefab that is changed. In a strict world, also whether no command makes
    /// a prefab.
    ///
    /// What else can be wrong shows when the buffer is played. Playing checks all that is needed by itself; this is for tools and
    /// tests, which want to know beforehand.
    ///
    /// # Errors
    ///
    /// The first command for which that is not so (A0078), and if a job records in the buffer that was not completed (A0003).
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
    pub fn check_commands(&self, buffer: &EntityCommandBuffer) -> Result<(), PlaybackError> {
        let (at, label) = (Location::caller(), buffer.label());
        let log = buffer.log.get().map_err(PlaybackError::InUse)?;
        log.check(self).map_err(|stopped| PlaybackError::stopped(label, at, stopped))
    }

    /// Carries out what was recorded: everything, or what comes before the first command that fails.
    ///
    /// A buffer without commands changes nothing, and is as it was. So it is with one that is
    /// [not to be played](EntityCommandBuffer::set_should_play).
    ///
    /// Commands are carried out together where that is quicker, with the same result: an entity that several of them change moves once,
    /// and one that they create and destroy is never anywhere. Values that are overwritten or removed before they could be seen are
    /// only dropped. What shows is that archetypes and versions of what was in between do not come to be.
    ///
    /// In long sequences of the same command this is so if the next ones name the same entities in the same order: `spawn`, `add`, `set` or
    /// `remove` for each of them, up to six such sequences, and then `despawn`, or `add` and then `remove`. There, commands with values that
    /// refer to entities are not left out, nor is anything in a strict world, or before `despawn` in one that shares chunks with a fork.
    ///
    /// One by one, everywhere, are carried out:
    ///
    /// - `add_types`, `set_archetype`, `create_of`, `instantiate`, `set_enabled`, `set_name`, `add_buffer`, `set_buffer`, `append`, and
    ///   functions
    /// - commands for several entities: slices, groups, queries, `spawn_many`, `spawn_batch`, `create_many` and `swap_components`
    /// - commands that give or remove shared components; those that entities have go along with them otherwise
    /// - all commands for entities that have values of chunks, or more than 64 components, or were despawned and have only what stays
    /// - `despawn` of roots of groups, and of entities with components that stay
    ///
    /// # Errors
    ///
    /// If a command fails (A0078), a job records in the buffer that was not completed (A0003), the buffer was played (A0080), or
    /// has ids of another world (A0082).
    ///
    /// A command that fails does nothing, also if it is one for several entities. Only a function, one for several entities for which there
    /// is no memory, and a slice in a strict world that names an entity twice are done in part.
    ///
    /// # Panics
    ///
    /// If code of the user does, such as `clone` or `drop` of a component. The commands before that are carried out, and if it is
    /// `drop`, perhaps some after it.
    ///
    /// # Determinism
    ///
    /// The order of entities in chunks follows from the commands, and from nothing else. Where commands are carried out together,
    /// entities come to an archetype in the order in which the commands first name them.
    #[track_caller]
    pub fn play(&mut self, buffer: &mut EntityCommandBuffer) -> Result<(), PlaybackError> {
        let at = Location::caller();
        let label = buffer.label();
        let log = buffer.log.get_mut().map_err(PlaybackError::InUse)?;
        if !buffer.should_play {
            return Ok(());
        }
        self.take_back_promises();
        if log.is_played && !log.reusable {
            return Err(PlaybackError::AlreadyPlayed { buffer: label });
        }
        if log.is_promised_by_other(self.promises.known_returns()) {
            return Err(PlaybackError::OtherWorld { buffer: label });
        }
        if log.len() == 0 {
            return Ok(());
        }
        log.play(self).map_err(|stopped| PlaybackError::stopped(label, at, stopped))
    }
}

//! Errors of commands.

use std::error::Error;
use std::fmt;
use std::panic::Location;

use ancho_jobs::{AccessError, ContainerLabel};

use crate::component::ComponentType;
use crate::debug_as_display::debug_as_display;
use crate::entity::Entity;
use crate::error::EntityError;

/// Error when recording commands in a buffer, or when playing the buffer.
///
/// # Examples
///
/// ```
/// use ancho_entities::{CommandFault, Component, EntityCommandBuffer, EntityError, CommandError, World};
///
/// #[derive(Component)]
/// #[component(name = "Health")]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// let (stone, orc) = (world.spawn(()), world.spawn(()));
/// let mut buffer = EntityCommandBuffer::new().named("fight");
/// let commands = buffer.commands()?;
/// commands.despawn(orc);
/// commands.set(stone, Health(20));
/// let stopped = world.play(&mut buffer).unwrap_err();
/// assert!(stopped.to_string().starts_with("A0078: `fight` (EntityCommandBuffer made at "));
/// let CommandError::Stopped(stopped) = stopped else { panic!() };
/// assert_eq!((stopped.number(), stopped.command()), (2, "set `Health` of 0v1"));
/// assert!(matches!(stopped.fault(), CommandFault::Entity(EntityError::MissingComponent { .. })));
/// assert!(!world.exists(orc), "what comes before was done");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandError {
    /// A0003: an incomplete job uses the buffer.
    InUse(AccessError),
    /// A0080: the buffer was played.
    AlreadyPlayed {
        /// The label of the buffer.
        buffer: ContainerLabel,
    },
    /// A0082: another world has reserved ids for entities of the buffer.
    OtherWorld {
        /// The label of the buffer.
        buffer: ContainerLabel,
    },
    /// A0085: the buffer is reusable, so its entities have other ids at each playback.
    Reusable {
        /// The label of the buffer.
        buffer: ContainerLabel,
    },
    /// A0078: a command failed.
    Stopped(Box<PlaybackStopped>),
}

/// The failed command of a buffer, and the cause of the failure. See [`CommandError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaybackStopped {
    buffer: ContainerLabel,
    /// Name of the world or system that played the buffer.
    by: Option<String>,
    at: &'static Location<'static>,
    stopped: StoppedAt,
}

/// The failed command, and the cause of the failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoppedAt {
    /// Position in the order of playback, starting at 1.
    pub(super) number: usize,
    /// Number of commands in the buffer.
    pub(super) commands: usize,
    /// Description of the command.
    pub(super) command: String,
    /// Name of the job that recorded the command.
    pub(super) job: Option<&'static str>,
    pub(super) fault: CommandFault,
    /// Set if `check_commands` found the error, so that no command was applied.
    pub(super) is_checked: bool,
}

impl PlaybackStopped {
    /// Returns the buffer.
    pub fn buffer(&self) -> ContainerLabel {
        self.buffer
    }

    /// Returns the position of the command in the order of playback, starting at 1.
    pub fn number(&self) -> usize {
        self.stopped.number
    }

    /// Returns a description of the command.
    pub fn command(&self) -> &str {
        &self.stopped.command
    }

    /// Returns the name of the job that recorded the command, or `None` if no job did.
    pub fn job(&self) -> Option<&'static str> {
        self.stopped.job
    }

    /// Returns the place in the code where the buffer was played.
    pub fn at(&self) -> &'static Location<'static> {
        self.at
    }

    /// Returns the cause of the failure.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{
    ///     CommandError, CommandFault, Entity, EntityCommandBuffer, EntityError, World,
    /// };
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.add(Entity::NULL, ());
    /// let Err(CommandError::Stopped(stopped)) = world.play(&mut buffer) else { unreachable!() };
    /// assert_eq!(stopped.number(), 1);
    /// assert!(matches!(stopped.fault(), CommandFault::Entity(EntityError::NoSuchEntity { .. })));
    /// # Ok::<(), CommandError>(())
    /// ```
    pub fn fault(&self) -> CommandFault {
        self.stopped.fault
    }
}

impl CommandError {
    pub(super) fn stopped(
        buffer: ContainerLabel,
        at: &'static Location<'static>,
        stopped: StoppedAt,
    ) -> Self {
        Self::Stopped(Box::new(PlaybackStopped { buffer, by: None, at, stopped }))
    }

    /// Returns the message for a system's own buffer. It names no source locations, because user code neither creates nor plays the
    /// buffer.
    pub(crate) fn of_system(&self) -> impl fmt::Display {
        fmt::from_fn(move |f| {
            let Self::Stopped(stopped) = self else { return fmt::Display::fmt(self, f) };
            let StoppedAt { number, commands, command, .. } = &stopped.stopped;
            write!(f, "A0078: command {number} of {commands} failed, `{command}`")?;
            stopped.stopped.fmt_rest(f)
        })
    }

    /// Adds the name of the world or system that played the buffer.
    pub(crate) fn played_by(mut self, by: &str) -> Self {
        if let Self::Stopped(stopped) = &mut self {
            stopped.by = Some(by.to_owned());
        }
        self
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(error) => error.fmt(f),
            Self::AlreadyPlayed { buffer } => already_played(Some(*buffer)).fmt(f),
            Self::OtherWorld { buffer } => other_world(*buffer).fmt(f),
            Self::Reusable { buffer } => write!(
                f,
                "A0085: {buffer} is reusable, so its entities have no ids before playback; record with its own \
                 `commands`, which returns placeholders"
            ),
            Self::Stopped(stopped) => stopped.fmt(f),
        }
    }
}

impl fmt::Display for PlaybackStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffer, by, at, stopped } = self;
        let StoppedAt { number, commands, command, .. } = stopped;
        write!(f, "A0078: {buffer}")?;
        if let Some(by) = by {
            write!(f, ", played in {by} at {at},")?;
        } else {
            write!(f, ", played at {at},")?;
        }
        write!(f, " failed at command {number} of {commands}, `{command}`")?;
        stopped.fmt_rest(f)
    }
}

impl StoppedAt {
    /// Writes the name of the job, the number of applied commands, and the cause.
    fn fmt_rest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job, fault, is_checked, .. } = self;
        if let Some(job) = job {
            write!(f, ", which job `{job}` recorded")?;
        }
        let done = if *is_checked {
            "no command was applied"
        } else {
            "the commands before it were applied, those after it were not"
        };
        write!(f, "; {done}: {fault}")
    }
}

impl Error for CommandError {}

debug_as_display!(CommandError, CommandFault);

/// Result of applying a command.
pub(super) type Result<T = (), E = CommandFault> = std::result::Result<T, E>;

/// Cause of a failed command.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandFault {
    /// The world has refused the command.
    Entity(EntityError),
    /// A0079: the placeholder belongs to another buffer, or is older than the last `clear` of the buffer.
    ForeignPlaceholder {
        /// The placeholder.
        placeholder: Entity,
    },
    /// A0079: the entity is created by a later command of the buffer, or by none.
    NotCreatedYet {
        /// The placeholder.
        placeholder: Entity,
    },
    /// A0081: a value of a reusable buffer cannot be duplicated.
    NotDuplicable {
        /// The component type that cannot be duplicated.
        component: ComponentType,
    },
    /// A0084: the command changes a prefab. Only [`check_commands`](crate::EntityManager::check_commands) reports it.
    TouchesPrefab {
        /// The prefab that the command changes.
        entity: Entity,
    },
    /// A0151: the command creates a prefab in a strict world. Only [`check_commands`](crate::EntityManager::check_commands) reports
    /// it.
    CreatesPrefab,
    /// A0082: the reserved id of the entity is lost.
    PromiseBroken {
        /// The reserved id.
        entity: Entity,
    },
}

impl From<EntityError> for CommandFault {
    fn from(error: EntityError) -> Self {
        Self::Entity(error)
    }
}

impl fmt::Display for CommandFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Entity(ref error) => error.fmt(f),
            Self::ForeignPlaceholder { placeholder } => write!(
                f,
                "A0079: {placeholder} was created by another command buffer, or before this one was cleared; use \
                 placeholders in the buffer that returned them, or `resolve` them first"
            ),
            Self::NotCreatedYet { placeholder } => write!(
                f,
                "A0079: {placeholder} is created by a later command, or by no command; record the command that creates \
                 it first, with a lower sort key if sort keys are used"
            ),
            Self::NotDuplicable { component } => write!(
                f,
                "A0081: `{component}` cannot be cloned, and a reusable buffer keeps it for the next playback; derive \
                 `Clone` for it, or use a buffer that is played once"
            ),
            Self::TouchesPrefab { entity } => write!(
                f,
                "A0084: entity {entity} is a prefab, and the change would affect all later instances; instantiate it, \
                 and change the instance"
            ),
            Self::CreatesPrefab => f.write_str(
                "A0151: the command creates a prefab, and the world is strict; create prefabs with the world itself, \
                 before commands use them",
            ),
            Self::PromiseBroken { entity } => write!(
                f,
                "A0082: the reserved id {entity} is no longer valid, because all entities were despawned in the meantime; clear \
                 the buffer and record again"
            ),
        }
    }
}

/// Returns the message of A0080.
pub(super) fn already_played(buffer: Option<ContainerLabel>) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        f.write_str("A0080: ")?;
        match buffer {
            Some(buffer) => write!(f, "{buffer}")?,
            None => f.write_str("the command buffer")?,
        }
        f.write_str(" was already played; `clear` it before it is used again, or make it `reusable` to play it again")
    })
}

/// Returns the message of A0082.
fn other_world(buffer: ContainerLabel) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        write!(
            f,
            "A0082: {buffer} has entity ids that another world reserved; play it in that world, or record without a \
             world, which returns placeholders"
        )
    })
}

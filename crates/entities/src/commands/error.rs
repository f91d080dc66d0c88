//! Errors of commands.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use ancho_jobs::{AccessError, ContainerLabel};

use super::report::PlaybackReport;
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
/// commands.set(stone, Health(20));
/// commands.despawn(orc);
/// let error = world.play(&mut buffer).unwrap_err();
/// assert!(error.to_string().starts_with("A0078: `fight` (EntityCommandBuffer made at "));
/// let CommandError::Failed(report) = error else { panic!() };
/// let failed = &report.failures()[0];
/// assert_eq!((failed.number(), failed.command()), (1, "set `Health` of 0v1"));
/// assert!(matches!(failed.fault(), CommandFault::Entity(EntityError::MissingComponent { .. })));
/// assert!(!world.exists(orc), "the other command was applied");
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
    /// A0078: commands failed.
    Failed(Box<PlaybackReport>),
}

impl CommandError {
    /// Returns the message for a system's own buffer, without source locations.
    pub(crate) fn of_system(&self) -> impl fmt::Display {
        fmt::from_fn(move |f| match self {
            Self::Failed(report) => fmt::Display::fmt(&report.of_system(), f),
            other => fmt::Display::fmt(other, f),
        })
    }

    /// Adds the name of the world that played the buffer.
    pub(crate) fn played_by(mut self, by: &str) -> Self {
        if let Self::Failed(report) = &mut self {
            report.played_by(by);
        }
        self
    }

    /// Returns the report of the playback. Returns `None` if the buffer was not played.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, EntityCommandBuffer, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let mut buffer = EntityCommandBuffer::new();
    /// let commands = buffer.commands()?;
    /// commands.despawn(orc);
    /// commands.set(orc, Health(5));
    /// commands.set(Entity::NULL, Health(5));
    /// let error = world.play(&mut buffer).unwrap_err();
    /// let report = error.report().unwrap();
    /// assert_eq!((report.skipped(), report.failed()), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn report(&self) -> Option<&PlaybackReport> {
        match self {
            Self::Failed(report) => Some(report),
            _ => None,
        }
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
            Self::Failed(report) => report.fmt(f),
        }
    }
}

impl Error for CommandError {}

debug_as_display!(CommandError, CommandFault);

/// Result of applying a command.
pub(super) type Result<T = (), E = CommandFault> = std::result::Result<T, E>;

/// Cause of a failed command.
#[derive(Clone, PartialEq, Eq)]
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
    /// A0240: the command needs the world, and the buffer is played by an [`EntityManager`](crate::EntityManager) alone.
    NeedsWorld,
    /// A0241: the command replaced the entities of the world, so the remaining commands are discarded.
    EntitiesReplaced,
    /// A0081: a value of a reusable buffer, for a command that needs the world, cannot be cloned.
    NotCloneable {
        /// The description of the command.
        command: &'static str,
        /// The name of the value's type.
        value: &'static str,
    },
    /// The function of the command returned this error.
    Function {
        /// The message of the error.
        message: Arc<str>,
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
            Self::NeedsWorld => f.write_str(
                "A0240: the command needs the world, but an `EntityManager` plays the buffer; play it with `World::play`, or record \
                 it in a system",
            ),
            Self::EntitiesReplaced => f.write_str(
                "A0241: the command replaced the entities of the world, so the remaining commands are discarded; replace them \
                 between updates, or in a command of its own buffer",
            ),
            Self::NotCloneable { command, value } => write!(
                f,
                "A0081: the value of `{command}`, a `{value}`, is not cloned, and a reusable buffer keeps it for the next playback; \
                 use `run` with a function that creates the value, or a buffer that is played once"
            ),
            Self::Function { ref message } => f.write_str(message),
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

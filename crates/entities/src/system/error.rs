//! What goes wrong with systems, and in which words that is told.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use ancho_jobs::JobFailed;

use super::order::OrderError;
use super::rate::RateError;
use crate::commands::PlaybackError;
use crate::error::EntityError;
use crate::storage::OutOfMemory;
use crate::time::TimeError;

/// What systems that are structs return, and systems that are functions can: `?` takes any error.
///
/// An error is told with the name of the system, as a panic is, and the other systems run all the same.
pub type SystemResult = Result<(), Box<dyn Error + Send + Sync>>;

/// Why something could not be done with a system.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum SystemError {
    /// A0100, A0101, A0102: two parameters of a system exclude each other.
    Parameters {
        /// The system.
        system: String,
        /// The message of the conflict.
        conflict: String,
    },
    /// A0108: there is no such system.
    NoSuchSystem {
        /// How it was asked for.
        system: String,
    },
    /// A0110: this is no group.
    NotAGroup {
        /// What was to be done.
        what: String,
        /// What is no group.
        target: String,
    },
    /// A0110: a group would be in itself.
    GroupInItself {
        /// The group.
        group: String,
    },
    /// A0111: something was said of a system that only groups have.
    OnlyForGroups {
        /// The system.
        system: String,
        /// What was said.
        what: &'static str,
    },
    /// A0097: something was said of the place of a system that has none, since it runs after each other system.
    OfPatch {
        /// The system.
        system: String,
        /// What was said.
        what: &'static str,
    },
    /// A0098: something was said of a system that only functions have, whose parameters are known.
    OnlyForFunctions {
        /// The system.
        system: String,
        /// What was said.
        what: &'static str,
    },
    /// A0112: the system could not be created, and was not added.
    NotCreated {
        /// The system.
        system: String,
        /// Why.
        reason: String,
    },
    /// A0114: there is no such point.
    NoSuchPoint {
        /// The point.
        point: &'static str,
    },
    /// A0116: the world has such a system already.
    AlreadyThere {
        /// The system.
        system: String,
    },
    /// A0117: the world is going.
    WorldEnds {
        /// The system.
        system: String,
    },
    /// A0131 to A0134: constraints on the order of creation cannot hold.
    Order(OrderError),
    /// A0121: the rate of a group.
    Rate {
        /// The group.
        group: String,
        /// What is wrong with it.
        error: RateError,
    },
    /// A0129: a system to be left out of a `Bootstrap` was never marked with `#[system]`.
    NoAutoSystem {
        /// The path of the system.
        path: String,
    },
    /// A0129: two functions are marked with `#[bootstrap]`.
    TwoBootstraps {
        /// The path of one of them.
        first: &'static str,
        /// The path of the other.
        second: &'static str,
    },
    /// A0150: the system was removed, and something failed while it ended.
    FailedToEnd {
        /// The system.
        system: String,
        /// What failed, with it and with the systems that went with it.
        errors: String,
    },
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameters { system, conflict } => {
                let (code, rest) = conflict.split_once(": ").unwrap_or(("", conflict));
                write!(f, "{code}: system `{system}` cannot be added: {rest}")
            }
            Self::NoSuchSystem { system } => write!(
                f,
                "A0108: this world has no system {system}; add it, or ask the world that has it"
            ),
            Self::NotAGroup { what, target } => write!(
                f,
                "A0110: {what} cannot be in `{target}`, which is no group of this world; add the group first, or name \
                 another"
            ),
            Self::GroupInItself { group } => write!(
                f,
                "A0110: group `{group}` cannot be in itself, nor in a group that is in it; name another group"
            ),
            Self::OnlyForGroups { system, what } => write!(
                f,
                "A0111: `{what}` is for groups, and `{system}` is none; say it of the group that it is in"
            ),
            Self::OnlyForFunctions { system, what } => write!(
                f,
                "A0098: `{what}` is for functions, whose queries are known, and `{system}` is none; take it away, and say with \
                 `require` or `require_any` which entities it needs"
            ),
            Self::OfPatch { system, what } => write!(
                f,
                "A0097: `{what}` was said of `{system}`, which is a patch, and has no place among other systems: it runs after each \
                 of them; take `{what}` away, or `patch`"
            ),
            Self::NotCreated { system, reason } => write!(
                f,
                "A0112: system `{system}` was not added, because `on_create` failed: {reason}"
            ),
            Self::NoSuchPoint { point } => no_such_point(point).fmt(f),
            Self::AlreadyThere { system } => write!(
                f,
                "A0116: this world has `{system}` already; structs, groups and points are there once: remove the other, or make \
                 it another type"
            ),
            Self::WorldEnds { system } => write!(
                f,
                "A0117: system `{system}` cannot be added to a world that is being dropped; add it before, or to another world"
            ),
            Self::Order(error) => error.fmt(f),
            Self::Rate { group, error } => {
                let message = error.to_string();
                let (code, rest) = message.split_once(": ").unwrap_or(("", &message));
                write!(f, "{code}: group `{group}` stays at its rate: {rest}")
            }
            Self::NoAutoSystem { path } => write!(
                f,
                "A0129: the system `{path}` cannot be left out, since none of this path was marked with `#[system]`; \
                 `AutoSystem::all` gives the paths of all that were"
            ),
            Self::TwoBootstraps { first, second } => write!(
                f,
                "A0129: `{first}` and `{second}` are both marked with `#[bootstrap]`, and one function makes the default \
                 world; take the mark of one of them away"
            ),
            Self::FailedToEnd { system, errors } => {
                write!(f, "A0150: `{system}` was removed, but failed while it ended: {errors}")
            }
        }
    }
}

impl Error for SystemError {}

impl From<OrderError> for SystemError {
    fn from(error: OrderError) -> Self {
        Self::Order(error)
    }
}

/// What went wrong when a system was updated, or when an update began.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SystemFault {
    /// A0105: it panicked.
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// A0106: it returned an error.
    Failed {
        /// What the error says.
        message: String,
    },
    /// A0103: it asks for a resource that is not there.
    NoResource {
        /// The resource.
        resource: &'static str,
    },
    /// A0104: it asks for a singleton, and there is none, or more than one.
    NotSingle {
        /// How it asks.
        query: String,
        /// How many there are.
        found: usize,
    },
    /// A0118: it asks for the data of a system that is not there, or is just being updated.
    NoData {
        /// The system.
        system: &'static str,
    },
    /// A0114: it records for a point that is not there.
    NoPoint {
        /// The point.
        point: &'static str,
    },
    /// There is no memory for copies of what is shared with a fork.
    Memory(OutOfMemory),
    /// A0078: what it recorded could not be carried out.
    Playback(PlaybackError),
    /// A0113: buffers could not be played, each with the system that has recorded it.
    Commands(Vec<(Arc<str>, String)>),
    /// A0107: one of its jobs failed.
    Job(JobFailed),
    /// A0107: a job failed that uses the world, and that no system has scheduled.
    JobOfWorld(JobFailed),
    /// A0097, A0123 to A0128: its children cannot be put in an order.
    Order(OrderError),
    /// A0120: time cannot pass so.
    Time(TimeError),
    /// A0120: its rate has given it a time that is none.
    RateTime(TimeError),
    /// A0108: it is not there.
    NoSuchSystem,
    /// A0109: it is just being updated.
    IsExecuting,
    /// A0115: it has put another world in the place of its own.
    WorldExchanged,
}

impl SystemFault {
    /// Whether the system was not even called.
    pub(super) fn is_before_run(&self) -> bool {
        match self {
            Self::NoResource { .. }
            | Self::NotSingle { .. }
            | Self::NoData { .. }
            | Self::NoPoint { .. }
            | Self::Memory(_) => true,
            Self::Panicked { .. }
            | Self::Failed { .. }
            | Self::Playback(_)
            | Self::Commands(_)
            | Self::Job(_)
            | Self::JobOfWorld(_)
            | Self::Order(_)
            | Self::Time(_)
            | Self::RateTime(_)
            | Self::NoSuchSystem
            | Self::IsExecuting
            | Self::WorldExchanged => false,
        }
    }
}

/// What went wrong in an update, and with which system.
///
/// # Examples
///
/// ```
/// use ancho_entities::{SystemFault, World};
///
/// fn careless() -> Result<(), &'static str> {
///     Err("no fuel")
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_system(ancho_entities::IntoSystem::named(careless, "engine"));
/// let errors = world.try_update(0.1).unwrap_err();
/// assert_eq!(errors.to_string(), "A0106: system `engine` failed: no fuel");
/// assert_eq!(errors.iter().next().unwrap().system(), "engine");
/// ```
#[derive(Clone, Debug)]
pub struct UpdateError {
    pub(super) system: Arc<str>,
    pub(super) fault: SystemFault,
}

impl UpdateError {
    /// The system, by its name; or the world, if it is not about a system.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// What went wrong.
    pub fn fault(&self) -> &SystemFault {
        &self.fault
    }
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { system, fault } = self;
        match fault {
            SystemFault::Panicked { message } => {
                write!(f, "A0105: system `{system}` panicked: {message}")
            }
            SystemFault::Failed { message } => {
                write!(f, "A0106: system `{system}` failed: {message}")
            }
            SystemFault::NoResource { resource } => write!(
                f,
                "A0103: system `{system}` was not run, because the world has no resource `{resource}`; insert it with \
                 `insert_resource`, or take an `Option` of it"
            ),
            SystemFault::NotSingle { query, found: 0 } => write!(
                f,
                "A0104: system `{system}` was not run, because `{query}` finds no entity; let it wait with `require`, or take \
                 an `Option` of it"
            ),
            SystemFault::NotSingle { query, found } => write!(
                f,
                "A0104: system `{system}` was not run, because `{query}` finds {found} entities; there has to be one of them, \
                 or take a `Query`"
            ),
            SystemFault::NoData { system: other } => write!(
                f,
                "A0118: system `{system}` was not run, because it reads system `{other}`, which is not there or just being \
                 updated; add it to the world, and ask for it in systems that it does not update itself"
            ),
            SystemFault::NoPoint { point } => write!(
                f,
                "A0114: system `{system}` was not run: {}",
                no_such_point(point).to_string().trim_start_matches("A0114: ")
            ),
            SystemFault::Memory(error) => write!(f, "system `{system}` was not run: {error}"),
            SystemFault::Playback(error) => {
                let message = error.of_system().to_string();
                match message.split_once(": ") {
                    Some((code, rest)) => {
                        write!(
                            f,
                            "{code}: of system `{system}` not all commands were carried out: {rest}"
                        )
                    }
                    None => f.write_str(&message),
                }
            }
            SystemFault::Commands(failed) => {
                write!(f, "A0113: `{system}` has not carried out all commands")?;
                for (recorder, message) in failed {
                    write!(f, "; those of `{recorder}`: {message}")?;
                }
                Ok(())
            }
            SystemFault::Job(failed) => {
                write!(f, "A0107: a job of system `{system}` failed: {failed}")
            }
            SystemFault::JobOfWorld(failed) => {
                write!(f, "A0107: a job of world `{system}` failed: {failed}")
            }
            SystemFault::Order(error) => error.fmt(f),
            SystemFault::Time(error) => error.fmt(f),
            SystemFault::RateTime(error) => {
                let message = error.to_string();
                let (code, rest) = message.split_once(": ").unwrap_or(("", &message));
                write!(f, "{code}: group `{system}` was not updated: {rest}")
            }
            SystemFault::NoSuchSystem => write!(
                f,
                "A0108: this world has no system {system}; add it, or ask the world that has it"
            ),
            SystemFault::IsExecuting => write!(
                f,
                "A0109: `{system}` is just being updated; do it when it has returned, or from outside"
            ),
            SystemFault::WorldExchanged => write!(
                f,
                "A0115: system `{system}` has put another world in the place of its own, and is gone with it; exchange worlds \
                 between updates"
            ),
        }
    }
}

impl Error for UpdateError {}

/// Everything that went wrong in an update, in its order. The other systems ran all the same.
#[derive(Clone, Debug)]
pub struct UpdateErrors(pub(super) Vec<UpdateError>);

impl UpdateErrors {
    /// What went wrong, in its order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &UpdateError> {
        self.0.iter()
    }
}

impl fmt::Display for UpdateErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            let gap = if at == 0 { "" } else { "\n" };
            write!(f, "{gap}{error}")?;
        }
        Ok(())
    }
}

impl Error for UpdateErrors {}

/// The words for A0114.
fn no_such_point(point: &'static str) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        write!(
            f,
            "A0114: the world has no point `{point}` at which commands are carried out; add it as a system"
        )
    })
}

impl From<OutOfMemory> for SystemFault {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error)
    }
}

impl From<PlaybackError> for SystemFault {
    fn from(error: PlaybackError) -> Self {
        Self::Playback(error)
    }
}

impl From<EntityError> for SystemFault {
    fn from(error: EntityError) -> Self {
        Self::Failed { message: error.to_string() }
    }
}

/// What a panic says.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(message), _) => (*message).to_owned(),
        (_, Some(message)) => message.clone(),
        _ => "(the panic's payload is not a string)".to_owned(),
    }
}

//! Errors of systems, and their messages.

use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use ancho_jobs::JobFailed;

use super::order::OrderError;
use crate::commands::{CommandError, PlaybackReport};
use crate::component::ComponentType;
use crate::debug_as_display::debug_as_display;
use crate::error::EntityError;
use crate::storage::OutOfMemory;
use crate::time::TimeError;

/// The result of a struct system. Function systems can return it too. The `?` operator converts any error.
///
/// The update reports an error with the name of the system, and runs the other systems.
#[doc(alias = "BevyError")]
pub type SystemResult = Result<(), Box<dyn Error + Send + Sync>>;

/// Error of an operation on a system.
#[derive(PartialEq)]
#[non_exhaustive]
pub enum SystemError {
    /// A0100, A0101, A0102: two parameters of a system conflict. A0070, A0086: a query of the system is invalid.
    Parameters {
        /// The name of the system.
        system: String,
        /// The message of the conflict, or of the query's error.
        conflict: String,
    },
    /// A0108: the world does not have the system.
    NoSuchSystem {
        /// The name or id that was looked up.
        system: String,
    },
    /// A0110: the target is not a group.
    NotAGroup {
        /// The system that was to join the group.
        what: String,
        /// The name of the target.
        target: String,
    },
    /// A0110: a group would contain itself.
    GroupInItself {
        /// The name of the group.
        group: String,
    },
    /// A0111: the option is only for groups, and the system is not a group.
    OnlyForGroups {
        /// The name of the system.
        system: String,
        /// The name of the option.
        what: &'static str,
    },
    /// A0097: the option sets the place of a system, and the system is a patch, which runs after each other system.
    OfPatch {
        /// The name of the system.
        system: String,
        /// The name of the option.
        what: &'static str,
    },
    /// A0098: the option is only for functions, and the system is not a function.
    OnlyForFunctions {
        /// The name of the system.
        system: String,
        /// The name of the option.
        what: &'static str,
    },
    /// A0112: `on_create` of a struct failed, or a parameter of a function panicked when it was created. The system was not added.
    NotCreated {
        /// The name of the system.
        system: String,
        /// The cause, with the message of the error or panic.
        reason: String,
    },
    /// A0114: the world does not have the command point.
    NoSuchPoint {
        /// The name of the point.
        point: &'static str,
    },
    /// A0116: the world already has a struct, group or point of this type.
    AlreadyThere {
        /// The name of the system.
        system: String,
    },
    /// A0117: the world is being dropped.
    WorldEnds {
        /// The name of the system.
        system: String,
    },
    /// A0131 to A0134: constraints on the order of creation cannot hold.
    Order {
        /// The message about the constraints.
        message: String,
    },
    /// A0121: the time step of a group was refused.
    Rate {
        /// The name of the group.
        group: String,
        /// The reason why the time step was refused.
        error: TimeError,
    },
    /// A0129: a system that a `Bootstrap` leaves out is not marked with `#[system]`.
    NoAutoSystem {
        /// The path of the system.
        path: String,
    },
    /// A0129: two functions are marked with `#[bootstrap]`.
    TwoBootstraps {
        /// The path of one function.
        first: &'static str,
        /// The path of the other function.
        second: &'static str,
    },
    /// A0223: two consecutive systems of a chain are in different groups.
    ChainAcrossGroups {
        /// The name of the earlier system.
        first: String,
        /// The name of the later system.
        second: String,
        /// The names of their groups.
        groups: [String; 2],
    },
    /// A0224: the world already has a plugin of this type.
    PluginTwice {
        /// The name of the plugin.
        plugin: String,
        /// The place of the call that added it.
        first: &'static Location<'static>,
        /// The place of the call that was refused.
        second: &'static Location<'static>,
    },
    /// A0225: a plugin failed or panicked. The systems, states and plugins that it added were removed.
    PluginFailed {
        /// The name of the plugin.
        plugin: String,
        /// The message of the error or panic.
        reason: String,
    },
    /// A0226: the world does not have the state.
    NoState {
        /// The name of the state.
        state: String,
    },
    /// A0227: the world already has the state.
    StateTwice {
        /// The name of the state.
        state: String,
    },
    /// A0228: a state depends on a state that was not added.
    StateMissing {
        /// The name of the missing state.
        state: String,
    },
    /// A0229: states depend on each other in a cycle.
    StateCycle {
        /// The names of the states, each of which depends on the next one.
        states: Vec<String>,
    },
    /// A0109: the world is being updated.
    InUpdate {
        /// The name of the refused method.
        what: &'static str,
    },
    /// A0200: a system that is not an observer has a parameter [`On`](crate::On).
    EventInSystem {
        /// The name of the system.
        system: String,
    },
    /// A0201: an observer has no parameter [`On`](crate::On).
    NoEvent {
        /// The name of the observer.
        system: String,
    },
    /// A0202: the option cannot be used for an observer.
    OfObserver {
        /// The name of the observer.
        system: String,
        /// The name of the option.
        what: &'static str,
    },
    /// A0202: the option is only for observers.
    OnlyForObservers {
        /// The name of the system.
        system: String,
        /// The name of the option.
        what: &'static str,
    },
    /// A0203: an observer has several parameters [`On`](crate::On).
    SeveralEvents {
        /// The name of the observer.
        system: String,
    },
    /// A0204: the enabled bits of a type are observed that has none.
    EventNotEnableable {
        /// The name of the observer.
        system: String,
        /// The type.
        component: ComponentType,
    },
    /// A0150: the system was removed, but failed in `on_stop_running` or `on_destroy`, or panicked when it was dropped.
    FailedToEnd {
        /// The name of the system.
        system: String,
        /// The errors of the system and of the systems that were removed with it.
        errors: String,
    },
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameters { system, conflict } => {
                fmt_with_prefix(f, conflict, &format!("system `{system}` cannot be added"))
            }
            Self::NoSuchSystem { system } => write!(
                f,
                "A0108: this world has no system {system}; add it, or use the world that has it"
            ),
            Self::NotAGroup { what, target } => write!(
                f,
                "A0110: {what} cannot be in `{target}`, which is not a group of this world; add the group first, or \
                 name another"
            ),
            Self::GroupInItself { group } => write!(
                f,
                "A0110: group `{group}` cannot be in itself, nor in a group that is in it; name another group"
            ),
            Self::OnlyForGroups { system, what } => write!(
                f,
                "A0111: `{what}` is for groups, but `{system}` is not a group; set it on the group that contains it"
            ),
            Self::OnlyForFunctions { system, what } => write!(
                f,
                "A0098: `{what}` is for function systems, but `{system}` is not a function, so its queries are \
                 unknown; remove it, and use `require` or `require_any`"
            ),
            Self::OfPatch { system, what } => write!(
                f,
                "A0097: `{what}` cannot be used for `{system}`: it is a patch, which runs after every other system; \
                 remove `{what}` or `patch`"
            ),
            Self::NotCreated { system, reason } => {
                write!(f, "A0112: system `{system}` was not added, because {reason}")
            }
            Self::NoSuchPoint { point } => no_such_point(point).fmt(f),
            Self::AlreadyThere { system } => write!(
                f,
                "A0116: this world already has `{system}`; structs, groups and points can be added once: remove the \
                 other, or use another type"
            ),
            Self::WorldEnds { system } => write!(
                f,
                "A0117: system `{system}` cannot be added to a world that is being dropped; add it before, or to another world"
            ),
            Self::Order { message } => f.write_str(message),
            Self::Rate { group, error } => {
                fmt_with_prefix(f, &error.to_string(), &format!("group `{group}` keeps its rate"))
            }
            Self::NoAutoSystem { path } => write!(
                f,
                "A0129: the system `{path}` cannot be left out, because no system with this path is marked with \
                 `#[system]`; `AutoSystem::all` lists the paths"
            ),
            Self::TwoBootstraps { first, second } => write!(
                f,
                "A0129: `{first}` and `{second}` are both marked with `#[bootstrap]`, but one function builds the \
                 default world; remove the attribute from one of them"
            ),
            Self::ChainAcrossGroups { first, second, groups: [group, other] } => write!(
                f,
                "A0223: `{second}` cannot be chained after `{first}`, because `{first}` is in `{group}` and `{second}` is in \
                 `{other}`; put all systems of a chain in one group"
            ),
            Self::PluginTwice { plugin, first, second } => write!(
                f,
                "A0224: plugin `{plugin}` was added at {first}, and cannot be added again at {second}; remove one of the calls, or \
                 use `require_plugin`"
            ),
            Self::PluginFailed { plugin, reason } => {
                write!(f, "A0225: plugin `{plugin}` was not added, because {reason}")
            }
            Self::NoState { state } => {
                write!(f, "A0226: this world has no state `{state}`; add it with `add_state`")
            }
            Self::StateTwice { state } => write!(
                f,
                "A0227: this world already has the state `{state}`; add it once, and change it with `set_state`"
            ),
            Self::StateMissing { state } => write!(
                f,
                "A0228: state `{state}` has to be added before states that depend on it; call `add_state` with its initial value"
            ),
            Self::StateCycle { states } => write!(
                f,
                "A0229: states depend on each other in a cycle: `{}`; remove one of these dependencies",
                states.join("` depends on `")
            ),
            Self::InUpdate { what } => write!(
                f,
                "A0109: `{what}` was called while the world is being updated; wait until the update returns"
            ),
            Self::EventInSystem { system } => write!(
                f,
                "A0200: system `{system}` has a parameter `On`, but only observers receive events; add it with \
                 `add_observer`"
            ),
            Self::NoEvent { system } => write!(
                f,
                "A0201: observer `{system}` has no parameter `On`, so it observes nothing; take the events as a parameter, \
                 such as `On<Add<T>>`, or add it with `add_system`"
            ),
            Self::OfObserver { system, what } => write!(
                f,
                "A0202: `{what}` cannot be used for observer `{system}`, which runs when events are delivered; remove \
                 `{what}`"
            ),
            Self::OnlyForObservers { system, what } => write!(
                f,
                "A0202: `{what}` is for observers, but `{system}` is a system; add it with `add_observer`, or remove `{what}`"
            ),
            Self::SeveralEvents { system } => write!(
                f,
                "A0203: observer `{system}` has several parameters `On`; observe a tuple of components, such as \
                 `On<Add<(A, B)>>`, or add an observer for each"
            ),
            Self::EventNotEnableable { system, component } => write!(
                f,
                "A0204: observer `{system}` observes the enabled bits of `{}`, which has none; write \
                 `#[component(enableable)]` on the type, or observe `Add` and `Remove`",
                component.name()
            ),
            Self::FailedToEnd { system, errors } => {
                write!(f, "A0150: `{system}` was removed, but failed during removal: {errors}")
            }
        }
    }
}

impl Error for SystemError {}

impl From<OrderError> for SystemError {
    fn from(error: OrderError) -> Self {
        Self::Order { message: error.to_string() }
    }
}

/// A fault of one system in an update, or of the update as a whole.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SystemFault {
    /// A0105: the system panicked.
    Panicked {
        /// The message of the panic.
        message: String,
    },
    /// A0106: the system returned an error.
    Failed {
        /// The message of the error that the system returned.
        message: String,
    },
    /// A run condition of the system panicked (A0105) or lacks a parameter (A0103, A0104). It counts as false.
    InCondition {
        /// The name of the condition.
        condition: &'static str,
        /// The fault of the condition.
        fault: Box<SystemFault>,
    },
    /// A0070, A0086, A0100 to A0102, A0112, A0117: the parameters of a one-shot system could not be created.
    Setup {
        /// The message of the error.
        message: String,
    },
    /// A0226: a state that the system's parameters need does not exist.
    NoState {
        /// The name of the state.
        state: &'static str,
    },
    /// A0230: after eight rounds of transitions at one point, there was another request. It waits for the next step.
    EndlessTransitions {
        /// The transitions of each round after the first one.
        chain: Vec<String>,
    },
    /// A0231: a value was requested of a sub-state that does not exist.
    StateRefused {
        /// The requested value.
        request: String,
    },
    /// A0232: a system or a component refers to a state that was not added.
    UnknownState {
        /// The kind of reference.
        reason: &'static str,
    },
    /// A0105: code of a state type, such as `clone` or `compute`, panicked.
    StatePanicked {
        /// The message of the panic.
        message: String,
    },
    /// A0222: a configured set has no systems.
    EmptySet,
    /// A0103: the world does not have a resource that the system's parameters need.
    NoResource {
        /// The name of the type of the resource.
        resource: &'static str,
    },
    /// A0166: the world does not have a non-send value that the system's parameters need.
    NoNonSend {
        /// The name of the type of the value.
        value: &'static str,
        /// The name of the thread that inserted the value, if that thread has ended and dropped the value.
        ended: Option<Arc<str>>,
    },
    /// A0167: a non-send value that the system's parameters need belongs to another thread.
    OtherThread {
        /// The name of the type of the value.
        value: &'static str,
        /// The name of the home thread.
        home: Arc<str>,
        /// The name of the thread that updated the world.
        current: Arc<str>,
    },
    /// A0168: a guard of a non-send value that the system's parameters need was leaked.
    LeakedNonSend {
        /// The name of the type of the value.
        value: &'static str,
    },
    /// A0104: a [`Single`](crate::Single) matches no entity, or more than one.
    NotSingle {
        /// The name of the type of the parameter.
        query: String,
        /// The number of matches.
        found: usize,
    },
    /// A0118: the world does not have the system of a [`SystemData`](crate::SystemData), or that system is being updated.
    NoData {
        /// The name of the system.
        system: &'static str,
    },
    /// A0114: the world does not have the point of a [`CommandsAt`](crate::CommandsAt).
    NoPoint {
        /// The name of the point.
        point: &'static str,
    },
    /// There is not enough memory to copy chunks that are shared with a fork.
    Memory(OutOfMemory),
    /// A0078: playback of the system's commands failed.
    Playback(CommandError),
    /// A0113: playback of buffers at a command point failed. Each error has the name of the recording system.
    Commands(Vec<(Arc<str>, String)>),
    /// A0160: commands of the system were skipped, because their entities no longer exist. A
    /// [warning](UpdateError::is_warning), not an error.
    SkippedCommands {
        /// The number of skipped commands in the update.
        count: usize,
        /// A description of the first skipped command, with its entity and the job that recorded it.
        first: String,
    },
    /// A0183: a message type has very many messages that a reader has not read. A [warning](UpdateError::is_warning), not an error.
    ManyMessages {
        /// The name of the message type.
        message: &'static str,
        /// The number of messages.
        count: u64,
    },
    /// A0107: a job of the system failed.
    Job(JobFailed),
    /// A0107: a job over entities of the world failed, and no system scheduled the job.
    JobOfWorld(JobFailed),
    /// A0097, A0123 to A0128: constraints on the order of the group's systems cannot hold.
    Order {
        /// The message about the constraints.
        message: String,
    },
    /// A0120: the time step of the update is invalid.
    Time(TimeError),
    /// A0120: the rate manager of the group returned an invalid time.
    RateTime(TimeError),
    /// A0108: the world does not have the system.
    NoSuchSystem,
    /// A0109: the system is being updated.
    IsExecuting,
    /// A0115: the system replaced its world by another one.
    WorldExchanged,
    /// A0205: commands of observers raised events for too many rounds of one delivery.
    EventRounds {
        /// The observers of the last round.
        observers: String,
        /// The component types of the dropped events.
        types: String,
    },
    /// The commands of the system need the system table, and are played when it is available. Never reported.
    #[doc(hidden)]
    Unfinished,
}

impl SystemFault {
    /// Tests whether the fault is a warning.
    pub(crate) fn is_warning(&self) -> bool {
        matches!(self, Self::SkippedCommands { .. } | Self::ManyMessages { .. })
    }

    /// Returns the warning about skipped commands of a playback, if there are any.
    pub(crate) fn skipped_commands(played: &Result<PlaybackReport, CommandError>) -> Option<Self> {
        let report = match played {
            Ok(report) => report,
            Err(error) => error.report()?,
        };
        let count = report.skipped();
        (count > 0).then(|| Self::SkippedCommands { count, first: report.first_skipped_in_words() })
    }

    /// Tests whether the fault prevented the call of the system.
    pub(crate) fn is_before_run(&self) -> bool {
        matches!(
            self,
            Self::InCondition { .. }
                | Self::NoState { .. }
                | Self::NoResource { .. }
                | Self::NoNonSend { .. }
                | Self::OtherThread { .. }
                | Self::LeakedNonSend { .. }
                | Self::NotSingle { .. }
                | Self::NoData { .. }
                | Self::NoPoint { .. }
                | Self::Memory(_)
        )
    }

    /// Returns the message of a fault about a non-send value. `refused` says what was not done.
    pub(crate) fn non_send_message(&self, refused: &str) -> Option<String> {
        Some(match self {
            Self::NoNonSend { value, ended: None } => format!(
                "A0166: {refused}, because the world has no non-send value `{value}`; insert it with \
                 `insert_non_send`, or handle its absence with an `Option`"
            ),
            Self::NoNonSend { value, ended: Some(home) } => format!(
                "A0166: {refused}, because the home thread `{home}` of the non-send value `{value}` has ended and \
                 dropped the value; insert it on a thread that lives as long as the world"
            ),
            Self::OtherThread { value, home, current } => format!(
                "A0167: {refused}, because the non-send value `{value}` belongs to thread `{home}`, and this is \
                 thread `{current}`; use the world on thread `{home}`, or insert the value on this thread"
            ),
            Self::LeakedNonSend { value } => format!(
                "A0168: {refused}, because a guard of the non-send value `{value}` was leaked; drop each `NonSend` \
                 and `NonSendMut`, and insert the value again"
            ),
            _ => return None,
        })
    }
}

/// An error or a [warning](Self::is_warning) of an update, with the name of the system.
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
#[derive(Clone)]
pub struct UpdateError {
    pub(crate) system: Arc<str>,
    /// The id of the system. `None` for errors of the world, and of systems that were removed.
    pub(crate) id: Option<super::SystemId>,
    pub(crate) fault: SystemFault,
    pub(crate) repeats: u64,
}

impl UpdateError {
    pub(crate) fn new(system: Arc<str>, fault: SystemFault) -> Self {
        Self { system, id: None, fault, repeats: 1 }
    }

    /// Returns the name of the system, or of the world if the error is not about a system.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// Returns the fault.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{SystemFault, World};
    ///
    /// fn crash() {
    ///     panic!("no navigation mesh");
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(crash);
    /// let errors = world.try_update(0.1).unwrap_err();
    /// let fault = errors.iter().next().unwrap().fault();
    /// assert!(matches!(fault, SystemFault::Panicked { message } if message == "no navigation mesh"));
    /// ```
    pub fn fault(&self) -> &SystemFault {
        &self.fault
    }

    /// Returns the number of times that this error has occurred in a row, including this time. A run of the system without the
    /// error ends the row.
    ///
    /// Errors are the same if system, code and message are the same. A system whose message changes in each run would never repeat
    /// an error, so after 100 different messages only system and code are compared.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// // Reports the first error of a row, and counts the others.
    /// world.set_error_handler(|error| {
    ///     if error.repeats() == 1 {
    ///         eprintln!("{error}");
    ///     }
    /// });
    /// world.add_system(|| Err::<(), _>("no fuel"));
    /// world.update(0.1);
    /// world.update(0.1);
    /// let errors = world.try_update(0.1).unwrap_err();
    /// assert_eq!(errors.iter().next().unwrap().repeats(), 3);
    /// ```
    pub fn repeats(&self) -> u64 {
        self.repeats
    }

    /// Tests whether this is a warning. The handler receives warnings. Without a handler, they are printed.
    /// [`World::update`](crate::World::update) never panics because of a warning, and [`World::try_update`](crate::World::try_update)
    /// does not return warnings.
    ///
    /// Warnings are [`SkippedCommands`](SystemFault::SkippedCommands) and [`ManyMessages`](SystemFault::ManyMessages).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// use ancho_entities::{CommandsAt, Component, EndSimulation, Entity, Query, With, World};
    ///
    /// #[derive(Component)]
    /// struct Tree;
    ///
    /// #[derive(Component)]
    /// struct Burning;
    ///
    /// fn fell(trees: Query<Entity, With<Tree>>, mut commands: CommandsAt<EndSimulation>) {
    ///     commands.commands().despawn(trees.iter().next().unwrap());
    /// }
    ///
    /// fn ignite(trees: Query<Entity, With<Tree>>, mut commands: CommandsAt<EndSimulation>) {
    ///     trees.iter().for_each(|tree| commands.commands().add(tree, Burning));
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Tree, Tree, Tree]);
    /// world.add_system(fell);
    /// world.add_system(ignite);
    /// let (sender, warnings) = mpsc::channel();
    /// world.set_error_handler(move |error| sender.send(error.is_warning()).unwrap());
    /// assert!(world.try_update(0.1).is_ok());
    /// assert_eq!(world.query::<&Burning>().count(), 2);
    /// assert_eq!(warnings.recv(), Ok(true));
    /// ```
    pub fn is_warning(&self) -> bool {
        self.fault.is_warning()
    }
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { system, fault, .. } = self;
        match fault {
            SystemFault::Panicked { message } => {
                write!(f, "A0105: system `{system}` panicked: {message}")
            }
            SystemFault::Failed { message } => {
                write!(f, "A0106: system `{system}` failed: {message}")
            }
            SystemFault::InCondition { condition, fault } => match &**fault {
                SystemFault::Panicked { message } => write!(
                    f,
                    "A0105: condition `{condition}` of system `{system}` panicked, and counts as false: {message}"
                ),
                fault => {
                    let message = Self::new(Arc::clone(system), fault.clone()).to_string();
                    let not_run = format!("system `{system}` was not run");
                    let is_false =
                        format!("condition `{condition}` of system `{system}` counts as false");
                    f.write_str(&message.replacen(&not_run, &is_false, 1))
                }
            },
            SystemFault::Setup { message } => f.write_str(message),
            SystemFault::NoState { state } => write!(
                f,
                "A0226: system `{system}` was not run, because the state `{state}` does not exist; add it with `add_state`, run \
                 the system only while the parent state has the right value, or take an `Option` of it"
            ),
            SystemFault::EndlessTransitions { chain } => write!(
                f,
                "A0230: state `{system}` was requested again after eight rounds of transitions at one point, and the request \
                 waits for the next step; the rounds after the first one: {}; make a request in one direction only",
                chain.join(", then ")
            ),
            SystemFault::StateRefused { request } => write!(
                f,
                "A0231: the request of state `{system}` ({request}) was dropped, because the state does not exist: its parent has \
                 another value; set the parent first, or in the same step"
            ),
            SystemFault::UnknownState { reason } => write!(
                f,
                "A0232: the state `{system}` was not added to this world, but {reason}; add it with `add_state`"
            ),
            SystemFault::StatePanicked { message } => {
                write!(f, "A0105: code of state `{system}` panicked: {message}")
            }
            SystemFault::EmptySet => write!(
                f,
                "A0222: set `{system}` was configured, but has no systems; add one with `in_set`, or allow it with `may_be_empty`"
            ),
            SystemFault::NoResource { resource } => write!(
                f,
                "A0103: system `{system}` was not run, because the world has no resource `{resource}`; insert it with \
                 `insert_resource`, or take an `Option` of it"
            ),
            SystemFault::NoNonSend { .. }
            | SystemFault::OtherThread { .. }
            | SystemFault::LeakedNonSend { .. } => {
                let refused = format!("system `{system}` was not run");
                f.write_str(&fault.non_send_message(&refused).unwrap_or_default())
            }
            SystemFault::NotSingle { query, found: 0 } => write!(
                f,
                "A0104: system `{system}` was not run, because `{query}` matches no entity; make it wait with \
                 `require`, or take an `Option` of it"
            ),
            SystemFault::NotSingle { query, found } => write!(
                f,
                "A0104: system `{system}` was not run, because `{query}` matches {found} entities instead of one; \
                 despawn the others, or take a `Query`"
            ),
            SystemFault::NoData { system: other } => write!(
                f,
                "A0118: system `{system}` was not run, because it reads system `{other}`, which does not exist or is \
                 being updated; add it to the world, and read it only in systems that it does not update"
            ),
            SystemFault::NoPoint { point } => {
                let message = no_such_point(point).to_string();
                fmt_with_prefix(f, &message, &format!("system `{system}` was not run"))
            }
            SystemFault::Memory(error) => {
                fmt_with_prefix(f, &error.to_string(), &format!("system `{system}` was not run"))
            }
            SystemFault::Playback(error) => {
                let prefix = format!("not all commands of system `{system}` were applied");
                fmt_with_prefix(f, &error.of_system().to_string(), &prefix)
            }
            SystemFault::Commands(failed) => {
                write!(f, "A0113: `{system}` did not apply all commands")?;
                for (recorder, message) in failed {
                    write!(f, "; those of `{recorder}`: {message}")?;
                }
                Ok(())
            }
            SystemFault::ManyMessages { message, count } => write!(
                f,
                "A0183: world `{system}` keeps {count} messages `{message}`, because a reader has not read them; let the reader \
                 run, remove its system, or set a limit with `#[message(limit = …)]`"
            ),
            SystemFault::SkippedCommands { count, first } => {
                let (commands, they) =
                    if *count == 1 { ("command", "it was") } else { ("commands", "they were") };
                write!(
                    f,
                    "A0160: system `{system}` recorded {count} {commands} for entities that no longer exist, and {they} \
                     skipped; the first is {first}; check entities with `exists` before commands are recorded, or let only \
                     one system despawn and change them"
                )
            }
            SystemFault::Job(failed) => {
                write!(f, "A0107: a job of system `{system}` failed: {failed}")
            }
            SystemFault::JobOfWorld(failed) => {
                write!(f, "A0107: a job of world `{system}` failed: {failed}")
            }
            SystemFault::Order { message } => f.write_str(message),
            SystemFault::Time(error) => error.fmt(f),
            SystemFault::RateTime(error) => {
                fmt_with_prefix(f, &error.to_string(), &format!("group `{system}` was not updated"))
            }
            SystemFault::NoSuchSystem => write!(
                f,
                "A0108: this world has no system {system}; add it, or use the world that has it"
            ),
            SystemFault::IsExecuting => {
                write!(f, "A0109: `{system}` is being updated; wait until its update returns")
            }
            SystemFault::EventRounds { observers, types } => write!(
                f,
                "A0205: in world `{system}`, the commands of observers raised events for 16 rounds, and the events of the \
                 next round were dropped; observers of the last round: {observers}; types of the dropped events: {types}; make \
                 observers change components only if that is necessary"
            ),
            SystemFault::Unfinished => {
                write!(f, "system `{system}` has not played its commands yet")
            }
            SystemFault::WorldExchanged => write!(
                f,
                "A0115: system `{system}` replaced its own world, and was dropped with it; swap worlds between updates"
            ),
        }
    }
}

impl Error for UpdateError {}

debug_as_display!(SystemError, UpdateError, UpdateErrors);

/// All errors of an update, in the order in which they occurred. The systems without an error ran, unless the update itself was
/// refused (A0109, A0120).
#[derive(Clone)]
pub struct UpdateErrors(pub(crate) Vec<UpdateError>);

impl UpdateErrors {
    /// Iterates over the errors.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, World};
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system((|| Err::<(), _>("no fuel")).named("engine"));
    /// world.add_system((|| Err::<(), _>("no ammunition")).named("gun"));
    /// let errors = world.try_update(0.1).unwrap_err();
    /// let systems: Vec<_> = errors.iter().map(|error| error.system()).collect();
    /// assert_eq!(systems, ["engine", "gun"]);
    /// ```
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

/// Writes a message with a prefix between its code and its text.
fn fmt_with_prefix(f: &mut fmt::Formatter<'_>, message: &str, prefix: &str) -> fmt::Result {
    let (code, text) = message.split_once(": ").unwrap_or(("", message));
    write!(f, "{code}: {prefix}: {text}")
}

fn no_such_point(point: &'static str) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        write!(f, "A0114: the world has no command point `{point}`; add it as a system")
    })
}

impl From<OutOfMemory> for SystemFault {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error)
    }
}

impl From<CommandError> for SystemFault {
    fn from(error: CommandError) -> Self {
        Self::Playback(error)
    }
}

impl From<EntityError> for SystemFault {
    fn from(error: EntityError) -> Self {
        Self::Failed { message: error.to_string() }
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(message), _) => (*message).to_owned(),
        (_, Some(message)) => message.clone(),
        _ => "(the panic's payload is not a string)".to_owned(),
    }
}

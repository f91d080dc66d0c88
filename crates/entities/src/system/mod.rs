//! Systems, and how they are updated.
//!
//! ```text
//! IntoSystem ──> SystemBuilder ──> a slot of the table: a function, a struct, a group or a point
//!                                  and a record of what is said of it
//! update ──> root ──> groups, each sorted when something has changed ──> systems, one after the other
//! ```
//!
//! A system is out of its slot while it runs, so that it can have the whole world. What happens to it meanwhile is noted in the
//! slot, and done when it has returned. Functions that cannot reach systems stay in their slots, and run in stretches.

mod add;
mod builder;
mod create_order;
mod defaults;
mod erased;
pub(crate) mod error;
mod fast_path;
mod function;
mod group;
pub(crate) mod id;
mod info;
mod jobs;
mod latency;
mod lifecycle;
mod membership;
pub(crate) mod order;
pub(crate) mod param;
pub(crate) mod point;
pub(crate) mod rate;
#[cfg(feature = "auto")]
pub(crate) mod registry;
mod requirement;
mod restore;
mod sort;
mod step;
pub(crate) mod system;
mod table;
mod target;
mod tell;
mod update;
mod update_guard;
mod uses;
mod watch;

pub use builder::{IntoSystem, IsBuilder, IsFunction, IsGroup, IsPoint, IsStruct, SystemBuilder};
pub use create_order::{CreationError, IntoSystems};
pub(crate) use error::panic_message;
pub use error::{SystemError, SystemFault, SystemResult, UpdateError, UpdateErrors};
pub use function::{SystemFunction, SystemOutput};
pub use group::{
    FixedStep, Initialization, LateSimulation, Presentation, Root, Simulation, SystemGroup,
    VariableStep,
};
pub use id::SystemId;
pub use info::{SystemInfo, SystemKind, SystemOrder};
pub use param::{
    CommandsAt, Local, OwnBuffer, ParamConflict, ParamSet, ParamSetup, PointBuffer, QueryState,
    Res, ResMut, Single, SystemData, SystemParam, SystemUses, UpdateAllocator, WorldOfParams,
};
pub use point::{
    BeginFixedStep, BeginInitialization, BeginPresentation, BeginSimulation, BeginVariableStep,
    CommandPoint, EndFixedStep, EndInitialization, EndSimulation, EndVariableStep,
};
pub use system::System;
pub(crate) use table::Systems;
pub use target::{ById, ByName, ByType, Said, SystemIs, SystemTarget, system_type};
pub(crate) use watch::Moment;

//! Systems, and the update that runs them.
//!
//! ```text
//! IntoSystem ──> SystemBuilder ──> slot of the table: function, struct, group or command point,
//!                                  with a record of its settings
//! update ──> root ──> groups, each sorted after a change ──> systems, one after the other
//! ```
//!
//! A running system is moved out of its slot, so that it can borrow the whole world. Changes to the system during the run are
//! recorded in the slot, and applied when the system returns. Functions that cannot access the system table stay in their slots:
//! consecutive functions of this kind run on a fast path.

/// Defines the built-in groups or points as unit structs. The name of each is that of its type.
macro_rules! named_units {
    ($implemented:ident: $($(#[$doc:meta])* $name:ident,)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $name;

            impl $implemented for $name {
                fn name() -> &'static str {
                    stringify!($name)
                }
            }
        )+
    };
}

mod add;
mod builder;
mod create_order;
mod fast_path;
mod function;
mod group;
mod info;
mod jobs;
mod lifecycle;
pub(crate) mod param;
pub(crate) mod point;
#[cfg(feature = "auto")]
pub(crate) mod registry;
mod restore;
#[expect(clippy::module_inception, reason = "it has the trait `System`")]
mod system;
mod update;
mod update_guard;

pub use builder::{
    BuildSystem, ByType, IntoSystem, IntoSystemTarget, IsFunction, IsGroup, IsPoint, IsStruct,
    SystemBuilder, system_type,
};
pub use create_order::IntoSystems;
pub use function::{FunctionShape, SystemFunction, SystemOutput};
pub use group::{
    FixedStep, Initialization, LateSimulation, Presentation, Root, Simulation, SystemGroup,
    VariableStep,
};
pub use info::{SystemInfo, SystemOrder};
pub use param::{
    CommandsAtState, CommandsState, Local, LocalState, ParamSet, ParamSetup, ParamState,
    QueryParamState, Res, ResMut, Single, SystemData, SystemParam, UnsafeWorldCell,
    UpdateAllocator,
};
pub use point::{
    BeginFixedStep, BeginInitialization, BeginPresentation, BeginSimulation, BeginVariableStep,
    CommandPoint, CommandsAt, EndFixedStep, EndInitialization, EndSimulation, EndVariableStep,
};
pub use system::System;

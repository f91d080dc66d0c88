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
                named_units!(@constants $implemented);

                fn name() -> &'static str {
                    stringify!($name)
                }
            }
        )+
    };
    (@constants SystemGroup) => {
        const IS_PLAIN: bool = true;
    };
    (@constants $other:ident) => {};
}

mod add;
mod builder;
mod condition;
mod create_order;
mod fast_path;
mod function;
mod group;
mod info;
mod jobs;
mod lifecycle;
mod observer;
mod one_shot;
pub(crate) mod param;
mod pipe;
mod plugin;
pub(crate) mod point;
#[cfg(feature = "auto")]
pub(crate) mod registry;
mod restore;
mod set;
mod startup;
mod state;
#[expect(clippy::module_inception, reason = "it has the trait `System`")]
mod system;
mod update;
mod update_guard;

pub use builder::{
    BuildSystem, ByType, IntoSystem, IntoSystemTarget, IsFunction, IsGroup, IsPoint, IsStruct,
    SystemBuilder, system_type,
};
pub use condition::{
    And, BuildCondition, Condition, ConditionFunction, ConditionTest, FunctionCondition,
    IsCombined, Not, Or as OrCondition, any_with, every, not, on_message, resource_changed,
    resource_exists, resource_removed,
};
pub use create_order::IntoSystems;
pub use function::{FunctionShape, SystemFunction, SystemOutput};
pub use group::{
    FixedStep, Initialization, LateSimulation, Presentation, Root, Simulation, SystemGroup,
    VariableStep,
};
pub use info::{SystemInfo, SystemOrder};
pub use observer::{
    Add, Despawn, Disable, Enable, Event, EventWith, Events, Insert, LifecycleEvent, OldValue, On,
    OnState, Remove, Removed, RemovedState, Replace, Replaced, Value,
};
pub use one_shot::{
    BuildOneShot, In, IntoOneShot, IsHandle, IsOneShot, OneShotFunction, SystemHandle, TypedSystem,
};
pub use param::{
    CommandsAtState, CommandsState, Local, LocalState, MessageReader, MessageWriter, ParamField,
    ParamSet, ParamSetup, ParamState, QueryParamState, ReadOnlyParam, ReaderState, Res, ResMut,
    ResourceRemoved, ResourceState, Single, SystemData, SystemParam, UnreadMessages, UnreadState,
    UnsafeWorldCell, UpdateAllocator, WriterState, require_param_field,
};
pub use pipe::{IsPipe, Pipe};
pub use plugin::{IntoPlugin, IsPlugin, Plugin};
pub use point::{
    BeginFixedStep, BeginInitialization, BeginPresentation, BeginSimulation, BeginVariableStep,
    CommandPoint, CommandsAt, EndFixedStep, EndInitialization, EndSimulation, EndVariableStep,
};
pub use set::{IsSystemSet, SetSettings, SystemSet};
pub use startup::Startup;
pub use state::{
    CheckedState, ComputedState, CurrentState, DespawnOnEnter, DespawnOnExit, NextState, RootState,
    SettableState, State, StateChain, StateRequest, StateSources, States, SubState, in_state,
    missing_state,
};
pub use system::System;

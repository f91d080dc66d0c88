//! Systems, and the update that runs them.
//!
//! ```text
//! IntoSystem ──> SystemBuilder ──> slot of the table: function, struct, group or command point,
//!                                  with a record of its settings
//! update ──> root ──> groups, each sorted after a change ──> systems, one after the other
//! ```
//!
//! A running system is moved out of its slot, so that it can borrow the whole world. Changes to it meanwhile are recorded in
//! the slot, and applied when it returns. Functions that cannot access the system table stay in their slots: consecutive ones
//! run on a fast path.

mod add;
mod builder;
mod create_order;
pub(crate) mod error;
mod fast_path;
mod function;
mod group;
mod info;
mod jobs;
mod lifecycle;
pub(crate) mod order;
pub(crate) mod param;
pub(crate) mod point;
pub(crate) mod rate;
#[cfg(feature = "auto")]
pub(crate) mod registry;
mod restore;
#[expect(clippy::module_inception, reason = "it has the trait `System`")]
mod system;
mod table;
mod update;
mod update_guard;

use std::fmt;

pub use builder::{
    ByType, IntoSystem, IntoSystemTarget, IsFunction, IsGroup, IsPoint, IsStruct, SystemBuilder,
    system_type,
};
pub use create_order::IntoSystems;
pub(crate) use error::panic_message;
pub use error::{SystemError, SystemFault, SystemResult, UpdateError, UpdateErrors};
pub use function::{SystemFunction, SystemOutput};
pub use group::{
    FixedStep, Initialization, LateSimulation, Presentation, Root, Simulation, SystemGroup,
    VariableStep,
};
pub use info::Moment;
pub use info::{SystemInfo, SystemKind, SystemOrder};
pub use param::{
    CommandsAtState, CommandsState, Local, LocalState, ParamConflict, ParamSet, ParamSetup,
    ParamState, QueryParamState, Res, ResMut, Single, SystemAccess, SystemData, SystemParam,
    UnsafeWorldCell, UpdateAllocator,
};
pub use point::{
    BeginFixedStep, BeginInitialization, BeginPresentation, BeginSimulation, BeginVariableStep,
    CommandPoint, CommandsAt, EndFixedStep, EndInitialization, EndSimulation, EndVariableStep,
};
pub use system::System;
pub(crate) use table::Systems;

/// Identifies a system of a world. Returned by [`World::add_system`](crate::World::add_system).
///
/// It is valid in one world, until the system is removed; no later system gets the same id. Unity's `SystemHandle`.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
///
/// fn nothing() {}
///
/// let mut world = World::new("Simulation");
/// let id = world.add_system(nothing);
/// assert!(world.has_system(id));
/// world.remove_system(id).unwrap();
/// assert!(!world.has_system(id));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SystemId {
    /// The slot's index in the lower half, its generation in the upper. Two fields are passed in registers, three would be
    /// passed in memory, and ids are passed for each system that runs.
    place: u64,
    world: u32,
}

impl SystemId {
    const fn new(world: u32, index: u32, generation: u32) -> Self {
        Self { place: (generation as u64) << 32 | index as u64, world }
    }

    #[inline(always)]
    const fn index(self) -> u32 {
        self.place as u32
    }

    #[inline(always)]
    const fn generation(self) -> u32 {
        (self.place >> 32) as u32
    }
}

impl fmt::Debug for SystemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemId({}v{})", self.index(), self.generation())
    }
}

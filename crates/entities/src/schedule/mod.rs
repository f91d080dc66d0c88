//! Parts of the system table that do not depend on worlds: ids of systems, their order, rates, access and errors.
//!
//! `world` has the system table. `system` runs the systems.

mod access;
mod error;
mod order;
mod points;
mod rate;
mod repeats;
mod requirements;

use std::fmt;

pub(crate) use access::{AccessedData, ParamAccess};
pub use access::{ParamConflict, SystemAccess};
pub(crate) use error::panic_message;
pub use error::{SystemError, SystemFault, SystemResult, UpdateError, UpdateErrors};
pub use order::SystemTarget;
pub(crate) use order::latency::{LatencyAccess, delay_waits};
pub(crate) use order::{Constraints, Elsewhere, OrderError, OrderItem, SetConstraint, sort};
pub(crate) use points::{Points, WaitingBuffer};
pub use rate::{FixedRateCatchUp, FixedRateSimple, RateManager, RateState, RateTurn, VariableRate};
pub(crate) use repeats::ErrorLog;
pub(crate) use requirements::{RequiredQuery, Requirements};

/// Identifies a system of a world. Returned by [`World::add_system`](crate::World::add_system).
///
/// An id is valid in one world until the system is removed. No later system gets the same id. This is Unity's `SystemHandle`.
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
    /// The slot's index in the lower half, its generation in the upper half. Ids are passed to functions for each system that runs:
    /// an id with the two fields of this struct is passed in registers, one with three fields would be passed in memory.
    place: u64,
    pub(crate) world: u32,
}

impl SystemId {
    pub(crate) const fn new(world: u32, index: u32, generation: u32) -> Self {
        Self { place: (generation as u64) << 32 | index as u64, world }
    }

    #[inline(always)]
    pub(crate) const fn index(self) -> u32 {
        self.place as u32
    }

    #[inline(always)]
    pub(crate) const fn generation(self) -> u32 {
        (self.place >> 32) as u32
    }
}

impl fmt::Debug for SystemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemId({}v{})", self.index(), self.generation())
    }
}

//! The names that most programs need: `use ancho::prelude::*;`. There are at most 40 of them.
//!
//! Names that a typical system does not need are in the modules of the crate.

#[doc(no_inline)]
#[cfg(feature = "derive")]
pub use ancho_burst::burst;
#[doc(no_inline)]
pub use ancho_collections::NativeList;
#[doc(no_inline)]
pub use ancho_entities::{
    Buffer, BufferElement, Changed, Commands, CommandsAt, Component, EndSimulation, Entity,
    IntoSystem, Local, Lookup, Parent, Prefab, Presentation, Query, QueryDescriptor, Res, ResMut,
    Resource, Shared, SharedComponent, Simulation, Single, System, SystemGroup, SystemResult, Time,
    With, Without, World,
};
#[doc(no_inline)]
pub use ancho_jobs::{JobHandle, JobPool, JobScheduler};
#[doc(no_inline)]
#[cfg(feature = "transforms")]
pub use ancho_transforms::{AddTransforms, LocalToWorld};
#[doc(no_inline)]
pub use glam::{Quat, Vec2, Vec3};

//! The names that most programs want: `use ancho::prelude::*;`.
//!
//! What is not in a typical system is not here, but in the modules of the crate.

#[doc(no_inline)]
#[cfg(feature = "derive")]
pub use ancho_burst::burst;
#[doc(no_inline)]
pub use ancho_collections::{NativeArray, NativeHashMap, NativeList};
#[doc(no_inline)]
pub use ancho_entities::{
    Aspect, Buffer, BufferElement, Changed, Commands, Component, DynamicBuffer, Entity,
    EntityCommandBuffer, EntityManager, EntityQuery, IntoSystem, Local, Lookup, Managed,
    ManagedComponent, Prefab, Query, Res, ResMut, Shared, SharedComponent, Single, System, Time,
    With, Without, World,
};
#[doc(no_inline)]
pub use ancho_jobs::{JobHandle, JobPool, JobScheduler};
#[doc(no_inline)]
#[cfg(feature = "transforms")]
pub use ancho_transforms::{AddTransforms, LocalToWorld, LocalTransform, Parent};
#[doc(no_inline)]
pub use glam::{Mat4, Quat, Vec2, Vec3, Vec4};

#![doc = include_str!("../README.md")]

mod aspect;
mod bits;
mod compose;
mod error;
mod flat;
mod freeze;
mod freezing;
mod hierarchy;
mod inner;
mod inputs;
mod links;
mod local_transform;
mod look;
mod matrices;
mod not_finite;
mod on_demand;
mod order;
mod outputs;
mod parent;
mod propagate;
mod reused;
mod state;
mod systems;

pub use aspect::{TransformAspect, TransformView};
pub use error::{TransformError, TransformErrors};
pub use freeze::{Frozen, FrozenPending, Static};
pub use inputs::{Position, PostTransformMatrix, Rotation, Scale};
pub use local_transform::LocalTransform;
pub use look::look_rotation;
pub use on_demand::{depth_of, relative_to, world_transform};
pub use outputs::{CustomLocalToWorld, LocalToParent, LocalToWorld};
pub use parent::{Attach, Attached, Child, Parent, PreviousParent};
pub use systems::{
    AddTransforms, LocalToWorldSystem, ParentSystem, TransformGroup, TransformSystem,
    update_transforms,
};

#![doc = include_str!("../README.md")]

mod compose;
mod error;
mod flat;
mod freeze;
mod inputs;
mod local_transform;
mod look;
mod matrices;
mod not_finite;
mod outputs;
mod parent;
mod state;
mod systems;

pub use error::{TransformError, TransformErrors};
pub use freeze::{Frozen, FrozenPending, Static};
pub use inputs::{Position, PostTransformMatrix, Rotation, Scale};
pub use local_transform::LocalTransform;
pub use look::look_rotation;
pub use outputs::{CustomLocalToWorld, LocalToParent, LocalToWorld};
pub use parent::{Attach, Attached, Child, Parent, PreviousParent};
pub use systems::{
    AddTransforms, LocalToWorldSystem, ParentSystem, TransformGroup, TransformSystem,
    update_transforms,
};

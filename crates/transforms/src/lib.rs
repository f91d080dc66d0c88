#![doc = include_str!("../README.md")]

mod aspect;
mod components;
mod compose;
mod error;
mod hierarchy;
mod links;
mod local_transform;
mod on_demand;
mod parent_matrices;
mod propagate;
mod scratch;
mod systems;
mod tree;
mod update;

pub use ancho_entities::{Child, Parent};
pub use aspect::{TransformAspect, TransformView};
pub use components::{
    Attach, Attached, CustomLocalToWorld, Frozen, FrozenPending, LocalToParent, LocalToWorld,
    Position, PostTransformMatrix, Rotation, Scale, Static,
};
pub use error::{TransformError, TransformErrors};
pub use local_transform::{LocalTransform, look_rotation};
pub use on_demand::{depth_of, relative_to, world_transform};
pub use systems::{
    AddTransforms, LocalToWorldSystem, ParentSystem, TransformGroup, TransformSystem,
    update_transforms,
};
pub use tree::{ChildSpawner, spawn_prefab, spawn_tree};

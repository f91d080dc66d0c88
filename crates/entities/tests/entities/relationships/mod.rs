//! Relationships: both directions of links always agree.

mod bulk;
mod commands;
mod despawn;
mod errors;
mod failures;
mod hierarchy;
mod instantiate;
mod links;
mod model;
mod transfer;

use ancho_entities::{BufferElement, Component, Entity};

/// Ordered, acyclic and linked, as [`ancho_entities::Parent`].
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::ChildOf")]
#[relationship(reverse = Children, ordered, acyclic, on_target_despawn = despawn)]
pub(crate) struct ChildOf(pub(crate) Entity);

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(name = "game::Children", reverse_of = ChildOf)]
pub(crate) struct Children(Entity);

/// Unordered, and not linked. Cycles are allowed.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::Targets")]
#[relationship(reverse = TargetedBy, on_target_despawn = detach)]
pub(crate) struct Targets {
    pub(crate) enemy: Entity,
}

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(name = "game::TargetedBy", reverse_of = Targets)]
pub(crate) struct TargetedBy(Entity);

/// An entity may like itself.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::Likes")]
#[relationship(reverse = LikedBy, allow_self)]
pub(crate) struct Likes(pub(crate) Entity);

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(name = "game::LikedBy", reverse_of = Likes)]
pub(crate) struct LikedBy(Entity);

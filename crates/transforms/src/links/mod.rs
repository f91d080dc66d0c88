//! The part of an update that needs structural changes: requests to attach, matrices of new nodes, and checks of prefab trees.
//!
//! `Parent` and `Child` are a relationship of `ancho_entities`, so both directions of each link always agree, and there are no cycles.

mod attach;
mod prefabs;

use ancho_entities::{Disabled, Entity, EntityError, Prefab, World};

use crate::error::{TransformError, TransformErrors};
use crate::scratch::{EntityMarks, Reused};
use crate::update::{NodeCache, State, add_matrices, advance_version};
use prefabs::PrefabChecks;

/// State of the links between two updates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    prefabs: PrefabChecks,
    pub(crate) marks: Reused<EntityMarks>,
    /// The result of the last [`list_active`](Self::list_active).
    pub(crate) active: Reused<Vec<Entity>>,
}

/// Applies requests to attach, adds matrices, and checks prefabs.
pub(crate) fn update(world: &mut World, state: &mut State) -> Result<(), TransformErrors> {
    let mut errors = TransformErrors::default();
    // Must run before these nodes get new matrices.
    NodeCache::forget_lost(&mut state.cache, world);
    let done = change_structure(world, &mut errors);
    state.links.prefabs.update(world, state.links_version, &mut errors);
    state.links_version = advance_version(world);
    errors.extend(done.err().map(TransformError::Entities));
    errors.into_result()
}

fn change_structure(world: &mut World, errors: &mut TransformErrors) -> Result<(), EntityError> {
    attach::apply(world, errors)?;
    attach::detach(world)?;
    add_matrices(world)
}

/// Tests whether an entity is disabled or a prefab, so that it and its descendants keep their matrices.
pub(crate) fn is_inactive(world: &World, entity: Entity) -> bool {
    world.has::<Disabled>(entity) || world.has::<Prefab>(entity)
}

/// Tests whether an entity does not exist, or has only cleanup components left.
fn is_missing(world: &World, entity: Entity) -> bool {
    !world.exists(entity) || world.is_cleanup_only(entity)
}

//! Checks of prefab trees, which need a `Prefab` tag and a `Parent` in each child, and a `LinkedEntityGroup` in the root.

use ancho_entities::{
    Changed, Entity, IncludeDisabled, IncludePrefabs, LinkedEntityGroup, Prefab, Version, With,
    World,
};

use crate::components::Parent;
use crate::error::TransformError;

/// Returns an error if an inactive parent is a prefab. Its child is not a prefab, because updates skip prefabs.
///
/// A disabled prefab is an error too: enabling it does not make it active.
pub(super) fn live_child_error(
    world: &World,
    child: Entity,
    prefab: Entity,
) -> Option<TransformError> {
    world.has::<Prefab>(prefab).then_some(TransformError::ChildOfPrefab { child, prefab })
}

/// Lists prefabs with a prefab as parent that no linked group of an ancestor lists, among the chunks in which a `Parent` was written
/// since a version.
///
/// The queries of updates skip prefabs, so this is the only step that visits them. It costs a check of the versions of their chunks.
pub(super) fn unlisted_children(world: &World, since: Version) -> Vec<TransformError> {
    type ChangedPrefab = (With<Prefab>, Changed<Parent>, IncludeDisabled, IncludePrefabs);
    let mut prefabs = world.query_filtered::<(Entity, &Parent), ChangedPrefab>().since(since);
    let mut errors = Vec::new();
    prefabs.for_each(|(child, &Parent(parent))| {
        errors.extend(unlisted_child_error(world, child, parent));
    });
    errors
}

/// Returns an error if the ancestors of a child include a prefab, and no linked group of an ancestor lists the child.
fn unlisted_child_error(world: &World, child: Entity, parent: Entity) -> Option<TransformError> {
    let mut root = None;
    let mut at = parent;
    // A cycle of prefabs ends after as many steps as there are entities.
    for _ in 0..world.entity_count() {
        if !world.has::<Prefab>(at) {
            break;
        }
        root = Some(at);
        let group = world.buffer::<LinkedEntityGroup>(at).unwrap_or_default();
        if group.contains(&LinkedEntityGroup(child)) {
            return None;
        }
        match world.get::<Parent>(at) {
            Ok(&Parent(parent)) => at = parent,
            Err(_) => break,
        }
    }
    root.map(|root| TransformError::NotInPrefab { child, root })
}

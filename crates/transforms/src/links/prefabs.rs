//! Checks of prefab trees, in which each entity needs a `Prefab` tag, and each group lists all descendants.

use ancho_entities::{
    Buffer, Changed, Child, Entity, IncludeDisabled, IncludePrefabs, LinkedEntityGroup, Parent,
    Prefab, Version, With, World,
};

use crate::error::{TransformError, TransformErrors};

/// State of the checks between two updates.
#[derive(Clone, Debug, Default)]
pub(super) struct PrefabChecks {
    /// The order version of prefabs at the last check.
    order_version: u32,
    /// Children of prefabs that are not prefabs, and were reported.
    reported: Vec<Entity>,
}

impl PrefabChecks {
    /// Reports children of prefabs that are not prefabs, and prefabs that no group lists, since a version.
    ///
    /// The queries of updates skip prefabs, so this is the only step that visits them. Without changes, it costs a comparison of the
    /// versions of their chunks.
    pub(super) fn update(&mut self, world: &World, since: Version, errors: &mut TransformErrors) {
        let order_version = world.component_order_version::<Prefab>();
        let is_moved = self.order_version != order_version;
        self.order_version = order_version;
        self.reported.retain(|&child| prefab_above(world, child).is_some());
        type Parents<'a> = (Entity, &'a Buffer<Child>);
        type All = (With<Prefab>, IncludeDisabled, IncludePrefabs);
        let mut report = |(prefab, children): (Entity, &[Child])| {
            for &Child(child) in children {
                if !world.has::<Prefab>(child) && !self.reported.contains(&child) {
                    self.reported.push(child);
                    errors.extend([TransformError::ChildOfPrefab { child, prefab }]);
                }
            }
        };
        if is_moved {
            // An entity may have lost or got the tag.
            world.query_filtered::<Parents<'_>, All>().for_each(&mut report);
        } else {
            let changed = world.query_filtered::<Parents<'_>, (All, Changed<Buffer<Child>>)>();
            changed.since(since).for_each(&mut report);
        }
        let written = world.query_filtered::<(Entity, &Parent), (All, Changed<Parent>)>();
        written.since(since).for_each(|(child, &Parent(parent))| {
            errors.extend(unlisted_child_error(world, child, parent));
        });
    }
}

/// Returns the parent of an entity that is not a prefab, if the parent is one.
fn prefab_above(world: &World, child: Entity) -> Option<Entity> {
    let parent = world.target::<Parent>(child)?;
    (world.has::<Prefab>(parent) && !world.has::<Prefab>(child)).then_some(parent)
}

/// Returns an error if prefabs above a child have linked groups, and none of the groups lists the child.
fn unlisted_child_error(world: &World, child: Entity, parent: Entity) -> Option<TransformError> {
    let mut root = None;
    let mut at = Some(parent);
    while let Some(prefab) = at.filter(|&prefab| world.has::<Prefab>(prefab)) {
        if let Ok(group) = world.buffer::<LinkedEntityGroup>(prefab) {
            if group.contains(&LinkedEntityGroup(child)) {
                return None;
            }
            root = Some(prefab);
        }
        at = world.target::<Parent>(prefab);
    }
    root.map(|root| TransformError::NotInPrefab { child, root })
}

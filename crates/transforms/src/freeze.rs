//! Freezes static entities once their matrices are computed.

use std::sync::Arc;

use ancho_entities::{Entity, EntityError, QueryFilter, With, Without, World};

use crate::components::{
    CustomLocalToWorld, Frozen, FrozenPending, LocalToWorld, Parent, PreviousParent, Static,
};
use crate::links::{Links, is_inactive, is_missing};
use crate::scratch::EntityMarks;
use crate::update::NodeCache;

/// Freezes the pending entities, and makes new static entities pending.
///
/// Inactive entities are skipped: their matrices are not computed.
pub(crate) fn freeze(
    world: &mut World,
    links: &mut Links,
    cache: &mut Arc<NodeCache>,
) -> Result<(), EntityError> {
    type Pending = (With<(FrozenPending, LocalToWorld)>, Without<CustomLocalToWorld>);
    type Found =
        (With<(Static, LocalToWorld)>, Without<(FrozenPending, Frozen, CustomLocalToWorld)>);
    let are_all = links.list_active::<Pending>(world);
    if are_all && !links.active.is_empty() {
        // Whole chunks at a time.
        world
            .query_mut::<()>()
            .filter::<Pending>()
            .add(Frozen)
            .map_err(|rejected| rejected.error)?;
        world.query_mut::<()>().filter::<Pending>().remove::<FrozenPending>()?;
    } else {
        for &entity in &*links.active {
            if !world.has::<Frozen>(entity) {
                world.add(entity, Frozen).map_err(|rejected| rejected.error)?;
            }
            world.remove::<FrozenPending>(entity)?;
        }
    }
    let are_all = links.list_active::<Found>(world);
    // Forces a last computation, which reports matrices that are not finite.
    links.active.iter().for_each(|&entity| NodeCache::forget(cache, entity));
    if are_all {
        let found = world.query_mut::<()>().filter::<Found>();
        found.add(FrozenPending).map_err(|rejected| rejected.error)?;
    } else {
        for &entity in &*links.active {
            world.add(entity, FrozenPending).map_err(|rejected| rejected.error)?;
        }
    }
    Ok(())
}

/// Takes back the freezing of entities without a finite matrix. The next update finds them again.
pub(crate) fn cancel_freeze(world: &mut World, non_finite: &[Entity]) -> Result<(), EntityError> {
    for &entity in non_finite {
        if world.has::<FrozenPending>(entity) {
            world.remove::<FrozenPending>(entity)?;
        }
    }
    Ok(())
}

impl Links {
    /// Lists the active entities that match a filter. Returns whether they are all that match.
    pub(crate) fn list_active<F: QueryFilter>(&mut self, world: &World) -> bool {
        let Self { active, marks, .. } = self;
        active.clear();
        let mut above =
            ActivityCache { active: marks.new_mark(), inactive: marks.new_mark(), marks };
        let mut are_all = true;
        let found = world.query::<(Entity, Option<&Parent>)>().filter::<F>();
        found.for_each(|(entity, parent)| {
            if parent.is_some() && above.is_inactive_branch(world, entity) {
                are_all = false;
            } else {
                active.push(entity);
            }
        });
        are_all
    }
}

/// Finds entities below inactive ones. Each entity is visited once, however many entities are below it.
struct ActivityCache<'a> {
    marks: &'a mut EntityMarks,
    /// The mark of active entities, and the mark of inactive ones.
    active: u64,
    inactive: u64,
}

impl ActivityCache<'_> {
    /// Tests whether an entity or one of its ancestors is inactive.
    fn is_inactive_branch(&mut self, world: &World, entity: Entity) -> bool {
        let walk = self.marks.new_mark();
        let mut at = entity;
        let is_inactive_branch = loop {
            if is_missing(world, at)
                || is_inactive(world, at)
                || self.marks.has_mark(at, self.inactive)
            {
                break true;
            }
            if self.marks.has_mark(at, self.active) {
                break false;
            }
            // A cycle has no root.
            if self.marks.mark(at, walk) == walk {
                break true;
            }
            match (parent_of(world, at), world.get::<PreviousParent>(at)) {
                (None, _) => break false,
                // The links do not reflect its parent yet, or it waits for the parent.
                (Some(parent), Ok(previous)) if previous.0 != parent => break true,
                (Some(_), Err(_)) => break true,
                (Some(parent), Ok(_)) => at = parent,
            }
        };
        let mark = if is_inactive_branch { self.inactive } else { self.active };
        let mut at = Some(entity).filter(|&entity| self.marks.has_mark(entity, walk));
        while let Some(entity) = at {
            self.marks.mark(entity, mark);
            at = parent_of(world, entity).filter(|&parent| self.marks.has_mark(parent, walk));
        }
        is_inactive_branch
    }
}

fn parent_of(world: &World, entity: Entity) -> Option<Entity> {
    world.get::<Parent>(entity).ok().map(|parent| parent.0)
}

//! Static entities: their components, and the update that freezes them.

use std::sync::Arc;

use ancho_entities::{Component, Entity, EntityError, QueryFilter, With, Without, World};

use crate::components::{CustomLocalToWorld, LocalToWorld, Parent, PreviousParent};
use crate::links::{Links, is_inactive, is_missing};
use crate::scratch::EntityMarks;
use crate::update::NodeCache;

/// Marks an entity that will not move after its [`LocalToWorld`](crate::LocalToWorld) has been computed.
///
/// The update that finds it computes the matrix one last time and adds [`FrozenPending`]. The next update replaces that by [`Frozen`]. From
/// then on the matrix stays as it is, even if the parent moves. Children are still placed relative to it.
///
/// An inactive entity, which is below a [`Disabled`](ancho_entities::Disabled) one or disabled itself, is frozen once it is active again.
/// An entity whose matrix is not finite (A0141) is frozen once it is finite; until then each update reports it.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{AddTransforms, Frozen, LocalToWorld, Position, Static};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// world.add_transforms();
/// let house = world.spawn((Position(Vec3::X), Static));
/// world.update(0.1);
/// world.update(0.1);
/// assert!(world.has::<Frozen>(house));
/// world.get_mut::<Position>(house)?.0 = Vec3::Y;
/// world.update(0.1);
/// assert_eq!(world.get::<LocalToWorld>(house)?.position(), Vec3::X);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::Static")]
pub struct Static;

/// Marks a [`Static`] entity that the next update makes [`Frozen`]. Added and removed by the systems.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::FrozenPending")]
pub struct FrozenPending;

/// Marks a [`Static`] entity whose [`LocalToWorld`](crate::LocalToWorld) is no longer written.
///
/// To let the entity move again, remove both this and [`Static`]. If only this is removed, the matrix is computed once more and the entity
/// is frozen again.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::Frozen")]
pub struct Frozen;

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

//! Static entities: their components, and the update that freezes them.

use std::sync::Arc;

use ancho_entities::{Component, Entity, EntityError, QueryFilter, With, Without, World};

use crate::components::{CustomLocalToWorld, LocalToWorld, Parent, PreviousParent};
use crate::links::{Links, is_inactive, is_missing};
use crate::scratch::EntityMarks;
use crate::update::NodeCache;

/// An entity that will not move any more, once its [`LocalToWorld`](crate::LocalToWorld) has been made.
///
/// The update that finds it makes the matrix a last time, and adds [`FrozenPending`]; the next one makes that [`Frozen`]. From
/// then on the entity is left as it is, also if its parent moves. Its children go on being placed by it.
///
/// Who rests, since it or an entity above it is [`Disabled`](ancho_entities::Disabled), is not frozen before it takes part again.
/// Who has a place that is not a number (A0141) is not frozen before it has another, and each update names it until then.
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

/// An entity that is [`Static`] and will be [`Frozen`] by the next update. It is added and removed by the systems.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::FrozenPending")]
pub struct FrozenPending;

/// An entity whose [`LocalToWorld`](crate::LocalToWorld) is not written any more: from [`Static`].
///
/// To have it move again, remove both, this and [`Static`]. If only this is removed, its matrix is made once more, and it is
/// frozen again.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[component(name = "ancho::Frozen")]
pub struct Frozen;

/// Freezes what was found to be static the last time, and looks for what is.
///
/// Who is below one that rests is not placed, and so is not frozen either.
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
        // Whole chunks at once.
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
    // They are placed a last time, also if they have not moved: who has no place has to be found now.
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

/// Has those not be frozen that could not be placed. They are found again by the next update.
pub(crate) fn cancel_freeze(world: &mut World, non_finite: &[Entity]) -> Result<(), EntityError> {
    for &entity in non_finite {
        if world.has::<FrozenPending>(entity) {
            world.remove::<FrozenPending>(entity)?;
        }
    }
    Ok(())
}

impl Links {
    /// Lists those that pass a filter and take part, with all that is above them. Returns whether they are all that pass.
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

/// Finds out who is below one that rests. Each entity is asked once, however many are below it.
struct ActivityCache<'a> {
    marks: &'a mut EntityMarks,
    /// The round in which those are seen that take part, and the one of the others.
    active: u64,
    inactive: u64,
}

impl ActivityCache<'_> {
    /// Whether an entity rests, or one above it does.
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
            // Who is above itself is nowhere.
            if self.marks.mark(at, walk) == walk {
                break true;
            }
            match (parent_of(world, at), world.get::<PreviousParent>(at)) {
                (None, _) => break false,
                // Nobody has taken notice of its parent yet, or it waits for it.
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

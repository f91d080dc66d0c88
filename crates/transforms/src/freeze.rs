//! Entities that never move again.

use ancho_entities::{Component, EntityError, With, Without, World};

use crate::hierarchy::Hierarchy;
use crate::links::Links;
use crate::not_finite::NotFinite;
use crate::outputs::{CustomLocalToWorld, LocalToWorld};

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
    hierarchy: &mut Hierarchy,
) -> Result<(), EntityError> {
    type Pending = (With<(FrozenPending, LocalToWorld)>, Without<CustomLocalToWorld>);
    type Found =
        (With<(Static, LocalToWorld)>, Without<(FrozenPending, Frozen, CustomLocalToWorld)>);
    let are_all = links.list_awake::<Pending>(world);
    if are_all && !links.awake.is_empty() {
        // Whole chunks at once.
        world
            .query_mut::<()>()
            .filter::<Pending>()
            .add(Frozen)
            .map_err(|rejected| rejected.error)?;
        world.query_mut::<()>().filter::<Pending>().remove::<FrozenPending>()?;
    } else {
        for &entity in &links.awake {
            if !world.has::<Frozen>(entity) {
                world.add(entity, Frozen).map_err(|rejected| rejected.error)?;
            }
            world.remove::<FrozenPending>(entity)?;
        }
    }
    let are_all = links.list_awake::<Found>(world);
    // They are placed a last time, also if they have not moved: who has no place has to be found now.
    links.awake.iter().for_each(|&entity| hierarchy.forget(entity));
    if are_all {
        let found = world.query_mut::<()>().filter::<Found>();
        found.add(FrozenPending).map_err(|rejected| rejected.error)?;
    } else {
        for &entity in &links.awake {
            world.add(entity, FrozenPending).map_err(|rejected| rejected.error)?;
        }
    }
    Ok(())
}

/// Has those not be frozen that could not be placed. They are found again by the next update.
pub(crate) fn leave_unfrozen(world: &mut World, bad: &NotFinite) -> Result<(), EntityError> {
    for &entity in bad.found().iter() {
        if world.has::<FrozenPending>(entity) {
            world.remove::<FrozenPending>(entity)?;
        }
    }
    Ok(())
}

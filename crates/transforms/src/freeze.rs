//! Entities that never move again.

use ancho_entities::Component;

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

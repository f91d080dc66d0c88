//! When transforms are updated.

use ancho_entities::{
    IntoSystem, LateSimulation, Simulation, System, SystemGroup, SystemResult, World, system_type,
};

use crate::error::TransformErrors;
use crate::links;
use crate::update::{self, with_state};

/// The group of the systems that make matrices: at the end of [`Simulation`], before [`LateSimulation`].
///
/// It has [`ParentSystem`], then [`LocalToWorldSystem`]. A system that is to see the matrices of its own frame is in
/// [`LateSimulation`], or in [`Presentation`](ancho_entities::Presentation). Other systems of [`Simulation`] run before this group;
/// `after(TransformGroup)` is refused for them (A0127). Unity's `TransformSystemGroup`, of which it is not said where in the group it
/// runs.
///
/// ```
/// use ancho_entities::{IntoSystem, LateSimulation, Query, World};
/// use ancho_transforms::{AddTransforms, LocalToWorld};
///
/// fn follow(places: Query<&LocalToWorld>) {}
///
/// let mut world = World::new("Simulation");
/// world.add_transforms();
/// world.add_system(follow.in_group(LateSimulation));
/// world.sort_systems().unwrap();
/// ```
///
/// Both systems run in every frame. Those of Unity run only if there is something that their queries match, and so do not see that
/// the last parent is gone. In a world without transforms they look at its archetypes, and that is all.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransformGroup;

impl SystemGroup for TransformGroup {
    fn name() -> &'static str {
        "TransformGroup"
    }
}

/// The system that keeps [`Child`](crate::Child) buffers, by what has become of each [`Parent`](crate::Parent).
#[derive(Clone, Copy, Debug, Default)]
pub struct ParentSystem;

/// The system that makes each [`LocalToWorld`](crate::LocalToWorld) of which something has changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalToWorldSystem;

/// A system that does the work of all of [`TransformGroup`], to be added where matrices are wanted at other points of the frame, too.
///
/// What one instance has done, the others need not do again. With [`patch`](IntoSystem::patch) it runs after every other system.
///
/// # Examples
///
/// ```
/// use ancho_entities::{FixedStep, IntoSystem, World};
/// use ancho_transforms::{AddTransforms, LocalToWorld, Position, TransformSystem};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// world.add_transforms();
/// world.add_system(TransformSystem.in_group(FixedStep).last());
/// let stone = world.spawn(Position(Vec3::Y));
/// world.update(0.1);
/// assert_eq!(world.get::<LocalToWorld>(stone)?.position(), Vec3::Y);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TransformSystem;

impl System for ParentSystem {
    fn on_update(&mut self, world: &mut World) -> SystemResult {
        Ok(update_parents(world)?)
    }
}

impl System for LocalToWorldSystem {
    fn on_update(&mut self, world: &mut World) -> SystemResult {
        Ok(update_matrices(world)?)
    }
}

impl System for TransformSystem {
    fn on_update(&mut self, world: &mut World) -> SystemResult {
        Ok(update_transforms(world)?)
    }
}

/// Adds the systems of this crate to a world.
pub trait AddTransforms {
    /// Adds [`TransformGroup`] and its systems, unless they are there already.
    ///
    /// # Panics
    ///
    /// If the world is being dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    /// use ancho_transforms::{AddTransforms, LocalToWorld, LocalTransform, Parent};
    /// use glam::Vec3;
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_transforms();
    /// let sun = world.spawn(LocalTransform::from_position(Vec3::X));
    /// let earth = world.spawn((LocalTransform::from_position(Vec3::Z), Parent(sun)));
    /// world.update(0.1);
    /// assert_eq!(world.get::<LocalToWorld>(earth)?.position(), Vec3::new(1.0, 0.0, 1.0));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    fn add_transforms(&mut self) -> &mut Self;
}

impl AddTransforms for World {
    #[track_caller]
    fn add_transforms(&mut self) -> &mut Self {
        if self.find_system(TransformGroup).is_none() {
            self.add_system(TransformGroup.in_group(Simulation).last().before(LateSimulation));
            self.add_system(ParentSystem.in_group(TransformGroup));
            let after_parents = LocalToWorldSystem.after(system_type::<ParentSystem>());
            self.add_system(after_parents.in_group(TransformGroup));
        }
        self
    }
}

/// Updates all transforms of a world now, as its systems would.
///
/// It is for programs that call what they do by themselves, and need no systems.
///
/// # Errors
///
/// With A0140 if entities would be their own ancestors, with A0141 if a place is not a number, with A0145 if something cannot be
/// attached, with A0146 if somebody has taken a child out of the buffer of its parent; or if there is no memory. The rest is done
/// all the same.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{LocalToWorld, Position, update_transforms};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// let stone = world.spawn(Position(Vec3::Y));
/// update_transforms(&mut world)?;
/// assert_eq!(world.get::<LocalToWorld>(stone)?.position(), Vec3::Y);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn update_transforms(world: &mut World) -> Result<(), TransformErrors> {
    let parents = update_parents(world);
    let matrices = update_matrices(world);
    TransformErrors::of([parents, matrices])
}

fn update_parents(world: &mut World) -> Result<(), TransformErrors> {
    with_state(world, links::update)
}

fn update_matrices(world: &mut World) -> Result<(), TransformErrors> {
    with_state(world, update::update_matrices)
}

//! Systems that update transforms, and the update as a function.

#[cfg(test)]
mod tests;

use ancho_entities::{
    ComponentType, IntoSystem, LateSimulation, Simulation, System, SystemGroup, SystemResult,
    World, system_type,
};

use crate::components::WasAttached;
use crate::error::TransformErrors;
use crate::update::{self, with_state};
use crate::{
    Attach, Attached, Child, CustomLocalToWorld, Frozen, FrozenPending, LocalToParent,
    LocalToWorld, LocalTransform, Parent, Position, PostTransformMatrix, Rotation, Scale, Static,
    links,
};

/// Group of the transform systems, at the end of [`Simulation`], before [`LateSimulation`].
///
/// It runs [`ParentSystem`], then [`LocalToWorldSystem`]. Systems that read the matrices of the same frame belong to
/// [`LateSimulation`] or [`Presentation`](ancho_entities::Presentation). Other systems of [`Simulation`] run before this group;
/// they cannot be ordered with `after(TransformGroup)` (A0127). Unity's `TransformSystemGroup`, whose place in the group is not
/// specified.
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
/// Both systems run in every frame. In a world without transforms, the systems only visit archetypes.
#[derive(Clone, Copy, Debug, Default)]
#[doc(alias = "TransformSystemGroup")]
#[doc(alias = "TransformSystems")]
pub struct TransformGroup;

impl SystemGroup for TransformGroup {
    fn name() -> &'static str {
        "TransformGroup"
    }
}

/// System that applies requests to [attach](crate::Attach), adds missing matrices, and checks trees of prefabs.
///
/// The world itself updates [`Child`](crate::Child) buffers, together with each change of a [`Parent`](crate::Parent).
#[derive(Clone, Copy, Debug, Default)]
pub struct ParentSystem;

/// System that writes each [`LocalToWorld`](crate::LocalToWorld) whose inputs have changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalToWorldSystem;

/// System that does the work of the whole [`TransformGroup`]. Use it to update matrices at other points of the frame.
///
/// Several instances share their state, so none repeats the work of another. With [`patch`](IntoSystem::patch), it runs after every
/// other system.
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

/// Extension trait that adds the transform systems to a world.
pub trait AddTransforms {
    /// Adds [`TransformGroup`] and its systems, unless the world already has them.
    ///
    /// # Panics
    ///
    /// Panics if the world is being dropped.
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
    #[doc(alias = "TransformPlugin")]
    fn add_transforms(&mut self) -> &mut Self;
}

impl AddTransforms for World {
    #[track_caller]
    fn add_transforms(&mut self) -> &mut Self {
        if self.find_system(TransformGroup).is_none() {
            register_components();
            self.add_system(TransformGroup.in_group(Simulation).last().before(LateSimulation));
            self.add_system(ParentSystem.in_group(TransformGroup));
            let after_parents = LocalToWorldSystem.after(system_type::<ParentSystem>());
            self.add_system(after_parents.in_group(TransformGroup));
        }
        self
    }
}

/// Registers all components of this crate, so that a file with them can be loaded before the systems run.
fn register_components() {
    ComponentType::of::<Attach>();
    ComponentType::of::<Attached>();
    ComponentType::of::<CustomLocalToWorld>();
    ComponentType::of::<Frozen>();
    ComponentType::of::<FrozenPending>();
    ComponentType::of::<LocalToParent>();
    ComponentType::of::<LocalToWorld>();
    ComponentType::of::<LocalTransform>();
    ComponentType::of::<Parent>();
    ComponentType::of::<Position>();
    ComponentType::of::<PostTransformMatrix>();
    ComponentType::of::<Rotation>();
    ComponentType::of::<Scale>();
    ComponentType::of::<Static>();
    ComponentType::of::<WasAttached>();
    ComponentType::of_buffer::<Child>();
}

/// Updates all transforms of a world, as the systems do.
///
/// Use it in programs without systems.
///
/// # Errors
///
/// - A0140 and A0210 for an [`Attach`](crate::Attach) that would make an entity its own ancestor or parent
/// - A0141 for matrices that are not finite
/// - A0145 for an [`Attach`](crate::Attach) that refers to a missing entity
/// - A0170 and A0171 for prefab trees that are incomplete
/// - an [`EntityError`](ancho_entities::EntityError) if memory ran out
///
/// After an error, the update still processes all other entities.
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

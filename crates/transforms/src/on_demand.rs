//! Where an entity is now.

use ancho_burst::math::affine3a;
use ancho_entities::{
    Any, Entity, EntityError, FilterWriteGroups, IncludeDisabled, IncludePrefabs, QueryDescriptor,
    With, Without, World,
};
use glam::{Affine3A, Mat4};

use crate::compose::{InputData, Inputs, Placing, is_finite};
use crate::error::TransformError;
use crate::freeze::Frozen;
use crate::links::is_gone;
use crate::outputs::{CustomLocalToWorld, LocalToWorld};
use crate::parent::Parent;

/// Where an entity is now: the matrix that the next update would make, by the values and parents that it and its ancestors have at
/// this moment.
///
/// An ancestor that has a [`Parent`], and nothing else that it is placed by, is where that one is. What the update does otherwise:
///
/// - It leaves entities as they are that are [`Disabled`](ancho_entities::Disabled) or a [`Prefab`](ancho_entities::Prefab), or are
///   below such a one. This is where they would be.
/// - It makes a [`FrozenPending`](crate::FrozenPending) entity [`Frozen`] where it was, though it has moved since.
/// - It carries out each [`Attach`](crate::Attach), and sees that an [`Attached`](crate::Attached) is removed. Neither counts here
///   before it has.
/// - It gives a place to a parent that has none, and undoes what makes a cycle. Here both are errors.
///
/// It is for one entity, now and then. [`LocalToWorld`] is there already, and as good if nothing has moved since the last update.
/// Unity's `ComputeWorldTransformMatrix`.
///
/// # Errors
///
/// If there is no such entity, or only what is left of it; with A0142 if it or an ancestor has nothing that it is placed by, with A0140 if it is its own ancestor,
/// with A0141 if it, or an ancestor on the way, is at a place that the update would refuse.
///
/// # Complexity
///
/// As many steps as it has ancestors.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{Parent, Position, world_transform};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// let ship = world.spawn(Position(Vec3::X));
/// let gun = world.spawn((Position(Vec3::Y), Parent(ship)));
/// // No update has been made yet.
/// assert_eq!(world_transform(&world, gun)?.position(), Vec3::new(1.0, 1.0, 0.0));
/// # Ok::<(), ancho_transforms::TransformError>(())
/// ```
pub fn world_transform(world: &World, entity: Entity) -> Result<LocalToWorld, TransformError> {
    check_is_there(world, entity)?;
    let mut branch = Vec::new();
    let mut at = entity;
    let most = world.entity_count();
    let mut matrix = loop {
        match step(world, at) {
            Step::There(matrix) => break matrix,
            Step::Relative(matrix, parent) => {
                branch.push(matrix);
                at = parent;
            }
            Step::Nowhere => {
                return Err(TransformError::NotPlaced { entity, ancestor: at });
            }
        }
        if branch.len() > most {
            return Err(cycle_at(world, at));
        }
    };
    let mut are_all_finite = is_finite(&matrix);
    // From the root on, as the systems do, so that it is the same to the last bit.
    for local in branch.iter().rev() {
        matrix *= *local;
        are_all_finite &= is_finite(&matrix);
    }
    if are_all_finite {
        Ok(LocalToWorld::from(matrix))
    } else {
        Err(TransformError::NotFinite { entity, count: 1 })
    }
}

/// Says why an entity does not exist. What is left of one that was despawned does not, either.
fn check_is_there(world: &World, entity: Entity) -> Result<(), EntityError> {
    world.entity_archetype(entity)?;
    if world.is_cleanup_only(entity) {
        // As if its slot were free already.
        let slot_version = Some(entity.version().wrapping_add(1));
        return Err(EntityError::NoSuchEntity { entity, slot_version });
    }
    Ok(())
}

/// Where an entity is.
enum Step {
    /// In the world.
    There(Affine3A),
    /// Relative to another.
    Relative(Affine3A, Entity),
    Nowhere,
}

fn step(world: &World, entity: Entity) -> Step {
    if let Ok(custom) = world.get::<CustomLocalToWorld>(entity) {
        return Step::There(Affine3A::from_mat4(custom.0));
    }
    let matrix = world.get::<LocalToWorld>(entity);
    if let Ok(matrix) = matrix
        && !is_written(world, entity)
    {
        return Step::There(matrix.affine());
    }
    let inputs = world.query_filtered::<InputData, (IncludeDisabled, IncludePrefabs)>();
    let Some((position, rotation, scale, local, post)) = inputs.get(entity) else {
        return Step::Nowhere;
    };
    let inputs = Inputs {
        position: position.map(std::slice::from_ref),
        rotation: rotation.map(std::slice::from_ref),
        scale: scale.map(std::slice::from_ref),
        local: local.map(std::slice::from_ref),
        post: post.map(std::slice::from_ref),
    };
    let is_placed = position.is_some() || rotation.is_some() || scale.is_some() || local.is_some();
    match parent_of(world, entity) {
        Some(parent) => Step::Relative(inputs.get(0), parent),
        None if is_placed => Step::There(inputs.get(0)),
        None => Step::Nowhere,
    }
}

/// The parent of an entity, if it has one that is there.
fn parent_of(world: &World, entity: Entity) -> Option<Entity> {
    let parent = world.get::<Parent>(entity).ok()?.0;
    (!is_gone(world, parent)).then_some(parent)
}

/// Whether the matrix of an entity that has one is written by the systems.
fn is_written(world: &World, entity: Entity) -> bool {
    type Data = (&'static mut LocalToWorld, InputData, Option<&'static Parent>);
    type Placed = (Any<Placing>, Without<Frozen>);
    type Child = (With<Parent>, Without<Frozen>);
    type All<F> = (F, IncludeDisabled, IncludePrefabs, FilterWriteGroups);
    QueryDescriptor::of::<Data, All<Placed>>().query(world).matches(entity)
        || QueryDescriptor::of::<Data, All<Child>>().query(world).matches(entity)
}

/// The cycle that an entity is in.
fn cycle_at(world: &World, entity: Entity) -> TransformError {
    let next = |&at: &Entity| parent_of(world, at).filter(|&parent| parent != entity);
    let entities = std::iter::successors(Some(entity), next).collect();
    TransformError::Cycle { entities, undone: None }
}

/// How many ancestors an entity has at this moment: none if it has no parent, one if its parent has none, and so on.
///
/// Whether it has children is a matter of its [`Child`](crate::Child) buffer. Unity's former `Depth`, which was a shared component of
/// all that had children, so that those of each level had chunks of their own. Here the order in which nodes are placed is kept
/// beside the chunks, and nobody has to move to another one when a branch is given another parent.
///
/// # Errors
///
/// If there is no such entity, or only what is left of it; with A0140 if it is its own ancestor.
///
/// # Complexity
///
/// As many steps as it has ancestors.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{Parent, Position, depth_of};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// let ship = world.spawn(Position(Vec3::X));
/// let gun = world.spawn((Position(Vec3::Y), Parent(ship)));
/// assert_eq!((depth_of(&world, ship)?, depth_of(&world, gun)?), (0, 1));
/// # Ok::<(), ancho_transforms::TransformError>(())
/// ```
pub fn depth_of(world: &World, entity: Entity) -> Result<usize, TransformError> {
    check_is_there(world, entity)?;
    let most = world.entity_count();
    let mut depth = 0;
    let mut at = entity;
    while let Some(parent) = parent_of(world, at) {
        (at, depth) = (parent, depth + 1);
        if depth > most {
            return Err(cycle_at(world, at));
        }
    }
    Ok(depth)
}

/// What places an entity, as a child of another, where a matrix of the world is: for those who know where something should be, and
/// have to write it relative to its parent.
///
/// `None` if the parent is scaled to nothing along an axis.
///
/// # Examples
///
/// ```
/// use ancho_transforms::{LocalToWorld, relative_to};
/// use glam::{Mat4, Vec3};
///
/// let parent = LocalToWorld(Mat4::from_translation(Vec3::X));
/// let local = relative_to(&parent, Mat4::from_translation(Vec3::Y)).unwrap();
/// assert_eq!(local.w_axis.truncate(), Vec3::new(-1.0, 1.0, 0.0));
/// ```
pub fn relative_to(parent: &LocalToWorld, in_world: Mat4) -> Option<Mat4> {
    let local = affine3a::inverse(parent.affine()) * Affine3A::from_mat4(in_world);
    local.is_finite().then(|| Mat4::from(local))
}

//! World matrices and depths, computed on demand from parents.

use ancho_burst::math::affine3a;
use ancho_entities::{
    Any, Entity, EntityError, FilterWriteGroups, IncludeDisabled, IncludePrefabs, Parent,
    QueryDescriptor, With, Without, World,
};
use glam::{Affine3A, Mat4};

use crate::components::{CustomLocalToWorld, Frozen, LocalToWorld};
use crate::compose::{InputData, Inputs, LocalInputs, is_finite};
use crate::error::TransformError;

/// Computes the current world matrix of an entity: the matrix that the next update would write.
///
/// An ancestor without inputs has the matrix of its [`Parent`]. The result differs from that of an update in these cases:
///
/// - An update skips entities that are [`Disabled`](ancho_entities::Disabled) or a [`Prefab`](ancho_entities::Prefab), and all
///   entities below. This function computes their matrices.
/// - An update freezes a [`FrozenPending`](crate::FrozenPending) entity at its last matrix, even if its inputs have changed since.
/// - An update applies each [`Attach`](crate::Attach), and detaches children without [`Attached`](crate::Attached). This function
///   ignores both.
/// - An update adds a matrix to a parent without one. This function returns an error.
///
/// Use this function for single entities. Reading [`LocalToWorld`] is cheaper, and has the same result if nothing has moved since
/// the last update. This is Unity's `ComputeWorldTransformMatrix`.
///
/// # Errors
///
/// - an [`EntityError`](ancho_entities::EntityError) if the entity does not exist, or has only cleanup components left
/// - A0141 if the matrix of the entity or of an ancestor is not finite
/// - A0142 if the entity or an ancestor has no transform
///
/// # Complexity
///
/// Linear in the number of ancestors.
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
#[doc(alias = "ComputeWorldTransformMatrix")]
#[doc(alias = "TransformHelper")]
pub fn world_transform(world: &World, entity: Entity) -> Result<LocalToWorld, TransformError> {
    check_exists(world, entity)?;
    let mut branch = Vec::new();
    let mut at = entity;
    let mut matrix = loop {
        match step(world, at) {
            Step::World(matrix) => break matrix,
            Step::Relative(matrix, parent) => {
                branch.push(matrix);
                at = parent;
            }
            Step::Unplaced => {
                return Err(TransformError::NotPlaced { entity, ancestor: at });
            }
        }
    };
    let mut are_all_finite = is_finite(&matrix);
    // Multiplies from the root down, as the systems do, so that the result has the same bits.
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

/// Returns an error if an entity does not exist, or has only cleanup components left.
fn check_exists(world: &World, entity: Entity) -> Result<(), EntityError> {
    world.entity_archetype(entity)?;
    if world.is_cleanup_only(entity) {
        // Returns the same error as for a free index.
        let slot_version = Some(entity.version().wrapping_add(1));
        return Err(EntityError::NoSuchEntity { entity, slot_version });
    }
    Ok(())
}

/// One step from an entity towards its root.
enum Step {
    /// The matrix in world space.
    World(Affine3A),
    /// The matrix relative to a parent.
    Relative(Affine3A, Entity),
    Unplaced,
}

fn step(world: &World, entity: Entity) -> Step {
    if let Ok(custom) = world.get::<CustomLocalToWorld>(entity) {
        return Step::World(Affine3A::from_mat4(custom.0));
    }
    let matrix = world.get::<LocalToWorld>(entity);
    if let Ok(matrix) = matrix
        && !is_computed(world, entity)
    {
        return Step::World(matrix.affine());
    }
    let inputs = world.query_filtered::<InputData, (IncludeDisabled, IncludePrefabs)>();
    let Some((position, rotation, scale, local, post)) = inputs.get(entity) else {
        return Step::Unplaced;
    };
    let inputs = Inputs {
        position: position.map(std::slice::from_ref),
        rotation: rotation.map(std::slice::from_ref),
        scale: scale.map(std::slice::from_ref),
        local: local.map(std::slice::from_ref),
        post: post.map(std::slice::from_ref),
    };
    let is_placed = position.is_some() || rotation.is_some() || scale.is_some() || local.is_some();
    match world.target::<Parent>(entity) {
        Some(parent) => Step::Relative(inputs.get(0), parent),
        None if is_placed => Step::World(inputs.get(0)),
        None => Step::Unplaced,
    }
}

/// Tests whether the systems write the matrix of an entity. The entity has to have one.
fn is_computed(world: &World, entity: Entity) -> bool {
    type Data = (&'static mut LocalToWorld, InputData, Option<&'static Parent>);
    type Placed = (Any<LocalInputs>, Without<Frozen>);
    type Child = (With<Parent>, Without<Frozen>);
    type All<F> = (F, IncludeDisabled, IncludePrefabs, FilterWriteGroups);
    QueryDescriptor::of::<Data, All<Placed>>().query(world).matches(entity)
        || QueryDescriptor::of::<Data, All<Child>>().query(world).matches(entity)
}

/// Returns the number of ancestors of an entity. It is zero for an entity without a parent.
///
/// To test for children, use the [`Child`](crate::Child) buffer. Unity's former `Depth` was a shared component, so each level had
/// its own chunks. Here the order of nodes is cached outside of the chunks, and no entity moves when a branch gets another parent.
///
/// # Errors
///
/// Returns an error if the entity does not exist or has only cleanup components left.
///
/// # Complexity
///
/// Linear in the number of ancestors.
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
    check_exists(world, entity)?;
    Ok(world.ancestors::<Parent>(entity)?.count())
}

/// Converts a world matrix to a matrix relative to a parent.
///
/// Returns `None` if the scale of the parent is zero along an axis.
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

//! A naive computation: 4×4 matrices of `f64`, multiplied from the root to the entity each time.

use std::collections::BTreeSet;
use std::ops::Mul;

use ancho_entities::{Component, Disabled, Entity, World};
use ancho_transforms::{
    Attach, Attached, CustomLocalToWorld, Frozen, FrozenPending, LocalToParent, LocalToWorld,
    LocalTransform, Parent, Position, PostTransformMatrix, Rotation, Scale,
};
use glam::{Mat4, Quat, Vec3};

/// Marks an entity whose matrix the program writes.
#[derive(Component, Clone, Copy)]
#[component(name = "reference::Steered", write_group(LocalToWorld))]
pub(crate) struct Steered;

/// Columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix([[f64; 4]; 4]);

impl Matrix {
    pub(crate) const IDENTITY: Matrix = Matrix([
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]);

    pub(crate) fn translation(by: Vec3) -> Matrix {
        let mut matrix = Matrix::IDENTITY;
        for (to, from) in matrix.0[3].iter_mut().zip(by.to_array()) {
            *to = f64::from(from);
        }
        matrix
    }

    /// The images of the axes, each rotated by `q v q*`. A quaternion of length zero counts as identity.
    pub(crate) fn rotation(by: Quat) -> Matrix {
        let [x, y, z, w] = by.to_array().map(f64::from);
        if [x, y, z, w] == [0.0; 4] {
            return Matrix::IDENTITY;
        }
        let product = |[a, b, c, d]: [f64; 4], [e, f, g, h]: [f64; 4]| {
            [
                d * e + a * h + b * g - c * f,
                d * f - a * g + b * h + c * e,
                d * g + a * f - b * e + c * h,
                d * h - a * e - b * f - c * g,
            ]
        };
        let mut matrix = Matrix::IDENTITY;
        for column in &mut matrix.0[..3] {
            let [a, b, c, _] = product(product([x, y, z, w], *column), [-x, -y, -z, w]);
            *column = [a, b, c, 0.0];
        }
        matrix
    }

    pub(crate) fn scale(by: Vec3) -> Matrix {
        let mut matrix = Matrix::IDENTITY;
        for (axis, factor) in by.to_array().into_iter().enumerate() {
            matrix.0[axis][axis] = f64::from(factor);
        }
        matrix
    }

    /// Returns the largest relative difference of a number to its counterpart.
    pub(crate) fn distance(&self, found: Mat4) -> f64 {
        let pairs = self.0.iter().flatten().zip(found.to_cols_array());
        let distances = pairs.map(|(wanted, found)| {
            let distance = (wanted - f64::from(found)).abs();
            // What is not a number is as far off as can be.
            if distance.is_nan() { f64::INFINITY } else { distance / wanted.abs().max(1.0) }
        });
        distances.fold(0.0, f64::max)
    }
}

impl From<Mat4> for Matrix {
    fn from(matrix: Mat4) -> Matrix {
        Matrix(matrix.to_cols_array_2d().map(|column| column.map(f64::from)))
    }
}

impl Mul for Matrix {
    type Output = Matrix;

    fn mul(self, right: Matrix) -> Matrix {
        let entry = |column: usize, row: usize| {
            (0..4).map(|middle| self.0[middle][row] * right.0[column][middle]).sum()
        };
        Matrix(std::array::from_fn(|column| std::array::from_fn(|row| entry(column, row))))
    }
}

/// Composes the matrix of an entity relative to its parent.
pub(crate) fn local(world: &World, entity: Entity) -> Matrix {
    let place = match world.get::<LocalTransform>(entity) {
        Ok(LocalTransform { position, rotation, scale }) => {
            let scale = Matrix::scale(Vec3::splat(*scale));
            Matrix::translation(*position) * Matrix::rotation(*rotation) * scale
        }
        Err(_) => {
            let position = world.get::<Position>(entity).map_or(Vec3::ZERO, |position| position.0);
            let rotation =
                world.get::<Rotation>(entity).map_or(Quat::IDENTITY, |rotation| rotation.0);
            let scale = world.get::<Scale>(entity).map_or(Vec3::ONE, |scale| scale.0);
            Matrix::translation(position) * Matrix::rotation(rotation) * Matrix::scale(scale)
        }
    };
    match world.get::<PostTransformMatrix>(entity) {
        Ok(post) => place * Matrix::from(post.0),
        Err(_) => place,
    }
}

/// Returns the parent of an entity, if it was not despawned. Requests to attach count as applied, and detached children have no parent.
pub(crate) fn parent(world: &World, living: &BTreeSet<Entity>, entity: Entity) -> Option<Entity> {
    let orders = world.query::<&Attach>();
    let ordered = orders.iter().filter(|order| order.child == entity).map(|order| order.parent);
    let was_attached = world.has::<LocalToParent>(entity) && !world.has::<Attached>(entity);
    let own = world.get::<Parent>(entity).ok().filter(|_| !was_attached).map(|parent| parent.0);
    ordered.last().or(own).filter(|parent| living.contains(parent))
}

/// Returns the entity and its ancestors.
pub(crate) fn line(
    world: &World,
    living: &BTreeSet<Entity>,
    entity: Entity,
) -> impl Iterator<Item = Entity> {
    std::iter::successors(Some(entity), move |entity| parent(world, living, *entity))
}

/// Tests whether an entity or one of its ancestors is inactive.
pub(crate) fn rests(world: &World, living: &BTreeSet<Entity>, entity: Entity) -> bool {
    line(world, living, entity).any(|entity| world.has::<Disabled>(entity))
}

/// Returns the expected matrix of an entity after the next update. `None` if it is inactive or placed by the program, and has no matrix
/// yet.
pub(crate) fn placed(world: &World, living: &BTreeSet<Entity>, entity: Entity) -> Option<Matrix> {
    if let Ok(custom) = world.get::<CustomLocalToWorld>(entity) {
        return Some(Matrix::from(custom.0));
    }
    // Who is frozen by the update is not placed by it any more.
    let is_frozen = world.has::<Frozen>(entity) || world.has::<FrozenPending>(entity);
    let is_given = is_frozen || world.has::<Steered>(entity);
    if is_given || rests(world, living, entity) {
        return world.get::<LocalToWorld>(entity).ok().map(|place| Matrix::from(place.0));
    }
    let local = local(world, entity);
    match parent(world, living, entity) {
        Some(parent) => Some(placed(world, living, parent)? * local),
        None => Some(local),
    }
}

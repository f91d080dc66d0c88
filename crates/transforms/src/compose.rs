//! Composes local matrices from the components that programs write.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ancho_entities::Entity;
use glam::{Affine3A, BVec4A, Mat3A, Quat, Vec3, Vec3A, Vec4, Vec4Swizzles};

use crate::components::{Position, PostTransformMatrix, Rotation, Scale};
use crate::local_transform::LocalTransform;

/// Input columns of contiguous entities, with one slice for each component type of the entities.
#[derive(Clone, Copy, Default)]
pub(crate) struct Inputs<'a> {
    pub(crate) position: Option<&'a [Position]>,
    pub(crate) rotation: Option<&'a [Rotation]>,
    pub(crate) scale: Option<&'a [Scale]>,
    pub(crate) local: Option<&'a [LocalTransform]>,
    pub(crate) post: Option<&'a [PostTransformMatrix]>,
}

/// Query data of [`Inputs`].
pub(crate) type InputData = (
    Option<&'static Position>,
    Option<&'static Rotation>,
    Option<&'static Scale>,
    Option<&'static LocalTransform>,
    Option<&'static PostTransformMatrix>,
);

/// Types of which an entity needs at least one to get a [`LocalToWorld`].
pub(crate) type LocalInputs = (Position, Rotation, Scale, LocalTransform);

/// All types from which a local matrix is composed.
pub(crate) type AllInputs = (Position, Rotation, Scale, LocalTransform, PostTransformMatrix);

/// Slices of a query of [`InputData`].
type InputSlices<'a> = (
    Option<&'a [Position]>,
    Option<&'a [Rotation]>,
    Option<&'a [Scale]>,
    Option<&'a [LocalTransform]>,
    Option<&'a [PostTransformMatrix]>,
);

impl<'a> From<InputSlices<'a>> for Inputs<'a> {
    fn from((position, rotation, scale, local, post): InputSlices<'a>) -> Self {
        Self { position, rotation, scale, local, post }
    }
}

/// Visitor of local matrices, compiled once per combination of inputs.
pub(crate) trait LocalVisitor {
    type Output;

    /// Visits the rows. `local` returns the local matrix of a row.
    fn run(self, local: impl Fn(usize) -> Affine3A) -> Self::Output;
}

impl Inputs<'_> {
    /// Runs a visitor with the function that composes the matrices of these inputs.
    ///
    /// All rows have the same combination of inputs, so it is matched once, outside of the loop.
    #[inline(always)]
    pub(crate) fn visit<W: LocalVisitor>(self, work: W) -> W::Output {
        let Self { position, rotation, scale, local, post } = self;
        match (local, position, rotation, scale, post) {
            (Some(local), _, _, _, None) => work.run(
                #[inline(always)]
                |row| local[row].affine(),
            ),
            (None, Some(p), Some(r), None, None) => work.run(
                #[inline(always)]
                |row| rotation_translation(&r[row], &p[row]),
            ),
            (None, Some(p), Some(r), Some(s), None) => work.run(
                #[inline(always)]
                |row| with_scale(rotation_translation(&r[row], &p[row]), &s[row]),
            ),
            (None, Some(p), None, None, None) => work.run(
                #[inline(always)]
                |row| translation(&p[row]),
            ),
            // Other combinations are rare and share one function.
            _ => work.run(|row| self.get_any(row)),
        }
    }

    /// Returns a bit set of the types that are present.
    pub(crate) fn types(&self) -> u8 {
        let Self { position, rotation, scale, local, post } = self;
        u8::from(position.is_some())
            | u8::from(rotation.is_some()) << 1
            | u8::from(scale.is_some()) << 2
            | u8::from(local.is_some()) << 3
            | u8::from(post.is_some()) << 4
    }

    /// Composes the matrix of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Affine3A {
        match self {
            // The most common case.
            Self { local: Some(local), post: None, .. } => local[row].affine(),
            _ => self.get_any(row),
        }
    }

    fn get_any(&self, row: usize) -> Affine3A {
        let mut affine = match (self.local, self.rotation) {
            (Some(local), _) => local[row].affine(),
            (None, Some(rotation)) => rotation_translation(&rotation[row], &Position(Vec3::ZERO)),
            (None, None) => Affine3A::IDENTITY,
        };
        if self.local.is_none() {
            if let Some(position) = self.position {
                affine.translation = Vec3A::from(position[row].0);
            }
            if let Some(scale) = self.scale {
                affine = with_scale(affine, &scale[row]);
            }
        }
        match self.post {
            Some(post) => affine * Affine3A::from_mat4(post[row].0),
            None => affine,
        }
    }
}

#[inline(always)]
fn translation(position: &Position) -> Affine3A {
    Affine3A { matrix3: Mat3A::IDENTITY, translation: Vec3A::from(position.0) }
}

#[inline(always)]
fn rotation_translation(rotation: &Rotation, position: &Position) -> Affine3A {
    Affine3A { matrix3: rotation_matrix(rotation.0), translation: Vec3A::from(position.0) }
}

#[inline(always)]
fn with_scale(mut affine: Affine3A, scale: &Scale) -> Affine3A {
    let Mat3A { x_axis, y_axis, z_axis } = affine.matrix3;
    let scale = scale.0;
    affine.matrix3 = Mat3A::from_cols(x_axis * scale.x, y_axis * scale.y, z_axis * scale.z);
    affine
}

/// Returns the matrix of a rotation.
///
/// The result has the same bits as `Mat3A::from_quat` of `glam`, with half the instructions.
#[inline(always)]
pub(crate) fn rotation_matrix(rotation: Quat) -> Mat3A {
    let q = Vec4::from(rotation);
    let q2 = q + q;
    let squares = q * q2;
    // 1 - (yy + zz), 1 - (xx + zz), 1 - (xx + yy)
    let diagonal = Vec4::ONE - (squares.yxxw() + squares.zzyw());
    // xz, xy, yz and wy, wz, wx
    let (mixed, with_w) = (q.xxyw() * q2.zyzw(), q.wwww() * q2.yzxw());
    let sum = mixed + with_w;
    let difference = (mixed - with_w).yzxw();
    let x = BVec4A::new(true, false, false, false);
    let y = BVec4A::new(false, true, false, false);
    let column = |first, second, third| {
        Vec3A::from_vec4(Vec4::select(x, first, Vec4::select(y, second, third)))
    };
    Mat3A::from_cols(
        column(diagonal, sum, difference),
        column(difference, diagonal, sum),
        column(sum, difference, diagonal),
    )
}

/// Replaces a quaternion of length zero by the identity.
#[inline]
pub(crate) fn identity_if_zero(rotation: Quat) -> Quat {
    // NaN is not zero, and is returned unchanged.
    if rotation.length_squared() == 0.0 { Quat::IDENTITY } else { rotation }
}

/// Tests whether all numbers of a matrix are finite, and small enough that their sum is finite too.
#[inline(always)]
pub(crate) fn is_finite(affine: &Affine3A) -> bool {
    let Mat3A { x_axis, y_axis, z_axis } = affine.matrix3;
    // Multiplying by zero results in zero, unless a number is not finite.
    let sum = (x_axis + y_axis) + (z_axis + affine.translation);
    (sum * 0.0).cmpeq(Vec3A::ZERO).all()
}

/// Entities with a matrix that is not finite, reported by all threads.
///
/// The list does not depend on the order in which threads report entities, or on how often they report one.
#[derive(Debug)]
pub(crate) struct NonFiniteEntities {
    entities: Mutex<Vec<Entity>>,
}

impl NonFiniteEntities {
    pub(crate) fn new() -> Self {
        Self { entities: Mutex::new(Vec::new()) }
    }

    #[cold]
    pub(crate) fn report(&self, entity: Entity) {
        self.lock().push(entity);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entity>> {
        self.entities.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns each entity once, sorted by index.
    pub(crate) fn into_list(self) -> Vec<Entity> {
        let mut entities = self.entities.into_inner().unwrap_or_else(PoisonError::into_inner);
        entities.sort_unstable_by_key(|entity| (entity.index(), entity.version()));
        entities.dedup();
        entities
    }
}

#[cfg(test)]
mod tests {
    use glam::{EulerRot, Mat3A, Quat, Vec4};

    use super::rotation_matrix;

    #[test]
    fn rotations_are_those_of_glam() {
        let mut all = vec![Quat::IDENTITY, Quat::from_vec4(Vec4::ZERO)];
        all.extend((0..1000).map(|number| {
            let angle = number as f32 * 0.37;
            Quat::from_euler(EulerRot::YXZ, angle, angle * 1.7, angle * 0.3)
        }));
        for rotation in all {
            assert_eq!(rotation_matrix(rotation), Mat3A::from_quat(rotation), "{rotation}");
        }
    }
}

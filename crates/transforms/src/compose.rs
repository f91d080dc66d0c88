//! What entities are placed by, as matrices.

use glam::{Affine3A, Mat3A, Vec3A};

use crate::inputs::{Position, PostTransformMatrix, Rotation, Scale};
use crate::local_transform::LocalTransform;

/// What some entities that lie side by side are placed by: for each type a value for each of them, or nothing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Inputs<'a> {
    pub(crate) position: Option<&'a [Position]>,
    pub(crate) rotation: Option<&'a [Rotation]>,
    pub(crate) scale: Option<&'a [Scale]>,
    pub(crate) local: Option<&'a [LocalTransform]>,
    pub(crate) post: Option<&'a [PostTransformMatrix]>,
}

/// [`Inputs`], as queries give them.
pub(crate) type InputData = (
    Option<&'static Position>,
    Option<&'static Rotation>,
    Option<&'static Scale>,
    Option<&'static LocalTransform>,
    Option<&'static PostTransformMatrix>,
);

/// The types of which one is enough to be placed.
pub(crate) type Placing = (Position, Rotation, Scale, LocalTransform);

/// All types that say where an entity is.
pub(crate) type AllInputs = (Position, Rotation, Scale, LocalTransform, PostTransformMatrix);

/// The slices that a query of [`InputData`] gives.
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

/// Who wants to know where entities are, and is compiled once for each way of saying it.
pub(crate) trait WithLocal {
    type Output;

    /// Is given a function from rows to matrices.
    fn run(self, local: impl Fn(usize) -> Affine3A) -> Self::Output;
}

impl Inputs<'_> {
    /// Has somebody do his work with a function that gives the matrix of each row, made for the inputs that there are.
    ///
    /// Which there are is the same for all rows, so that it is asked here once, and not by the function.
    #[inline(always)]
    pub(crate) fn with<W: WithLocal>(self, work: W) -> W::Output {
        let Self { position, rotation, scale, local, post } = self;
        match (local, position, rotation, scale, post) {
            (Some(local), _, _, _, None) => work.run(
                #[inline(always)]
                |row| local[row].affine(),
            ),
            (None, Some(p), Some(r), None, None) => work.run(
                #[inline(always)]
                |row| turned_at(&r[row], &p[row]),
            ),
            (None, Some(p), Some(r), Some(s), None) => work.run(
                #[inline(always)]
                |row| scaled(turned_at(&r[row], &p[row]), &s[row]),
            ),
            (None, Some(p), None, None, None) => work.run(
                #[inline(always)]
                |row| at(&p[row]),
            ),
            // The rest is rare, and shares one function.
            _ => work.run(|row| self.get(row)),
        }
    }

    /// The matrix of one row.
    pub(crate) fn get(&self, row: usize) -> Affine3A {
        let mut affine = match (self.local, self.rotation) {
            (Some(local), _) => local[row].affine(),
            (None, Some(rotation)) => Affine3A::from_quat(rotation[row].0),
            (None, None) => Affine3A::IDENTITY,
        };
        if self.local.is_none() {
            if let Some(position) = self.position {
                affine.translation = Vec3A::from(position[row].0);
            }
            if let Some(scale) = self.scale {
                affine = scaled(affine, &scale[row]);
            }
        }
        match self.post {
            Some(post) => affine * Affine3A::from_mat4(post[row].0),
            None => affine,
        }
    }
}

#[inline(always)]
fn at(position: &Position) -> Affine3A {
    Affine3A { matrix3: Mat3A::IDENTITY, translation: Vec3A::from(position.0) }
}

#[inline(always)]
fn turned_at(rotation: &Rotation, position: &Position) -> Affine3A {
    let mut affine = Affine3A::from_quat(rotation.0);
    affine.translation = Vec3A::from(position.0);
    affine
}

#[inline(always)]
fn scaled(mut affine: Affine3A, scale: &Scale) -> Affine3A {
    let Mat3A { x_axis, y_axis, z_axis } = affine.matrix3;
    let scale = scale.0;
    affine.matrix3 = Mat3A::from_cols(x_axis * scale.x, y_axis * scale.y, z_axis * scale.z);
    affine
}

/// Whether all numbers of a matrix are finite.
#[inline(always)]
pub(crate) fn is_finite(affine: &Affine3A) -> bool {
    let Mat3A { x_axis, y_axis, z_axis } = affine.matrix3;
    // Nothing else times zero is zero.
    let zero = (x_axis * 0.0 + y_axis * 0.0) + (z_axis * 0.0 + affine.translation * 0.0);
    zero.cmpeq(Vec3A::ZERO).all()
}

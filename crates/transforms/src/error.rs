//! Errors of transforms, and their messages.

use std::error::Error;
use std::fmt;

use ancho_entities::{Entity, EntityError};
use glam::Mat4;

/// An error of a transform or a hierarchy.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum TransformError {
    /// A0141: an input of an entity is infinite, not a number, or so large that sums overflow. The entity keeps its matrix. If the
    /// program writes the matrix of the entity itself, the entities below it keep their matrices.
    NotFinite {
        /// The entity with such an input that has the lowest index.
        entity: Entity,
        /// The number of entities with such an input.
        count: usize,
    },
    /// A0142: an entity or one of its ancestors has no transform.
    NotPlaced {
        /// The entity whose matrix was requested.
        entity: Entity,
        /// The entity without a transform: the same entity or an ancestor.
        ancestor: Entity,
    },
    /// A0143: a matrix is sheared, mirrored or non-uniformly scaled.
    NotUniform {
        /// The matrix.
        matrix: Mat4,
    },
    /// A0144: a transform has no inverse.
    NoInverse {
        /// The scale of the transform.
        scale: f32,
    },
    /// A0145: an [`Attach`](crate::Attach) names an entity that does not exist. The request was despawned, and nothing was
    /// attached.
    NothingToAttach {
        /// The requested parent.
        parent: Entity,
        /// The requested child.
        child: Entity,
        /// The entity that does not exist.
        missing: Entity,
    },
    /// A0170: the [`Parent`](crate::Parent) of an entity is a [`Prefab`](ancho_entities::Prefab), but the entity is not. The
    /// entity keeps its matrix until the tag of the prefab is removed.
    ChildOfPrefab {
        /// The child, which is not a prefab.
        child: Entity,
        /// The prefab.
        prefab: Entity,
    },
    /// A0171: a [`Prefab`](ancho_entities::Prefab) is below a prefab with a
    /// [`LinkedEntityGroup`](ancho_entities::LinkedEntityGroup), but no group of an ancestor lists it. The groups of instances do not
    /// list its copy.
    NotInPrefab {
        /// The child, which is a prefab.
        child: Entity,
        /// The ancestor with the group, the nearest to the root of the tree.
        root: Entity,
    },
    /// An entity does not exist, a request to attach was refused (A0140, A0210), or memory ran out.
    Entities(EntityError),
}

impl From<EntityError> for TransformError {
    fn from(error: EntityError) -> Self {
        Self::Entities(error)
    }
}

impl fmt::Display for TransformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite { entity, count } => {
                write!(f, "A0141: the transform of {entity}")?;
                if *count > 1 {
                    write!(f, " and of {} more", count - 1)?;
                }
                write!(
                    f,
                    " is NaN or infinite; the entity and its descendants stay where they were: look for a division by \
                     zero in the code that writes the position, rotation, scale or matrix of the entity or its \
                     ancestors"
                )
            }
            Self::NotPlaced { entity, ancestor } if entity == ancestor => write!(
                f,
                "A0142: {entity} has no transform; add a `LocalTransform`, or one of `Position`, `Rotation`, `Scale`"
            ),
            Self::NotPlaced { entity, ancestor } => write!(
                f,
                "A0142: {entity} has no transform in the world, because its ancestor {ancestor} has none; add to the \
                 ancestor a `LocalTransform`, or one of `Position`, `Rotation`, `Scale`"
            ),
            Self::NotUniform { matrix } => write!(
                f,
                "A0143: {matrix} is not a position, rotation and uniform scale, because it is sheared, mirrored, or \
                 scaled differently along its axes; use `LocalTransform::from_matrix`, which approximates it, or a \
                 `PostTransformMatrix`"
            ),
            Self::NoInverse { scale } => write!(
                f,
                "A0144: a transform with the scale {scale} has no inverse; use another scale"
            ),
            Self::NothingToAttach { parent, child, missing } => write!(
                f,
                "A0145: {child} cannot be attached to {parent}, because {missing} does not exist; the request was \
                 despawned: look for the code that despawned the entity before the transforms were updated"
            ),
            Self::ChildOfPrefab { child, prefab } => write!(
                f,
                "A0170: the `Parent` of {child} is the prefab {prefab}, but {child} is not a prefab; build the tree with \
                 `spawn_prefab`, which tags every entity of the tree, and instantiate its root"
            ),
            Self::NotInPrefab { child, root } => write!(
                f,
                "A0171: the prefab {child} is below the prefab {root}, but the `LinkedEntityGroup` of {root} does not list \
                 it, so the groups of instances lack its copy; build the tree with `spawn_prefab`, which lists every \
                 entity of the tree, or remove the group"
            ),
            Self::Entities(error) => error.fmt(f),
        }
    }
}

impl Error for TransformError {}

/// The same text as `Display`, so that `unwrap` shows the message.
impl fmt::Debug for TransformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// All errors of an update. After an error, the update still processes all other entities.
#[derive(Clone, Default, PartialEq)]
pub struct TransformErrors(Vec<TransformError>);

impl TransformErrors {
    /// Iterates over the errors, in the order in which they occurred.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &TransformError> {
        self.0.iter()
    }

    pub(crate) fn extend(&mut self, errors: impl IntoIterator<Item = TransformError>) {
        self.0.extend(errors);
    }

    /// Converts the list into a result, which is `Ok` if the list is empty.
    pub(crate) fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    /// Joins the errors of several results.
    pub(crate) fn of<const N: usize>(results: [Result<(), Self>; N]) -> Result<(), Self> {
        let all = results.into_iter().filter_map(Result::err).flat_map(|errors| errors.0);
        Self(all.collect()).into_result()
    }
}

impl fmt::Display for TransformErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl Error for TransformErrors {}

/// The same text as `Display`, so that `unwrap` shows the message.
impl fmt::Debug for TransformErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

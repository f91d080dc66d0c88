//! What goes wrong with transforms, and in which words that is told.

use std::error::Error;
use std::fmt;

use ancho_entities::{Entity, EntityError};
use glam::Mat4;

/// Why something could not be done with a transform, or with a hierarchy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TransformError {
    /// A0140: entities are their own ancestors. In an update the entity that closes the cycle keeps the parent that it had, or none.
    Cycle {
        /// The entities, each followed by its parent, and the last by the first.
        entities: Vec<Entity>,
        /// The entity whose [`Parent`](crate::Parent) the update has undone, the first of the list. `None` if there was no update.
        undone: Option<Entity>,
    },
    /// A0141: what an entity is placed by is not a number, or is infinite, or so large that sums of it are. What is placed by it stays
    /// where it was: the entity itself, or, if the program gives its matrix, what is below it.
    NotFinite {
        /// The entity; of several, the one with the lowest index.
        entity: Entity,
        /// How many there are.
        count: usize,
    },
    /// A0142: an entity, or an ancestor of it, has nothing that it is placed by.
    NotPlaced {
        /// Whose place was asked for.
        entity: Entity,
        /// Who has nothing: the entity itself or an ancestor of it.
        ancestor: Entity,
    },
    /// A0143: a matrix is sheared, mirrored, or not scaled the same along all axes.
    NotUniform {
        /// The matrix.
        matrix: Mat4,
    },
    /// A0144: a transform cannot be undone.
    NoInverse {
        /// Its scale.
        scale: f32,
    },
    /// A0145: an [`Attach`](crate::Attach) names an entity that does not exist. It was despawned, and nothing was attached.
    NothingToAttach {
        /// What should have been the parent.
        parent: Entity,
        /// What should have been the child.
        child: Entity,
        /// Which of them is not there.
        missing: Entity,
    },
    /// A0146: an entity is not in the [`Child`](crate::Child) buffer of the parent that it leaves. It leaves it all the same.
    NotInParent {
        /// The entity.
        child: Entity,
        /// The parent that it leaves.
        parent: Entity,
    },
    /// An entity does not exist, or there is no memory.
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
            Self::Cycle { entities, undone } => {
                write!(f, "A0140: ")?;
                for entity in entities {
                    write!(f, "{entity} has the parent ")?;
                }
                match entities.first() {
                    Some(first) => write!(f, "{first}")?,
                    None => write!(f, "an entity has itself as an ancestor")?,
                }
                match undone {
                    Some(undone) => write!(
                        f,
                        "; {undone} keeps the parent that it had, or none if it had none, and the others have theirs: give {undone} \
                         a `Parent` that is none of them"
                    ),
                    None => write!(f, "; give one of them a `Parent` that is none of them"),
                }
            }
            Self::NotFinite { entity, count } => {
                write!(f, "A0141: the transform of {entity}")?;
                if *count > 1 {
                    write!(f, " and of {} more", count - 1)?;
                }
                write!(
                    f,
                    " is infinite or not a number; what is placed by it stays where it was: look for a division by zero in what \
                     writes the position, rotation, scale or matrix of the entity or its ancestors"
                )
            }
            Self::NotPlaced { entity, ancestor } if entity == ancestor => write!(
                f,
                "A0142: {entity} has no place in the world; give it a `LocalTransform`, or one of `Position`, `Rotation`, `Scale`"
            ),
            Self::NotPlaced { entity, ancestor } => write!(
                f,
                "A0142: {entity} has no place in the world, since its ancestor {ancestor} has none; give that a `LocalTransform`, or \
                 one of `Position`, `Rotation`, `Scale`"
            ),
            Self::NotUniform { matrix } => write!(
                f,
                "A0143: {matrix} is no position, rotation and scale, since it is sheared, mirrored, or scaled differently along its \
                 axes; use `LocalTransform::from_matrix`, which comes close, or a `PostTransformMatrix`"
            ),
            Self::NoInverse { scale } => write!(
                f,
                "A0144: a transform with the scale {scale} cannot be undone; give it another scale"
            ),
            Self::NothingToAttach { parent, child, missing } => write!(
                f,
                "A0145: {child} cannot be attached to {parent}, since {missing} does not exist; the order was despawned: see who \
                 despawned the entity before the transforms were updated"
            ),
            Self::NotInParent { child, parent } => write!(
                f,
                "A0146: {child} leaves its parent {parent}, but is not in its `Child` buffer; it has left: write `Parent` alone, and \
                 leave the buffers to the systems"
            ),
            Self::Entities(error) => error.fmt(f),
        }
    }
}

impl Error for TransformError {}

/// All that went wrong in an update. The rest was done all the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransformErrors(Vec<TransformError>);

impl TransformErrors {
    /// What went wrong, in the order in which it did.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &TransformError> {
        self.0.iter()
    }

    pub(crate) fn extend(&mut self, errors: impl IntoIterator<Item = TransformError>) {
        self.0.extend(errors);
    }

    /// Nothing, if nothing went wrong.
    pub(crate) fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    /// What went wrong in all of these.
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

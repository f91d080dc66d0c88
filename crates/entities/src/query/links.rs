//! Traversal of relationships with lookups, also in jobs.

use super::QueryFilter;
use super::job::JobLookupView;
use super::lookup::{Indexed, Lookup};
use crate::buffer::Buffer;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::{Ancestors, Descendants};
use crate::relationship::{Relationship, RelationshipTarget};

/// Pushes the sources of an entity to a stack, the first on top.
fn push_reversed<T: RelationshipTarget>(sources: Option<&[T]>, next: &mut Vec<Entity>) {
    next.extend(sources.unwrap_or(&[]).iter().rev().map(T::source));
}

/// Implements traversal for lookups of sources, and of the buffers of targets.
macro_rules! traversal {
    ([$($generics:tt)*], $($lookup:tt)+) => {
        impl<'w, 'd, R: Relationship, $($generics)*> traversal!(@ &'d R; $($lookup)+) {
            /// Iterates over the target of an entity, the target of that, and so on.
            ///
            /// # Errors
            ///
            /// Returns A0140 if the iteration would not end. An [acyclic](Relationship::ACYCLIC) relationship has no cycles.
            pub fn ancestors(
                &self,
                entity: Entity,
            ) -> Result<Ancestors<impl Fn(Entity) -> Option<Entity>>, EntityError> {
                Ancestors::new::<R>(entity, |entity| self.get(entity).map(R::target))
            }

            /// Returns the last [ancestor](Self::ancestors) of an entity, or the entity itself if it has no target.
            ///
            /// # Errors
            ///
            /// Returns A0140 if the entity is below a cycle.
            pub fn root_of(&self, entity: Entity) -> Result<Entity, EntityError> {
                Ok(self.ancestors(entity)?.last().unwrap_or(entity))
            }
        }

        impl<'w, 'd, T: RelationshipTarget, $($generics)*> traversal!(@ &'d Buffer<T>; $($lookup)+) {
            /// Iterates over the sources of an entity and their sources, depth first, in the order of the buffers.
            ///
            /// # Errors
            ///
            /// Returns A0140 if the entity is in a cycle. An [acyclic](Relationship::ACYCLIC) relationship has no cycles.
            pub fn descendants(
                &self,
                entity: Entity,
            ) -> Result<Descendants<impl Fn(Entity, &mut Vec<Entity>)>, EntityError> {
                Descendants::new::<T::Source>(entity, |entity, next| {
                    push_reversed(self.get(entity), next);
                })
            }
        }
    };
    (@ $data:ty; Lookup, $form:ty) => { Lookup<'w, $data, $form> };
    (@ $data:ty; JobLookupView) => { JobLookupView<'w, $data> };
}

traversal!([], Lookup, Indexed);
traversal!([F: QueryFilter], Lookup, F);
traversal!([], JobLookupView);

//! Exchange of components: removing some and adding others, in one move.

use ancho_collections::Rejected;

use super::EntityManager;
use crate::component::broken_requirement;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::set::ComponentSet;
use crate::storage::SetOperation;

impl EntityManager {
    /// Removes the components `R` from an entity and adds others, in one move.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// The entity has no archetype in between, unlike with [`remove`](Self::remove) followed by [`add`](Self::add). It need not have
    /// all components of `R`. A component that is in both sets is replaced, and stays enabled or disabled. A component of `R` that
    /// an added one requires is kept.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`add`](Self::add). In a strict world, also returns an error if the entity lacks a component of `R`
    /// (A0051). The error returns the components, and the entity is unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Walking;
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Flying(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let bird = world.spawn(Walking);
    /// world.exchange::<Walking, _>(bird, Flying(12.0)).unwrap();
    /// assert!(!world.has::<Walking>(bird));
    /// assert_eq!(world.get(bird), Ok(&Flying(12.0)));
    /// ```
    pub fn exchange<R: ComponentSet, S: ComponentSet>(
        &mut self,
        entity: Entity,
        added: S,
    ) -> Result<(), Rejected<S, EntityError>> {
        match self.prepare_exchange::<R, S>(entity) {
            Err(error) => Err(Rejected { value: added, error }),
            // One of the sets is empty.
            Ok(_) if R::COUNT == 0 => self.add(entity, added).map(drop),
            Ok(_) if S::COUNT == 0 => match self.remove::<R>(entity) {
                Ok(_) => Ok(()),
                Err(error) => Err(Rejected { value: added, error }),
            },
            Ok(set) if R::LINKS || S::LINKS => self.exchange_linked::<R, S>(entity, added, set),
            Ok(set) => self.insert_numbered(entity, added, set, SetOperation::Exchange).map(drop),
        }
    }

    /// Returns the number of the pair of sets. Returns an error if the entity does not exist, or a strict world refuses the exchange.
    fn prepare_exchange<R: ComponentSet, S: ComponentSet>(
        &mut self,
        entity: Entity,
    ) -> Result<u32, EntityError> {
        let location = self.locate(entity)?;
        let (removed, added) = (self.set_number::<R>()?, self.set_number::<S>()?);
        if self.strict {
            let from = self.storage.archetype_at(location);
            let shape = &self.storage.archetypes[from].shape;
            let (removed, added) = (&self.sets.get(removed).types, &self.sets.get(added).types);
            if let Some(&component) = removed.iter().find(|&&ty| !shape.has(ty)) {
                return Err(EntityError::MissingComponent { entity, component });
            }
            let stays_after = shape.types.iter().filter(|ty| !removed.contains(ty)).chain(&**added);
            let lost: Vec<_> = removed.iter().filter(|ty| !added.contains(ty)).copied().collect();
            if let Some((component, by)) = broken_requirement(&lost, stays_after.copied()) {
                return Err(EntityError::StillRequired { entity, component, by });
            }
            let stays = |&&ty: &&_| shape.has(ty) && !removed.contains(&ty);
            if let Some(&component) = added.iter().find(stays) {
                return Err(EntityError::AlreadyPresent { entity, component });
            }
        }
        Ok(self.sets.number_of_exchange(removed, added))
    }
}

//! Entities are copied from one world to another.

#![expect(unsafe_code, reason = "duplicates what can be duplicated, which was checked")]

use std::panic::resume_unwind;
use std::sync::Arc;

use super::plan::{HeldValues, Plan};
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::manager::{EntityManager, Found};

impl EntityManager {
    /// Copies all entities of another world to this one. Returns which entity was copied to which.
    ///
    /// The copies have everything that the entities have, also what an [instance](Self::instantiate) would not: they are prefabs
    /// where those are, and have components that [stay](crate::Component::CLEANUP). Components and shared values that refer to
    /// entities which are copied refer to the copies; all other references are null. Unity's `CopyEntitiesFrom`.
    ///
    /// To have a world like another, with the same ids, see [`copy_and_replace_from`](Self::copy_and_replace_from).
    ///
    /// # Errors
    ///
    /// If a component can neither be copied nor cloned, an entity is larger than a chunk of this world, or there is no memory.
    /// Then nothing was copied, also if a clone panics.
    ///
    /// # Panics
    ///
    /// As [`move_entities_from`](Self::move_entities_from).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Debug, PartialEq)]
    /// struct Name(String);
    ///
    /// let (mut templates, mut game) = (World::new("Templates"), World::new("Game"));
    /// let orc = templates.spawn(Name("Grishnákh".into()));
    /// for _ in 0..3 {
    ///     let copied = game.copy_entities_from(&templates).unwrap();
    ///     assert_eq!(game.get(copied.get(orc).unwrap()), templates.get::<Name>(orc));
    /// }
    /// assert_eq!((game.entity_count(), templates.entity_count()), (3, 1));
    /// ```
    pub fn copy_entities_from(&mut self, source: &Self) -> Result<EntityMap, EntityError> {
        self.copy_found_from(source, &source.found_all())
    }

    /// Copies these entities of another world to this one, as [`copy_entities_from`](Self::copy_entities_from) does with all.
    ///
    /// An entity that is named twice is copied once. [`Query::copy_to`](crate::Query::copy_to) copies what a query finds.
    ///
    /// # Errors
    ///
    /// As there, and if one of the entities is not there. Then nothing was copied.
    ///
    /// # Panics
    ///
    /// As there.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let (mut here, mut there) = (World::new("Here"), World::new("There"));
    /// let all: Vec<_> = there.spawn_many((), 10).collect();
    /// let copied = here.copy_slice_from(&there, &all[..3]).unwrap();
    /// assert_eq!((copied.len(), here.entity_count(), there.entity_count()), (3, 3, 10));
    /// ```
    pub fn copy_slice_from(
        &mut self,
        source: &Self,
        entities: &[Entity],
    ) -> Result<EntityMap, EntityError> {
        let found = source.found_entities(entities)?;
        self.copy_found_from(source, &found)
    }

    /// Copies what was found in another world to this one.
    pub(crate) fn copy_found_from(
        &mut self,
        source: &Self,
        found: &Found,
    ) -> Result<EntityMap, EntityError> {
        let archetypes = || found.by_archetype().map(|(archetype, _)| archetype);
        if let Some(component) = source.storage.not_duplicable_in(archetypes()) {
            return Err(EntityError::NotDuplicable { component });
        }
        let destinations = self.destinations(&source.storage, found)?;
        source.before_moving(archetypes());
        self.before_arrivals(&destinations);
        self.storage.table.require(found.rows());
        let Self { storage, runs, names, world_transfers, .. } = self;
        let mut held = HeldValues::new(storage, &source.storage, found, &destinations);
        let plan = Plan::new(&mut held, runs, &source.storage, found, &destinations)?;
        // SAFETY: that everything can be duplicated was checked. What is returned goes first, or is given away.
        let copies = unsafe { plan.duplicate(&source.storage)? };
        let arrived = plan.copy_all(&source.storage, copies);
        *world_transfers += u64::from(!arrived.referring.is_empty());
        debug_assert!(held.has_foreseen(&arrived.map), "the entities are others than was foreseen");
        if !source.names.is_empty() {
            Arc::make_mut(names).follow(&source.names, &arrived.map);
        }
        if let Some(panic) = arrived.replace_references(held.storage) {
            drop(held);
            resume_unwind(panic);
        }
        Ok(arrived.map)
    }
}

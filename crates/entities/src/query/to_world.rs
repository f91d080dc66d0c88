//! All that a query finds goes to another world.

use super::data::QueryData;
use super::filter::QueryFilter;
use super::read::QueryRef;
use super::walk::Walk;
use super::write::QueryMut;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::manager::{EntityManager, RowSelection};

impl<D: QueryData, F: QueryFilter> QueryMut<'_, D, F> {
    /// Moves all entities that are found to another world. Returns which entity became which.
    ///
    /// Just those entities move that are found: chunks in which all are go as a whole, and of the others the entities are moved
    /// one by one, to chunks of the other world with the same components. See
    /// [`EntityManager::move_entities_from`]. Unity's `MoveEntitiesFrom` with a query, which moves whole chunks only.
    ///
    /// # Errors
    ///
    /// As there. Then nothing has moved.
    ///
    /// # Panics
    ///
    /// As there.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, With, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone)]
    /// struct Asleep;
    ///
    /// let (mut game, mut aside) = (World::new("Game"), World::new("Aside"));
    /// game.spawn_many(Health(20), 10);
    /// game.spawn_many((Health(20), Asleep), 5);
    /// let moved = game.query_mut::<()>().filter::<With<Asleep>>().move_to(&mut aside).unwrap();
    /// assert_eq!((moved.len(), game.entity_count(), aside.entity_count()), (5, 10, 5));
    /// ```
    #[track_caller]
    pub fn move_to(self, world: &mut EntityManager) -> Result<EntityMap, EntityError> {
        let found = self.found();
        world.move_rows_from(self.entities, &found)
    }
}

impl<D: QueryData, F: QueryFilter> QueryRef<'_, D, F> {
    /// Copies all entities that are found to another world. Returns which entity was copied to which.
    ///
    /// See [`EntityManager::copy_entities_from`].
    ///
    /// # Errors
    ///
    /// As there. Then nothing was copied.
    ///
    /// # Panics
    ///
    /// As there.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let (mut game, mut preview) = (World::new("Game"), World::new("Preview"));
    /// game.spawn_many((), 10);
    /// game.spawn_many(Health(20), 5);
    /// let copied = game.query::<&Health>().copy_to(&mut preview).unwrap();
    /// assert_eq!((copied.len(), game.entity_count(), preview.entity_count()), (5, 15, 5));
    /// ```
    #[track_caller]
    pub fn copy_to(&self, world: &mut EntityManager) -> Result<EntityMap, EntityError> {
        let matched = self.matched();
        self.entities.sync_for_move(matched.matches.iter().map(|found| found.archetype));
        let found =
            Walk::reading(self.entities, matched, self.settings()).found(RowSelection::default());
        world.copy_rows_from(self.entities, &found)
    }
}

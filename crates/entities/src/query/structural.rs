//! Loops in which entities come, go and change.

use super::data::QueryData;
use super::filter::QueryFilter;
use super::write::QueryMut;
use crate::entity::Entity;
use crate::manager::EntityManager;

impl<D: QueryData, F: QueryFilter> QueryMut<'_, D, F> {
    /// Calls a function with all entities and each of those that are found: for structural changes.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// The entities are found first. The function can do everything with them: add and remove components, despawn, spawn. One
    /// that is gone when its turn comes, or is not among those that the query finds any more, is passed over; those that come
    /// to be meanwhile are not visited. Unity's `WithStructuralChanges`.
    ///
    /// Where it is enough to note what is to be done, and do it afterwards, [`to_entities`](crate::QueryRef::to_entities) is faster.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Egg {
    ///     is_fertile: bool,
    /// }
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Bird;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([true, false, true].map(|is_fertile| Egg { is_fertile }));
    /// world.query_mut::<&Egg>().for_each_structural(|entities, entity| {
    ///     if entities.get::<Egg>(entity).unwrap().is_fertile {
    ///         entities.remove::<Egg>(entity).unwrap();
    ///         entities.add(entity, Bird).unwrap();
    ///     } else {
    ///         entities.despawn(entity).unwrap();
    ///     }
    /// });
    /// assert_eq!((world.entity_count(), world.query::<&Bird>().count()), (2, 2));
    /// ```
    #[track_caller]
    pub fn for_each_structural(self, mut function: impl FnMut(&mut EntityManager, Entity)) {
        for entity in self.as_ref().to_entities() {
            if self.as_ref().matches(entity) {
                function(self.entities, entity);
            }
        }
    }
}

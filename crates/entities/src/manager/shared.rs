//! Components that chunks have one value of.

use super::destroy::shared_prefix;
use super::give::Given;
use super::{ArchetypeChunk, EntityManager};
use crate::component::{ComponentType, SharedValue};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::shared::{Shared, SharedComponent};
use crate::storage::{Change, Location, Run, Sought};

impl EntityManager {
    /// The value of an entity's shared component.
    ///
    /// # Errors
    ///
    /// If there is no such entity, or it does not have the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let ant = world.spawn(Shared::new(Team(3)));
    /// assert_eq!(world.shared(ant), Ok(&Team(3)));
    /// ```
    pub fn shared<T: SharedComponent>(&self, entity: Entity) -> Result<&T, EntityError> {
        let ty = ComponentType::of_shared::<T>();
        let location = self.locate(entity)?;
        match self.storage.shared_value(&self.storage.chunks[location.chunk], ty) {
            Some(value) => Ok(value.downcast_ref().expect("values are of the type of their table")),
            None => Err(EntityError::MissingComponent { entity, component: ty }),
        }
    }

    /// Replaces the value of an entity's shared component. Returns whether it is another one.
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// [`set`](Self::set) with a [`Shared`] does the same, for several components at once.
    ///
    /// # Errors
    ///
    /// If there is no such entity, it does not have the component, or there is no memory.
    ///
    /// # Complexity
    ///
    /// A structural change, unless the value is equal to the one that is there: all components of the entity are copied to
    /// another chunk.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let ant = world.spawn(Shared::new(Team(3)));
    /// assert_eq!(world.set_shared(ant, Team(4)), Ok(true));
    /// assert_eq!(world.set_shared(ant, Team(4)), Ok(false));
    /// ```
    pub fn set_shared<T: SharedComponent>(
        &mut self,
        entity: Entity,
        value: T,
    ) -> Result<bool, EntityError> {
        if let Some(moved) = self.set_known_shared::<T>(entity, &value)? {
            return Ok(moved);
        }
        match self.give_shared(entity, Shared::new(value), Change::Set) {
            Ok(given) => Ok(!matches!(given, Given::Same)),
            Err(rejected) => Err(rejected.error),
        }
    }

    /// Replaces the value of a shared component for many entities.
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// Faster than one by one if neighbours in the slice are neighbours in a chunk. If they are a whole chunk, nothing moves
    /// at all: the chunk has the other value from now on.
    ///
    /// # Errors
    ///
    /// If one of them is not there, or does not have the component: then none is changed. If there is no memory: then those
    /// before it are.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let ants: Vec<_> = world.spawn_many(Shared::new(Team(3)), 1000).collect();
    /// world.set_shared_slice(&ants[..500], Team(4))?;
    /// assert_eq!(world.shared(ants[499]), Ok(&Team(4)));
    /// assert_eq!(world.shared(ants[500]), Ok(&Team(3)));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn set_shared_slice<T: SharedComponent>(
        &mut self,
        entities: &[Entity],
        value: T,
    ) -> Result<(), EntityError> {
        let ty = ComponentType::of_shared::<T>();
        self.set_shared_for_all(entities, ty, &Shared::new(value).into_erased())
    }

    pub(crate) fn set_shared_for_all(
        &mut self,
        entities: &[Entity],
        ty: ComponentType,
        value: &SharedValue,
    ) -> Result<(), EntityError> {
        /// A value that is there until this goes, also while no chunk has it.
        struct Held<'m> {
            manager: &'m mut EntityManager,
            table: u32,
            index: u32,
        }

        impl Drop for Held<'_> {
            fn drop(&mut self) {
                let shared = &mut self.manager.storage.shared;
                shared.let_go(self.table, self.index, 0);
                drop(shared.take_dead());
            }
        }

        for &entity in entities {
            let Location { chunk, .. } = self.locate(entity)?;
            if !self.storage.chunks[chunk].shape().has(ty) {
                return Err(EntityError::MissingComponent { entity, component: ty });
            }
        }
        let Some(table) = self.storage.shared.table(ty) else { return Ok(()) };
        self.before_moving(self.archetypes_of(entities));
        let sought = self.storage.shared.seek(table, value);
        let index = self.storage.shared.settle(table, sought);
        self.storage.shared.hold(table, index);
        let Held { manager, .. } = &mut Held { manager: self, table, index };
        let set = manager
            .sets
            .number_of_types(&[ty])
            .map_err(|component| EntityError::DuplicateComponent { component })?;
        let mut rest = entities;
        while let Some(&first) = rest.first() {
            let Location { chunk, row } = manager.locate(first)?;
            let number =
                manager.transfer(manager.storage.chunks[chunk].archetype, set, Change::Set)?;
            let transfer = &manager.transfers[number];
            let neighbours = &manager.storage.chunks[chunk].entities()[row as usize..];
            let rows = shared_prefix(neighbours, rest);
            let given = [Sought::Known(index)];
            let wanted = manager.storage.wanted(&transfer.shared, Some(chunk), &given);
            if !manager.storage.is_as_wanted(chunk, transfer.to, &wanted) {
                let run = Run { chunk, first: row, rows: rows as u32 };
                manager.storage.regroup_rows(&mut manager.runs, run, transfer, wanted)?;
            }
            rest = &rest[rows..];
        }
        Ok(())
    }

    /// The values of a shared component that entities have, each once, and before those the default, if the type has one,
    /// also if no entity has it.
    ///
    /// # Determinism
    ///
    /// The order follows from the operations that were made, and from nothing else.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, Debug, Default, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Shared::new(Team(3)), 10);
    /// let teams: Vec<u32> = world.shared_values::<Team>().map(|team| team.0).collect();
    /// assert_eq!(teams, [0, 3]);
    /// ```
    pub fn shared_values<T: SharedComponent>(&self) -> impl Iterator<Item = Shared<T>> {
        let table = self.storage.shared.table(ComponentType::of_shared::<T>());
        // A world that has not met the type yet has not kept its default either.
        let initial = if table.is_none() { Shared::initial() } else { None };
        let kept = table.into_iter().flat_map(|table| self.storage.shared.iter(table));
        initial.into_iter().chain(kept.map(|value| Shared::of_erased(value.clone())))
    }

    /// How many chunks have a value of a shared component. Without one the world lets go of it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Shared::new(Team(3)), 10);
    /// assert_eq!(world.shared_reference_count(&Team(3)), 1);
    /// assert_eq!(world.shared_reference_count(&Team(4)), 0);
    /// ```
    pub fn shared_reference_count<T: SharedComponent>(&self, value: &T) -> usize {
        match self.find_shared(value) {
            Some((table, index)) => self.storage.shared.references(table, index) as usize,
            None => 0,
        }
    }

    /// How often entities with this value of a shared component came, went or moved.
    ///
    /// It never falls, also while no entity has the value, and when it comes back. The world forgets a value that no entity has: then
    /// this is the most that was counted for any value of the component that is gone, so that it may rise when another value goes.
    ///
    /// It rises by one for each entity or batch that is created or destroyed, and by two for one that moves between chunks
    /// which both have the value. It rises by one for a chunk that gets the value, or loses it, where it is. What happens to
    /// entities with other values does not change it.
    ///
    /// # Complexity
    ///
    /// Linear in the number of chunks with the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Shared::new(Team(3)));
    /// let before = world.shared_order_version(&Team(3));
    /// world.spawn(Shared::new(Team(4)));
    /// assert_eq!(world.shared_order_version(&Team(3)), before);
    /// world.spawn(Shared::new(Team(3)));
    /// assert_ne!(world.shared_order_version(&Team(3)), before);
    /// ```
    pub fn shared_order_version<T: SharedComponent>(&self, value: &T) -> u32 {
        let ty = ComponentType::of_shared::<T>();
        let Some(table) = self.storage.shared.table(ty) else { return 0 };
        let Ok(index) = self.storage.shared.find(table, value) else {
            return self.storage.shared.gone_events(table);
        };
        let mut sum = self.storage.shared.order_events(table, index);
        for (_, archetype) in self.storage.archetypes.iter() {
            if !archetype.shape.has(ty) {
                continue;
            }
            for chunk in archetype.chunks.iter().map(|&chunk| &self.storage.chunks[chunk]) {
                if self.storage.archetypes.shared_place(chunk, ty) == Some((table, index)) {
                    sum = sum.wrapping_add(chunk.order_events);
                }
            }
        }
        sum
    }

    /// Where a value is: in which table, and at which index.
    fn find_shared<T: SharedComponent>(&self, value: &T) -> Option<(u32, u32)> {
        let table = self.storage.shared.table(ComponentType::of_shared::<T>())?;
        Some((table, self.storage.shared.find(table, value).ok()?))
    }
}

impl<'w> ArchetypeChunk<'w> {
    /// The value that all entities of the chunk have of a shared component, if they have it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Shared::new(Team(3)), 10);
    /// for chunk in world.chunks() {
    ///     assert_eq!(chunk.shared(), Some(&Team(3)));
    /// }
    /// ```
    pub fn shared<T: SharedComponent>(&self) -> Option<&'w T> {
        let ty = ComponentType::of_shared::<T>();
        let (table, index) = self.archetypes.shared_place(self.chunk, ty)?;
        self.values.value(table, index).downcast_ref()
    }
}

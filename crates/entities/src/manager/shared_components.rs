//! Components that chunks have one value of.

use ancho_collections::{FixedState, Rejected};
use hashbrown::HashMap;

use super::EntityManager;
use super::add_remove::InsertOutcome;
use super::despawn::shared_prefix;
use crate::component::{ComponentType, SharedValue};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::set::ComponentSet;
use crate::shared::{Shared, SharedComponent};
use crate::storage::{Change, FEW_SHARED, Few, Location, Run, Sought, SoughtValues, Wanted};

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
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
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
        match self.insert_shared(entity, Shared::new(value), Change::Set) {
            Ok(given) => Ok(!matches!(given, InsertOutcome::Same)),
            Err(rejected) => Err(rejected.error),
        }
    }

    /// Replaces the value of a shared component of entities, one run of neighbours after another. Returns the number of entities that
    /// had another value. See [`Batch::set_shared`](super::Batch::set_shared).
    pub(crate) fn set_shared_for_all(
        &mut self,
        entities: &[Entity],
        ty: ComponentType,
        value: &SharedValue,
    ) -> Result<usize, EntityError> {
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
        let Some(table) = self.storage.shared.table(ty) else { return Ok(0) };
        self.sync_for_move(self.archetypes_of(entities));
        let sought = self.storage.shared.seek(table, value);
        let index = self.storage.shared.settle(table, sought);
        self.storage.shared.hold(table, index);
        let Held { manager, .. } = &mut Held { manager: self, table, index };
        let set = manager
            .sets
            .number_of_types(&[ty])
            .map_err(|component| EntityError::DuplicateComponent { component })?;
        let (mut rest, mut changed) = (entities, 0);
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
                changed += rows;
            }
            rest = &rest[rows..];
        }
        Ok(changed)
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

impl EntityManager {
    /// Creates an entity with shared components, or gives them back.
    #[inline(never)]
    pub(super) fn try_spawn_shared<S: ComponentSet>(
        &mut self,
        set: S,
    ) -> Result<Entity, Rejected<S, EntityError>> {
        self.storage.table.require(1);
        // To be dropped at the end, as above.
        let given = shared_values_of(&set);
        let room = self.set_number::<S>().and_then(|number| {
            let archetype = self.layout(number)?.archetype;
            self.sync_for_move([archetype]);
            let wanted = self.wanted_by_set(number, &given);
            Ok((number, self.storage.room_for(archetype, wanted)?))
        });
        match room {
            Ok((number, chunk)) => Ok(self.spawn_in(number, chunk, set)),
            Err(error) => Err(Rejected { value: set, error }),
        }
    }

    /// Creates entities with shared components. Those of one value that follow each other go on in one chunk.
    pub(super) fn spawn_batch_shared<S: ComponentSet>(
        &mut self,
        sets: impl Iterator<Item = S>,
    ) -> Result<(), EntityError> {
        for set in sets {
            let entity = self.try_spawn_shared(set).map_err(|rejected| rejected.error)?;
            let Location { chunk, row } = self.locate(entity)?;
            match self.runs.last_mut() {
                Some(run) if run.chunk == chunk && run.first + run.rows == row => run.rows += 1,
                _ => self.runs.push(Run { chunk, first: row, rows: 1 }),
            }
        }
        Ok(())
    }

    /// The group of a set's archetype with the set's values, which may have no chunks yet.
    pub(super) fn group_of_set<S: ComponentSet>(
        &mut self,
        number: u32,
        archetype: u32,
        set: &S,
    ) -> u32 {
        let wanted = self.wanted_by_set(number, &shared_values_of(set));
        self.storage.group_of(archetype, wanted)
    }

    /// The values that entities have which are made of a set with a layout. Runs code of the user.
    fn wanted_by_set(&self, number: u32, given: &Few<SharedValue, FEW_SHARED>) -> Wanted {
        let sought = self.storage.seek(&self.sets.get(number).types, given);
        self.storage.wanted_of(self.sets.shared_sources(number), None, |at| sought.get(at))
    }

    /// The values that entities of a chunk have of the shared types of a set, which they all have.
    pub(super) fn shared_of_set(&self, chunk: u32, set: u32) -> Vec<SharedValue> {
        let chunk = &self.storage.chunks[chunk];
        let shared = self.sets.get(set).types.iter().filter(|ty| ty.is_shared());
        let value = |&ty: &ComponentType| self.storage.shared_value(chunk, ty).cloned();
        shared.filter_map(value).collect()
    }
}

/// The shared values of a set, in its order.
#[inline(always)]
pub(super) fn shared_values_of<S: ComponentSet>(set: &S) -> Few<SharedValue, FEW_SHARED> {
    let mut values = Few::new();
    if S::SHARED {
        set.shared(&mut |value| values.push(value));
    }
    values
}

/// Other values for some, by the places of those. They are there until this goes, also while no chunk has them.
struct Others<'m> {
    manager: &'m mut EntityManager,
    /// By table and index: the table, and the index of the other.
    places: HashMap<(u32, u32), (u32, u32), FixedState>,
}

impl Drop for Others<'_> {
    fn drop(&mut self) {
        let shared = &mut self.manager.storage.shared;
        // In an order of their own, since it decides which places are used again.
        let mut held: Vec<_> = self.places.values().copied().collect();
        held.sort_unstable();
        held.into_iter().for_each(|(table, index)| shared.let_go(table, index, 0));
        drop(shared.take_dead());
    }
}

impl EntityManager {
    /// Replaces the entities that shared values refer to: chunks whose value is another then have that, and nothing in them moves. All
    /// values are asked before the first is replaced.
    pub(super) fn remap_shared(&mut self, map: &mut EntityRemap<'_>) -> Result<(), EntityError> {
        let shared = &self.storage.shared;
        let mut sought = SoughtValues::default();
        let mut old = Vec::new();
        for (table, index) in shared.referring() {
            if let Some(other) = shared.remapped(table, index, map) {
                sought.seek(shared, table, &other);
                old.push((table, index));
            }
        }
        if old.is_empty() {
            return Ok(());
        }
        let new = sought.hold(&mut self.storage.shared);
        let mut others = Others { manager: self, places: old.into_iter().zip(new).collect() };
        let chunks: Vec<_> =
            others.manager.storage.chunks.iter().map(|(number, _)| number).collect();
        chunks.into_iter().try_for_each(|number| others.give_to(number))
    }
}

impl Others<'_> {
    /// Gives a chunk the others of the values that it has.
    fn give_to(&mut self, number: u32) -> Result<(), EntityError> {
        let Self { manager, places } = self;
        let chunk = &manager.storage.chunks[number];
        let (shape, archetype, rows) = (chunk.shape(), chunk.archetype, chunk.len);
        let values = manager.storage.archetypes.values_of(chunk);
        let (types, given): (Vec<ComponentType>, Vec<Sought>) = shape
            .shared
            .iter()
            .zip(values)
            .filter_map(|(&column, at)| {
                // Values may be equal that refer to different entities.
                let &(_, index) = places.get(&at).filter(|&&other| other != at)?;
                Some((shape.types[column as usize], Sought::Known(index)))
            })
            .unzip();
        if types.is_empty() {
            return Ok(());
        }
        let set = manager
            .sets
            .number_of_types(&types)
            .map_err(|component| EntityError::DuplicateComponent { component })?;
        let transfer = manager.transfer(archetype, set, Change::Set)?;
        let transfer = &manager.transfers[transfer];
        let wanted = manager.storage.wanted(&transfer.shared, Some(number), &given);
        let all = Run { chunk: number, first: 0, rows };
        manager.storage.regroup_rows(&mut manager.runs, all, transfer, wanted)?;
        Ok(())
    }
}

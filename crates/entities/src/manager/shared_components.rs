//! Shared components: one value for all entities of a chunk.

use std::iter;

use ancho_collections::{FixedState, Rejected};
use hashbrown::HashMap;

use super::EntityManager;
use super::add_remove::InsertOutcome;
use super::bulk::HeldShared;
use super::despawn::shared_prefix;
use crate::component::{ComponentType, SharedValue};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::set::ComponentSet;
use crate::shared::{Shared, SharedComponent};
use crate::storage::{
    GroupKey, INLINE_SHARED, InlineVec, Location, RowRange, SetOperation, SharedLookup,
    SharedLookups,
};

impl EntityManager {
    /// Returns the value of an entity's shared component.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, or lacks the component.
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
        let value = self.storage.shared_value(&self.storage.chunks[location.chunk], ty);
        let value = value.ok_or(EntityError::MissingComponent { entity, component: ty })?;
        Ok(value.downcast_ref().expect("values are of the type of their table"))
    }

    /// Replaces the value of an entity's shared component. Returns whether the new value differs from the old one.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// [`set`](Self::set) with a [`Shared`] does the same for several components.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist, it lacks the component, or there is no memory.
    ///
    /// # Complexity
    ///
    /// A structural change, unless the value is equal to the old one: all components of the entity are copied to another chunk.
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
        match self.insert(entity, Shared::new(value), SetOperation::Set) {
            Ok(outcome) => Ok(!matches!(outcome, InsertOutcome::Same)),
            Err(rejected) => Err(rejected.error),
        }
    }

    /// Replaces the value of a shared component of entities. Consecutive entities in contiguous rows are changed together.
    /// Returns the number of entities that had another value. See [`Batch::set_shared`](super::Batch::set_shared).
    pub(crate) fn set_shared_for_all(
        &mut self,
        entities: &[Entity],
        ty: ComponentType,
        value: &SharedValue,
    ) -> Result<usize, EntityError> {
        entities.iter().try_for_each(|&entity| self.check_has_type(entity, ty))?;
        if entities.is_empty() {
            return Ok(0);
        }
        self.sync_for_move(self.archetypes_of(entities));
        let set = self.sets.number_of_types(&[ty])?;
        let HeldShared { manager, values } = &mut self.hold_values(set, iter::once(value));
        let index = values.get(0).expect("one was held").1;
        let (mut rest, mut changed) = (entities, 0);
        while let Some(&first) = rest.first() {
            let Location { chunk, row } = manager.locate(first)?;
            let from = manager.storage.chunks[chunk].archetype;
            let number = manager.transfer(from, set, SetOperation::Set)?;
            let transfer = &manager.transfers[number];
            let neighbours = &manager.storage.chunks[chunk].entities()[row as usize..];
            let rows = shared_prefix(neighbours, rest);
            let given = [SharedLookup::Found(index)];
            let wanted =
                manager.storage.group_key(&transfer.shared, Some(chunk), |at| given.get(at));
            if !manager.storage.has_group_key(chunk, transfer.to, &wanted) {
                let run = RowRange { chunk, first: row, rows: rows as u32 };
                manager.storage.set_group_of_rows(&mut manager.runs, run, transfer, wanted)?;
                changed += rows;
            }
            rest = &rest[rows..];
        }
        Ok(changed)
    }

    /// Iterates over the distinct values of a shared component. The default value comes first, if the type has one, even if no
    /// entity has it.
    ///
    /// # Determinism
    ///
    /// The order depends only on the sequence of operations.
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
        // If the world has never used the type, its default value is not stored.
        let initial = if table.is_none() { Shared::initial() } else { None };
        let kept = table.into_iter().flat_map(|table| self.storage.shared.iter(table));
        initial.into_iter().chain(kept.map(|value| Shared::of_erased(value.clone())))
    }

    /// Returns the number of chunks that have a value of a shared component. The world drops values that no chunk has.
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
        let shared = &self.storage.shared;
        let Some(table) = shared.table(ComponentType::of_shared::<T>()) else { return 0 };
        shared.find(table, value).map_or(0, |index| shared.references(table, index) as usize)
    }

    /// Returns a number that increases when entities with this value of a shared component are created, despawned or moved.
    ///
    /// The number never decreases, even if no entity has the value for a while. The world drops values that no entity has. For
    /// such a value, the number is the highest of all dropped values of the component, so it may increase when another value is
    /// dropped.
    ///
    /// The number increases by one for each entity or batch that is created or despawned, and by two for each that is moved
    /// between chunks with the value. It also increases by one for each chunk that gets or loses the value in place. Entities
    /// with other values do not change it.
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
}

impl EntityManager {
    /// Creates an entity with shared components. The error returns the components.
    #[inline(never)]
    pub(super) fn try_spawn_shared<S: ComponentSet>(
        &mut self,
        set: S,
    ) -> Result<Entity, Rejected<S, EntityError>> {
        self.storage.table.require(1);
        // The shared values are dropped at the end, because writing the set drops the set's own handles during the change.
        let given = shared_values_of(&set);
        let room = self.prepare_spawn::<S>().and_then(|(number, archetype)| {
            let wanted = self.wanted_by_set(number, &given);
            Ok((number, self.storage.room_for(archetype, wanted)?))
        });
        match room {
            Ok((number, chunk)) => Ok(self.spawn_in(number, chunk, set).0),
            Err(error) => Err(Rejected { value: set, error }),
        }
    }

    /// Creates entities one by one. Consecutive entities with the same shared values are added to the same chunk.
    pub(super) fn spawn_one_by_one<S: ComponentSet>(
        &mut self,
        sets: impl Iterator<Item = S>,
    ) -> Result<(), EntityError> {
        for set in sets {
            let entity = self.try_spawn(set).map_err(|rejected| rejected.error)?;
            let Location { chunk, row } = self.locate(entity)?;
            match self.runs.last_mut() {
                Some(run) if run.chunk == chunk && run.first + run.rows == row => run.rows += 1,
                _ => self.runs.push(RowRange { chunk, first: row, rows: 1 }),
            }
        }
        Ok(())
    }

    /// Returns the key of the group for entities that are created from a set, which has a layout. Runs user code.
    pub(super) fn wanted_by_set(
        &self,
        number: u32,
        given: &InlineVec<SharedValue, INLINE_SHARED>,
    ) -> GroupKey {
        let sought = self.storage.look_up_shared(&self.sets.get(number).types, given);
        self.storage.group_key(&self.sets.layout(number).shared, None, |at| sought.get(at))
    }

    /// Returns the values that a chunk has of the shared types of a set. The chunk has all these types.
    pub(super) fn shared_of_set(&self, chunk: u32, set: u32) -> Vec<SharedValue> {
        let chunk = &self.storage.chunks[chunk];
        let shared = self.sets.get(set).types.iter().filter(|ty| ty.is_shared());
        let value = |&ty: &ComponentType| self.storage.shared_value(chunk, ty).cloned();
        shared.filter_map(value).collect()
    }
}

/// Returns the shared values of a set, in the order of the set.
#[inline(always)]
pub(super) fn shared_values_of<S: ComponentSet>(set: &S) -> InlineVec<SharedValue, INLINE_SHARED> {
    let mut values = InlineVec::new();
    if S::SHARED {
        set.shared(&mut |value| values.push(value));
    }
    values
}

/// The new values that replace shared values. The values are kept alive until chunks have them.
struct Others<'m> {
    manager: &'m mut EntityManager,
    /// The table and index of each new value, by the table and index of the old value.
    places: HashMap<(u32, u32), (u32, u32), FixedState>,
}

impl Drop for Others<'_> {
    fn drop(&mut self) {
        self.manager.storage.shared.let_go_all(self.places.values().copied());
    }
}

impl EntityManager {
    /// Replaces the entity references in shared values. The chunks get the new values in place. All new values are computed
    /// before the first is replaced.
    pub(super) fn remap_shared(&mut self, map: &mut EntityRemap<'_>) -> Result<(), EntityError> {
        let shared = &self.storage.shared;
        let mut sought = SharedLookups::default();
        let mut old = Vec::new();
        for (table, index) in shared.referring() {
            if let Some(other) = shared.remapped(table, index, map) {
                sought.look_up(shared, table, &other);
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
    /// Replaces the shared values of a chunk.
    fn give_to(&mut self, number: u32) -> Result<(), EntityError> {
        let Self { manager, places } = self;
        let chunk = &manager.storage.chunks[number];
        let (shape, archetype, rows) = (chunk.shape(), chunk.archetype, chunk.len);
        let values = manager.storage.archetypes.values_of(chunk);
        let (types, given): (Vec<ComponentType>, Vec<SharedLookup>) = shape
            .shared
            .iter()
            .zip(values)
            .filter_map(|(&column, at)| {
                // A value whose references were replaced may be equal to the old one.
                let &(_, index) = places.get(&at).filter(|&&other| other != at)?;
                Some((shape.types[column as usize], SharedLookup::Found(index)))
            })
            .unzip();
        if types.is_empty() {
            return Ok(());
        }
        let set = manager.sets.number_of_types(&types)?;
        let transfer = manager.transfer(archetype, set, SetOperation::Set)?;
        let transfer = &manager.transfers[transfer];
        let wanted = manager.storage.group_key(&transfer.shared, Some(number), |at| given.get(at));
        let all = RowRange { chunk: number, first: 0, rows };
        manager.storage.set_group_of_rows(&mut manager.runs, all, transfer, wanted)?;
        Ok(())
    }
}

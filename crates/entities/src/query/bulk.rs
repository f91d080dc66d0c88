//! Changes of all entities that match a query.

#![expect(unsafe_code, reason = "chunks of a world that is borrowed")]

use std::fmt;
use std::mem;

use ancho_collections::Rejected;

use super::access::{Asked, sync_for_query};
use super::chunk_filter::Runs;
use super::dynamic::QueryDescriptor;
use super::state::{Masks, Match, matching_rows};
use super::walk::Walk;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::manager::{EntityManager, Found};
use crate::set::{CloneSet, ComponentSet};
use crate::shared::{Shared, SharedComponent};
use crate::storage::{Chunk, Run};

impl EntityManager {
    /// Returns the methods that change all entities that match a query: see [`Batch`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, With, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone)]
    /// struct Burning;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(1000, Health(20));
    /// assert_eq!(world.batch(QueryDescriptor::of::<&Health, ()>()).add(Burning).unwrap(), 1000);
    /// assert_eq!(world.query_filtered::<&Health, With<Burning>>().count(), 1000);
    /// ```
    pub fn batch(&mut self, query: impl Into<QueryDescriptor>) -> Batch<'_> {
        Batch { entities: self, query: query.into() }
    }
}

/// Changes of all entities that match a query, returned by [`EntityManager::batch`].
///
/// Each method does what the method of [`EntityManager`] with the same name does, for all entities of
/// [`Query::to_entities`](crate::Query::to_entities). Structural changes may reorder the entities.
///
/// It is much faster than a loop. A chunk in which all entities match is not taken apart: if only components without data change
/// (tags and shared components), the chunk moves to the other archetype as a whole, at the cost of one entity. Chunks that share
/// memory with a fork go on sharing it then. If components with data are added or removed, a chunk that is almost full keeps as
/// many entities as it has room for, unless it shares its memory. Entities of other chunks are copied, component by component. A
/// chunk that is less than half full is not kept if there is room for its entities elsewhere, unless only a shared value changes.
///
/// If there is no memory, nothing is changed.
#[must_use = "a batch does nothing until one of its methods is called"]
pub struct Batch<'w> {
    entities: &'w mut EntityManager,
    query: QueryDescriptor,
}

impl Batch<'_> {
    #[track_caller]
    fn change<R>(self, change: impl FnOnce(&mut EntityManager, &Found) -> R) -> R {
        self.query.change(self.entities, change)
    }

    /// Despawns all entities. Returns the number of despawned entities, including members of their groups.
    ///
    /// Entities with [cleanup components](Component::CLEANUP) keep those. With the root of a
    /// [group](crate::LinkedEntityGroup) its members are despawned, whether or not they match.
    ///
    /// # Errors
    ///
    /// If there is no memory for copies of chunks that are shared with a fork, or for the entities that keep components. Nothing is
    /// despawned then.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, With, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone)]
    /// struct Dead;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(10, Health(20));
    /// world.spawn_many(5, (Health(0), Dead));
    /// assert_eq!(world.batch(QueryDescriptor::of::<(), With<Dead>>()).despawn(), Ok(5));
    /// assert_eq!(world.entity_count(), 10);
    /// ```
    #[track_caller]
    pub fn despawn(self) -> Result<usize, EntityError> {
        self.change(EntityManager::despawn_found)
    }

    /// Adds clones of these components to all entities, replacing those that they have. Returns the number of entities for which a
    /// component was new.
    ///
    /// Unity's `AddComponent` with a query.
    ///
    /// # Errors
    ///
    /// If a type is named twice, if an entity would not fit into a chunk, or if there is no memory; in a strict world, if an entity
    /// has one of them. Nothing is changed then, and the components are returned.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let knight = world.spawn((Health(20), Armour(9)));
    /// assert_eq!(world.batch(QueryDescriptor::of::<&Health, ()>()).add(Armour(1)).unwrap(), 1);
    /// assert_eq!((world.get(orc), world.get(knight)), (Ok(&Armour(1)), Ok(&Armour(1))));
    /// ```
    #[track_caller]
    #[expect(clippy::should_implement_trait, reason = "named as that of the manager; not a sum")]
    pub fn add<S: CloneSet>(self, components: S) -> Result<usize, Rejected<S, EntityError>> {
        self.change(|entities, found| entities.add_to_found(found, components))
    }

    /// Adds its own set of components to each entity, in the order of [`Query::to_entities`](crate::Query::to_entities) before the
    /// change, replacing those that it has. Returns the number of entities for which a component was new.
    ///
    /// Unity's `AddComponentData` with a query and an array. A set with a shared component does not compile.
    ///
    /// # Errors
    ///
    /// A0060 if there are not as many sets as entities. Otherwise the errors of [`add`](Self::add). Nothing is changed then, and the
    /// sets are returned.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orcs: Vec<_> = world.spawn_batch([Health(20), Health(30)]).collect();
    /// let armour: Vec<_> = world.query::<&Health>().iter().map(|health| Armour(health.0 / 10)).collect();
    /// assert_eq!(world.batch(QueryDescriptor::of::<&Health, ()>()).add_each(armour).unwrap(), 2);
    /// assert_eq!((world.get(orcs[0]), world.get(orcs[1])), (Ok(&Armour(2)), Ok(&Armour(3))));
    /// ```
    #[track_caller]
    pub fn add_each<S: ComponentSet>(
        self,
        sets: impl IntoIterator<Item = S>,
    ) -> Result<usize, Rejected<Vec<S>, EntityError>> {
        let sets = sets.into_iter().collect();
        self.change(|entities, found| entities.add_each_to_found(found, sets))
    }

    /// Adds those of the components that an entity lacks, with their default values. Returns the number of entities that lacked
    /// one.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add), and an error if one of the components has no default.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Default, Clone, Copy, Debug, PartialEq)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let knight = world.spawn((Health(20), Armour(9)));
    /// let armour = ComponentType::of::<Armour>();
    /// assert_eq!(world.batch(QueryDescriptor::of::<&Health, ()>()).add_types(&[armour]), Ok(1));
    /// assert_eq!((world.get(orc), world.get(knight)), (Ok(&Armour(0)), Ok(&Armour(9))));
    /// ```
    #[track_caller]
    pub fn add_types(self, types: &[ComponentType]) -> Result<usize, EntityError> {
        self.change(|entities, found| entities.add_types_to_found(found, types))
    }

    /// Removes components from all entities that have them. Returns the number of entities that had one.
    ///
    /// Unity's `RemoveComponent` with a query.
    ///
    /// # Errors
    ///
    /// If a type is named twice, or if there is no memory; in a strict world, if an entity lacks one of them. Nothing is changed
    /// then.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Orc;
    ///
    /// #[derive(Component, Clone)]
    /// struct Asleep;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(10, (Orc, Asleep));
    /// world.spawn_many(5, Orc);
    /// assert_eq!(world.batch(QueryDescriptor::of::<&Orc, ()>()).remove::<Asleep>(), Ok(10));
    /// assert!(world.query::<&Asleep>().is_empty());
    /// ```
    #[track_caller]
    pub fn remove<S: ComponentSet>(self) -> Result<usize, EntityError> {
        self.change(EntityManager::remove_from_found::<S>)
    }

    /// Removes components, named by type IDs, from all entities that have them. Returns the number of entities that had one.
    ///
    /// # Errors
    ///
    /// Those of [`remove`](Self::remove).
    #[track_caller]
    pub fn remove_types(self, types: &[ComponentType]) -> Result<usize, EntityError> {
        self.change(|entities, found| entities.remove_types_from_found(found, types))
    }

    /// Replaces the value of a shared component of all entities. Returns the number of entities that had another.
    ///
    /// [`add`](Self::add) with a [`Shared`] also adds the component where it is missing.
    ///
    /// A chunk in which all entities match gets the value in place. No entity enters or leaves it, so that
    /// [`OrderChanged`](crate::OrderChanged) does not match; [`Changed`](crate::Changed) of the component does.
    ///
    /// # Errors
    ///
    /// If an entity does not have the component, or if there is no memory. Nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{QueryDescriptor, Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(10, Shared::new(Team(3)));
    /// world.spawn_many(5, Shared::new(Team(4)));
    /// assert_eq!(world.batch(QueryDescriptor::new().with_shared(Team(3))).set_shared(Team(4)), Ok(10));
    /// assert_eq!(world.query::<()>().with_shared(Team(4)).count(), 15);
    /// ```
    #[track_caller]
    pub fn set_shared<T: SharedComponent>(self, value: T) -> Result<usize, EntityError> {
        self.change(|entities, found| entities.set_shared_of_found(found, Shared::new(value)))
    }

    /// Enables or disables a component of all entities. Returns their number.
    ///
    /// A query of the component matches only entities where it is enabled; [`Present`](crate::Present) matches both, and
    /// [`IsDisabled`](crate::IsDisabled) matches disabled ones. Unity's `SetComponentEnabled` with a query.
    ///
    /// # Errors
    ///
    /// A0070 if the component is not enableable. An error if an entity does not have it: then nothing is changed.
    ///
    /// # Complexity
    ///
    /// Not a structural change: one bit for each entity, 64 at a time.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Present, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(1000, Engine);
    /// let engines = QueryDescriptor::of::<(), Present<Engine>>();
    /// assert_eq!(world.batch(&engines).set_component_enabled::<Engine>(false), Ok(1000));
    /// assert!(world.query::<&Engine>().is_empty());
    /// assert_eq!(world.batch(&engines).set_component_enabled::<Engine>(true), Ok(1000));
    /// assert_eq!(world.query::<&Engine>().count(), 1000);
    /// ```
    #[track_caller]
    pub fn set_component_enabled<T: Component>(self, enabled: bool) -> Result<usize, EntityError> {
        self.set_type_enabled(ComponentType::of::<T>(), enabled)
    }

    /// Enables or disables a component, named by its type ID, of all entities. Returns their number.
    ///
    /// # Errors
    ///
    /// Those of [`set_component_enabled`](Self::set_component_enabled).
    #[track_caller]
    pub fn set_type_enabled(self, ty: ComponentType, enabled: bool) -> Result<usize, EntityError> {
        self.query.set_type_enabled(self.entities, ty, enabled)
    }

    /// Enables or disables all entities: removes or adds [`Disabled`](crate::Disabled), also for the members of their
    /// [groups](crate::LinkedEntityGroup), whether or not those match. Returns the number of entities that changed.
    ///
    /// Disabled entities match only with [`IncludeDisabled`](crate::IncludeDisabled).
    ///
    /// # Errors
    ///
    /// If there is no memory. Nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, IncludeDisabled, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(10, Orc);
    /// let orcs = QueryDescriptor::of::<&Orc, IncludeDisabled>();
    /// assert_eq!(world.batch(&orcs).set_enabled(false), Ok(10));
    /// assert!(world.query::<&Orc>().is_empty());
    /// assert_eq!(world.batch(&orcs).set_enabled(true), Ok(10));
    /// ```
    #[track_caller]
    pub fn set_enabled(self, enabled: bool) -> Result<usize, EntityError> {
        self.change(|entities, found| entities.set_found_enabled(found, enabled))
    }

    /// Calls a function with the manager and each entity, for any structural change.
    ///
    /// The entities are listed first. An entity that does not exist or does not match any more when its turn comes is skipped; new
    /// entities are not visited. Unity's `WithStructuralChanges`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
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
    /// world.batch(QueryDescriptor::of::<&Egg, ()>()).for_each(|entities, entity| {
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
    pub fn for_each(self, mut function: impl FnMut(&mut EntityManager, Entity)) {
        for entity in self.query.query(self.entities).to_entities() {
            if self.query.query(self.entities).matches(entity) {
                function(self.entities, entity);
            }
        }
    }

    /// Moves all entities to another world. Returns which entity became which.
    ///
    /// Chunks in which all entities match move as a whole, entities of other chunks one by one. Unity's `MoveEntitiesFrom` with a
    /// query, which moves whole chunks only.
    ///
    /// # Errors
    ///
    /// Those of [`EntityManager::move_entities_from`]. Nothing is moved then.
    ///
    /// # Panics
    ///
    /// As [`EntityManager::move_entities_from`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, With, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone)]
    /// struct Asleep;
    ///
    /// let (mut game, mut aside) = (World::new("Game"), World::new("Aside"));
    /// game.spawn_many(10, Health(20));
    /// game.spawn_many(5, (Health(20), Asleep));
    /// let moved = game.batch(QueryDescriptor::of::<(), With<Asleep>>()).move_to(&mut aside).unwrap();
    /// assert_eq!((moved.len(), game.entity_count(), aside.entity_count()), (5, 10, 5));
    /// ```
    #[track_caller]
    pub fn move_to(self, world: &mut EntityManager) -> Result<EntityMap, EntityError> {
        self.change(|from, found| world.move_found_from(from, found))
    }
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({})", self.query)
    }
}

impl QueryDescriptor {
    /// Copies all matching entities of one world to another. Returns which entity was copied to which.
    ///
    /// # Errors
    ///
    /// Those of [`EntityManager::copy_entities_from`]. Nothing is copied then.
    ///
    /// # Panics
    ///
    /// As [`EntityManager::copy_entities_from`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let (mut game, mut preview) = (World::new("Game"), World::new("Preview"));
    /// game.spawn_many(10, ());
    /// game.spawn_many(5, Health(20));
    /// let copied = QueryDescriptor::of::<&Health, ()>().copy_to(&game, &mut preview).unwrap();
    /// assert_eq!((copied.len(), game.entity_count(), preview.entity_count()), (5, 15, 5));
    /// ```
    #[track_caller]
    pub fn copy_to(
        &self,
        from: &EntityManager,
        to: &mut EntityManager,
    ) -> Result<EntityMap, EntityError> {
        let found = self.found(from);
        let copied = to.copy_found_from(from, &found);
        from.keep_found(found);
        copied
    }

    /// Applies a change to all matching rows.
    #[track_caller]
    pub(crate) fn change<R>(
        &self,
        entities: &mut EntityManager,
        change: impl FnOnce(&mut EntityManager, &Found) -> R,
    ) -> R {
        let found = self.found(entities);
        let result = change(entities, &found);
        entities.keep_found(found);
        result
    }

    /// Returns all matching rows, after waiting for all jobs that use them.
    #[track_caller]
    fn found(&self, entities: &EntityManager) -> Found {
        let matched = self.matched_in(entities);
        // That includes jobs that write enabled bits or versions on which matching depends.
        entities.before_moving(matched.matches.iter().map(|found| found.archetype));
        Walk::reading(entities, matched, self.settings()).found(entities.take_found())
    }

    /// Removes the entities from a list that do not match.
    pub(crate) fn retain_found(&self, entities: &EntityManager, list: &mut Vec<Entity>) {
        let matched = self.matched_in(entities);
        sync_for_query(entities, matched, Asked::Found);
        let walk = Walk::reading(entities, matched, self.settings());
        let storage = &entities.storage;
        list.retain(|&entity| {
            let Some(at) = storage.table.locate(entity) else { return false };
            let Some(found) = matched.find(storage.archetype_at(at)) else { return false };
            walk.has_row(found, at.chunk, at.row)
        });
    }

    /// Enables or disables a component of all matching entities.
    #[track_caller]
    pub(crate) fn set_type_enabled(
        &self,
        entities: &mut EntityManager,
        ty: ComponentType,
        enabled: bool,
    ) -> Result<usize, EntityError> {
        if !ty.is_enableable() {
            return Err(EntityError::NotEnableable { component: ty });
        }
        let archetypes = &entities.storage.archetypes;
        let lacks = |found: &Match| !archetypes[found.archetype].shape.has(ty);
        if self.matched_in(entities).matches.iter().any(lacks) {
            // Perhaps no entity of those archetypes matches.
            self.change(entities, |entities, found| entities.check_all_have(found, ty))?;
        }
        entities.before_switching(ty);
        sync_for_query(entities, self.matched_in(entities), Asked::Data);
        let entities: *mut EntityManager = entities;
        // SAFETY: the manager is borrowed mutably by this function alone, and neither the states nor the archetypes change
        // meanwhile.
        let (states, archetypes) =
            unsafe { (&(*entities).queries, &(*entities).storage.archetypes) };
        let matched = self.matched(states, archetypes);
        // SAFETY: no other view uses the chunks, and the state belongs to the manager.
        let walk = unsafe { Walk::writing(entities, matched, self.settings()) };
        // SAFETY: the manager is borrowed mutably, and no item of it is alive. Jobs that use the component, or read whether it is
        // enabled, have completed, and other jobs do not see its versions.
        Ok(unsafe { walk.switch(ty, enabled) })
    }
}

/// Distance, in chunks, at which memory is prefetched.
const AHEAD: usize = 16;

impl Walk<'_> {
    /// Returns all matching rows, in a list that is empty yet.
    pub(super) fn found(&self, mut all: Found) -> Found {
        let chunks = |found: &Match| self.archetypes[found.archetype].chunks.len();
        all.reserve(self.matches.iter().map(chunks).sum());
        // SAFETY: nobody changes what the world knows of chunks meanwhile.
        let chunks = unsafe { &*self.chunks };
        let mut changed = mem::take(&mut all.changed);
        for found in self.matches {
            let mut list = self.archetypes[found.archetype].chunks.iter();
            while let Some(number) = self.next_chosen(&mut list, found, &mut changed) {
                // Other work may have evicted the chunks from the cache.
                if let Some(&later) = list.as_slice().get(AHEAD - 1) {
                    chunks.fetch(later);
                }
                // SAFETY: archetypes list existing chunks.
                let chunk = unsafe { chunks.at(number) };
                let masks = Masks { enabled: &chunk.enabled, changed: &changed };
                let (mut run, mut runs) = Runs::new(&found.bits, chunk).next(&masks);
                while run.start < run.end {
                    let rows = run.end - run.start;
                    all.push(found.archetype, Run { chunk: number, first: run.start, rows });
                    (run, runs) = runs.next(&masks);
                }
            }
        }
        all.changed = changed;
        all
    }

    /// Switches a component of all rows that are found on or off, which all archetypes have that match. Returns how many they are.
    ///
    /// # Safety
    ///
    /// - the walk was made by [`writing`](Self::writing), and no fetched data of its chunks is alive
    /// - as for [`switch_some`](Self::switch_some), in all of them
    pub(super) unsafe fn switch(&self, component: ComponentType, enabled: bool) -> usize {
        let mut switched = 0;
        let mut changed = Vec::new();
        for found in self.matches {
            let archetype = &self.archetypes[found.archetype];
            let place = archetype.shape.index.find(component);
            let Some((column, mask)) = place.and_then(|place| Some((place.column, place.mask()?)))
            else {
                continue;
            };
            let mut list = archetype.chunks.iter();
            while let Some(number) = self.next_chosen(&mut list, found, &mut changed) {
                // SAFETY: archetypes list existing chunks.
                let chunk = unsafe { (*self.chunks).at(number) };
                // SAFETY: the caller's promise.
                unsafe {
                    if found.bits.is_empty() {
                        chunk.enabled.set_rows(mask, 0, chunk.len, enabled);
                        chunk.note_written_beside(column, 0, chunk.len, self.version);
                        switched += chunk.len as usize;
                    } else {
                        let place = (column, mask);
                        switched += self.switch_some(chunk, found, &changed, place, enabled);
                    }
                }
            }
        }
        switched
    }

    /// Switches a component of those rows of a chunk that match, given its column and its mask. Returns how many they are.
    ///
    /// # Safety
    ///
    /// - no other code uses the mask, nor what is noted of the column; nor of others, unless their versions were written out
    unsafe fn switch_some(
        &self,
        chunk: &Chunk,
        found: &Match,
        changed: &[u64],
        (column, mask): (u32, u32),
        enabled: bool,
    ) -> usize {
        let mut switched = 0;
        // Whether rows match is told by the bits of one word, so that those which were switched do not matter.
        for word in 0..chunk.len.div_ceil(u64::BITS) {
            let masks = Masks { enabled: &chunk.enabled, changed };
            let rows = matching_rows(&found.bits, &masks, word, chunk.len);
            if rows != 0 {
                // SAFETY: the caller's promise. What was borrowed to find the rows is not used any more.
                unsafe {
                    chunk.enabled.set_bits(mask, word, rows, enabled);
                    chunk.note_written_bits(column, word, rows, self.version);
                }
                switched += rows.count_ones() as usize;
            }
        }
        switched
    }
}

//! A query of a world that is borrowed to be read.

#![expect(unsafe_code, reason = "values of chunks of a world that is borrowed")]

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;

use super::cursor::{Cursor, Writes};
use super::data::{ChunkData, QueryData, ReadOnlyData};
use super::filter::QueryFilter;
use super::iter::QueryIter;
use super::loops::{count, each_row, each_slices, entities, get, refuse};
use super::mask::QueryMask;
use super::matched::Matched;
use super::plan::plan_of;
use super::settings::{Options, Settings, Since, settings_methods};
use super::uses::{Asked, before_query};
use super::walk::Walk;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::shared::SharedComponent;
use crate::version::Version;

/// A query of a world that is borrowed to be read.
///
/// It can always say which entities it finds and how many. What it gives for them it gives if that cannot be changed:
/// [`ReadOnlyData`].
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// world.spawn_many(Health(20), 10);
/// let query = world.query::<&Health>();
/// assert_eq!(query.count(), 10);
/// assert_eq!(query.iter().map(|health| health.0).sum::<u32>(), 200);
/// ```
///
/// It stays on the thread of its world, and so does its iterator:
///
/// ```compile_fail,E0277
/// use ancho_entities::{Entity, World};
///
/// let world = World::new("Simulation");
/// let query = world.query::<Entity>();
/// std::thread::scope(|scope| {
///     scope.spawn(move || query.count());
/// });
/// ```
#[must_use = "a query does nothing until it is asked for something"]
pub struct QueryRef<'w, D, F = ()> {
    pub(super) entities: &'w EntityManager,
    settings: Settings,
    of: PhantomData<fn() -> (D, F)>,
}

settings_methods!(['w] QueryRef);

impl<'w, D: QueryData, F: QueryFilter> QueryRef<'w, D, F> {
    pub(crate) fn new(entities: &'w EntityManager, settings: Settings) -> Self {
        Self { entities, settings, of: PhantomData }
    }

    fn refiltered<G>(self) -> QueryRef<'w, D, (F, G)> {
        QueryRef { entities: self.entities, settings: self.settings, of: PhantomData }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    #[inline]
    #[track_caller]
    pub(super) fn matched(&self) -> &'w Matched {
        let id = TypeId::of::<(D::Static, F)>();
        let options = self.settings.options;
        let archetypes = &self.entities.storage.archetypes;
        self.entities.queries.of_type(id, options, archetypes, || plan_of::<D, F>(options))
    }

    #[inline]
    #[track_caller]
    pub(super) fn walk(&self) -> Walk<'w> {
        self.walk_for(Asked::Data)
    }

    #[inline]
    #[track_caller]
    fn walk_for(&self, asked: Asked) -> Walk<'w> {
        let matched = self.matched();
        before_query(self.entities, matched, asked);
        Walk::reading(self.entities, matched, &self.settings)
    }

    /// A cursor that only says what is found.
    #[inline]
    #[track_caller]
    fn finding(&self) -> Cursor<'w> {
        Cursor::new(self.walk_for(Asked::Found), Writes::Nothing)
    }

    #[inline]
    #[track_caller]
    fn cursor(&self) -> Cursor<'w> {
        Cursor::new(self.walk(), Writes::Nothing)
    }

    /// How many entities there are.
    ///
    /// # Panics
    ///
    /// As everything that asks a query for the first time: with A0086 if a component is there twice and can be changed, with
    /// A0070 if a filter asks for a component to be off that cannot be switched.
    ///
    /// # Complexity
    ///
    /// Linear in the number of chunks.
    #[track_caller]
    pub fn count(&self) -> usize {
        count(self.finding())
    }

    /// Whether there is no such entity.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Enemy;
    ///
    /// let mut world = World::new("Simulation");
    /// assert!(world.query::<&Enemy>().is_empty());
    /// world.spawn(Enemy);
    /// assert!(!world.query::<&Enemy>().is_empty());
    /// ```
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        !self.finding().next_chunk()
    }

    /// How many entities have such components, whatever is switched off, has changed or is shared.
    ///
    /// Unity's `CalculateEntityCountWithoutFiltering`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// world.spawn_many(Engine, 4);
    /// world.set_component_enabled::<Engine>(car, false).unwrap();
    /// let query = world.query::<&Engine>();
    /// assert_eq!((query.count(), query.count_unfiltered()), (4, 5));
    /// ```
    #[track_caller]
    pub fn count_unfiltered(&self) -> usize {
        self.matched().count_rows(&self.entities.storage)
    }

    /// Returns how many chunks the archetypes have that match, whatever is disabled, has changed or is shared: how many elements a
    /// [`ChunkJob`](crate::ChunkJob) writes that has one for each chunk.
    ///
    /// Unity's `CalculateChunkCountWithoutFiltering`. It waits for no job.
    #[track_caller]
    pub fn count_chunks_unfiltered(&self) -> usize {
        self.matched().count_chunks(&self.entities.storage)
    }

    /// Whether no entity has such components, whatever is switched off, has changed or is shared.
    ///
    /// Unity's `IsEmptyIgnoreFilter`.
    #[track_caller]
    pub fn is_empty_unfiltered(&self) -> bool {
        self.matched().has_no_chunks(&self.entities.storage)
    }

    /// The entities, in the order in which they are given.
    ///
    /// # Determinism
    ///
    /// Archetypes in the order in which they came to be, each with its chunks, each with its entities. It follows from the
    /// operations that were made, and from nothing else.
    ///
    /// A structural change reorders: an entity that gets or loses a component, or another shared value, moves to another chunk, and the
    /// last entity of a chunk takes the place of one that leaves it. A list of values that was made before such a change is not in the
    /// order of the query afterwards. To add a value of its own to each entity, use [`add_each`](crate::QueryMut::add_each), not `add` and
    /// then [`copy_from`](crate::QueryMut::copy_from).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Dead;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Dead);
    /// for entity in world.query::<&Dead>().to_entities() {
    ///     world.despawn(entity).unwrap();
    /// }
    /// assert!(!world.exists(orc));
    /// ```
    #[track_caller]
    pub fn to_entities(&self) -> Vec<Entity> {
        entities(self.finding())
    }

    /// The values of a component, in the order of [`to_entities`](Self::to_entities).
    ///
    /// # Errors
    ///
    /// With A0087 if the query does not ask for the component, so that entities without it may be found.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Health(1), Health(2)]);
    /// assert_eq!(world.query::<&Health>().to_components(), Ok(vec![Health(1), Health(2)]));
    /// assert!(world.query::<()>().to_components::<Health>().is_err());
    /// ```
    #[track_caller]
    pub fn to_components<T: Component + Clone>(&self) -> Result<Vec<T>, EntityError> {
        let component = ComponentType::of::<T>();
        let matched = self.matched();
        if !matched.plan.requires(component) {
            return Err(EntityError::NotInQuery { component });
        }
        self.entities.jobs.sync_for_read(component);
        // SAFETY: who could change a value would have to borrow the world mutably.
        Ok(unsafe { self.finding().clone_values() })
    }

    /// Whether an entity is one of those that are found.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, stone) = (world.spawn(Orc), world.spawn(()));
    /// let query = world.query::<&Orc>();
    /// assert!(query.matches(orc) && !query.matches(stone));
    /// ```
    #[track_caller]
    pub fn matches(&self, entity: Entity) -> bool {
        let storage = &self.entities.storage;
        let walk = self.walk_for(Asked::Found);
        let Some(at) = storage.table.locate(entity) else { return false };
        let Some(found) = walk.matched.find(storage.archetype_at(at)) else { return false };
        walk.has_row(found, at.chunk, at.row)
    }

    /// What tells of an entity whether it has such components, whatever is switched off, has changed or is shared: for many
    /// entities, a few instructions each.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, stone) = (world.spawn(Orc), world.spawn(()));
    /// let mask = world.query::<&Orc>().mask();
    /// assert!(mask.matches(orc) && !mask.matches(stone));
    /// ```
    #[track_caller]
    pub fn mask(&self) -> QueryMask<'w> {
        QueryMask::new(&self.entities.storage, self.matched())
    }

    /// What is given for each entity, one after the other.
    #[inline]
    #[track_caller]
    pub fn iter(&self) -> QueryIter<'w, D>
    where
        D: ReadOnlyData,
    {
        // SAFETY: the cursor is that of this query. Nothing can be changed.
        unsafe { QueryIter::new(self.cursor()) }
    }

    /// Calls a function with what is given for each entity.
    ///
    /// The loop is compiled for the CPU at hand: see [`QueryMut::for_each`](crate::QueryMut::for_each).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 10);
    /// let mut sum = 0;
    /// world.query::<&Health>().for_each(|health| sum += health.0);
    /// assert_eq!(sum, 200);
    /// ```
    #[inline]
    #[track_caller]
    pub fn for_each(&self, function: impl FnMut(D::Item<'w>))
    where
        D: ReadOnlyData,
    {
        // SAFETY: the cursor is that of this query. Nothing can be changed.
        if let Err(error) = unsafe { each_row::<D, _>(&self.walk(), function) } {
            refuse(error.into());
        }
    }

    /// Calls a function with slices, of entities that lie side by side.
    ///
    /// It is called once for each chunk, unless some of its entities are not found: then once for each run of those that are.
    /// Optional data is there if the entities have the component, on or off. The loop is compiled for the CPU at hand.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 10);
    /// let mut sum = 0;
    /// world.query::<(Entity, &Health)>().for_each_chunk(|(entities, health)| {
    ///     assert_eq!(entities.len(), health.len());
    ///     sum += health.iter().map(|health| health.0).sum::<u32>();
    /// });
    /// assert_eq!(sum, 200);
    /// ```
    #[inline]
    #[track_caller]
    pub fn for_each_chunk(&self, function: impl FnMut(D::Slices<'w>))
    where
        D: ReadOnlyData + ChunkData,
    {
        // SAFETY: the cursor is that of this query. Nothing can be changed.
        if let Err(error) = unsafe { each_slices::<D, _>(&self.walk(), function) } {
            refuse(error.into());
        }
    }

    /// What is given for the only entity.
    ///
    /// # Errors
    ///
    /// With A0088 if there is none, or more than one.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Gravity(-9.8));
    /// assert_eq!(world.query::<&Gravity>().single(), Ok(&Gravity(-9.8)));
    /// ```
    #[track_caller]
    pub fn single(&self) -> Result<D::Item<'w>, EntityError>
    where
        D: ReadOnlyData,
    {
        match (self.count(), self.iter().next()) {
            (1, Some(item)) => Ok(item),
            (found, _) => Err(EntityError::NotSingle { query: type_name::<D>(), found }),
        }
    }

    /// What is given for an entity, if it is one of those that are found.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// assert_eq!(world.query::<&Health>().get(orc), Some(&Health(20)));
    /// ```
    #[track_caller]
    pub fn get(&self, entity: Entity) -> Option<D::Item<'w>>
    where
        D: ReadOnlyData,
    {
        let storage = &self.entities.storage;
        let walk = self.walk();
        let at = storage.table.locate(entity)?;
        // SAFETY: the walk is that of this query. Nothing can be changed. The row is there, as the table says.
        unsafe { get::<D>(walk, Writes::Nothing, storage.archetype_at(at), at) }
    }
}

impl<'w, D: ReadOnlyData, F: QueryFilter> IntoIterator for QueryRef<'w, D, F> {
    type Item = D::Item<'w>;
    type IntoIter = QueryIter<'w, D>;

    #[inline]
    #[track_caller]
    fn into_iter(self) -> QueryIter<'w, D> {
        self.iter()
    }
}

impl<'w, D: ReadOnlyData, F: QueryFilter> IntoIterator for &QueryRef<'w, D, F> {
    type Item = D::Item<'w>;
    type IntoIter = QueryIter<'w, D>;

    #[inline]
    #[track_caller]
    fn into_iter(self) -> QueryIter<'w, D> {
        self.iter()
    }
}

impl<D, F> Clone for QueryRef<'_, D, F> {
    fn clone(&self) -> Self {
        Self { entities: self.entities, settings: self.settings.clone(), of: PhantomData }
    }
}

impl<D, F> fmt::Debug for QueryRef<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryRef<{}, {}>", type_name::<D>(), type_name::<F>())
    }
}

impl EntityManager {
    /// All entities with these components, to be read.
    ///
    /// Which entities are found is said in more detail with [`filter`](QueryRef::filter). A query that is kept is a
    /// [`EntityQuery`](crate::EntityQuery).
    ///
    /// # Determinism
    ///
    /// Archetypes in the order in which they came to be, each with its chunks, each with its entities.
    ///
    /// # Complexity
    ///
    /// Each archetype is looked at once, when the first such query is made or the archetype is new.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(0));
    /// world.spawn(Health(20));
    /// let dead: Vec<Entity> = world
    ///     .query::<(Entity, &Health)>()
    ///     .iter()
    ///     .filter(|(_, health)| health.0 == 0)
    ///     .map(|(entity, _)| entity)
    ///     .collect();
    /// assert_eq!(dead, [orc]);
    /// ```
    #[inline]
    pub fn query<D: QueryData>(&self) -> QueryRef<'_, D> {
        QueryRef::new(self, Settings::default())
    }
}

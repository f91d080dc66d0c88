//! The typed query: entities with specific components, and access to their data.

#![expect(unsafe_code, reason = "values of chunks of a world that several views borrow")]

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::access::{Asked, Meets, sync_for_query};
use super::data::{ChunkData, QueryData, ReadOnlyData};
use super::descriptor::plan_of;
use super::filter::QueryFilter;
use super::iter::{Cursor, QueryIter, Writes};
use super::state::{QueryMask, QueryState};
use super::system_query::SystemQuery;
use super::terms::{Options, Settings};
use super::walk::{Walk, each_pair, each_slices, succeed};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::{EntityManager, Jobs};
use crate::shared::SharedComponent;
use crate::storage::Storage;
use crate::version::Version;

/// A query: all entities that have the components of `D` and pass the filters `F`, and access to their data.
///
/// A `Query` comes from one of these sources:
///
/// | source | data |
/// |---|---|
/// | [`EntityManager::query`], [`query_filtered`](EntityManager::query_filtered) | [`ReadOnlyData`] |
/// | [`EntityManager::query_mut`], [`query_filtered_mut`](EntityManager::query_filtered_mut) | any [`QueryData`] |
/// | [`EntityManager::split`] | any, several queries at once |
/// | a parameter of a [system](crate::IntoSystem) | any, several queries at once |
/// | [`QueryDescriptor::query`](crate::QueryDescriptor::query) | [`Entity`] |
///
/// Methods that take `&self` read, methods that take `&mut self` can write. Loops nest: a query can be used again while items of
/// other queries are alive. Data that is fetched for writing counts as changed, chunk by chunk.
///
/// A query never changes which components an entity has. [`EntityManager::batch`] does.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Query, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Magnet(f32);
///
/// fn attract(iron: &mut Query<&mut Position>, magnets: &Query<(&Magnet, &Field)>) {
///     for (magnet, field) in magnets {
///         iron.for_each(|position| position.0 += (magnet.0 - position.0) * field.0);
///     }
/// }
///
/// #[derive(Component, Clone, Copy)]
/// struct Field(f32);
///
/// let mut world = World::new("Simulation");
/// let nail = world.spawn(Position(1.0));
/// world.spawn_batch([(Magnet(3.0), Field(0.5)), (Magnet(6.0), Field(0.5))]);
/// let (mut iron, magnets) = world.split::<(Query<&mut Position>, Query<(&Magnet, &Field)>)>();
/// attract(&mut iron, &magnets);
/// assert_eq!(world.get::<Position>(nail).unwrap().0, 4.0);
/// ```
///
/// A query stays on the thread of its world:
///
/// ```compile_fail,E0277
/// use ancho_entities::{Entity, World};
///
/// let world = World::new("Simulation");
/// let all = world.query::<Entity>();
/// std::thread::scope(|scope| {
///     scope.spawn(move || all.count());
/// });
/// ```
#[must_use = "a query does nothing until one of its methods is called"]
#[doc(alias = "SystemAPI.Query")]
#[doc(alias = "EntityQuery")]
#[doc(alias = "QueryState")]
pub struct Query<'w, D: QueryData, F: QueryFilter = ()> {
    /// The manager, borrowed for `'w`: shared if `D` is read-only, otherwise mutably by all views of one split together.
    pub(super) entities: NonNull<EntityManager>,
    pub(super) matched: &'w QueryState,
    pub(super) settings: Settings,
    pub(super) others: Others,
    /// The borrow of the manager.
    world: PhantomData<&'w mut EntityManager>,
    /// Invariant in `D`: the columns of a subtype may be laid out differently.
    of: PhantomData<*mut (D, F)>,
}

/// The other views that exist besides a query.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Others {
    /// No other view can write.
    #[default]
    None,
    /// Other views can write, but none of them conflicts with a job of the query.
    Disjoint,
    /// Another view conflicts with a job of the query.
    Conflicting,
    /// Another view of a system conflicts with a job of the query. The views of a system are not `'static`, so that no job can use
    /// them or their items.
    ConflictingInSystem,
}

impl Others {
    /// Returns the other views, given the views that a job of the query conflicts with.
    pub(super) fn met(meets: &Meets<'_>) -> Self {
        match meets {
            Meets::Nobody => Self::Disjoint,
            Meets::Writer(_) | Meets::Others => Self::Conflicting,
            Meets::WriterOfSystem(_) | Meets::OthersOfSystem => Self::ConflictingInSystem,
        }
    }

    /// Returns `true` if another view conflicts with a job of the query.
    pub(super) fn conflict(self) -> bool {
        matches!(self, Self::Conflicting | Self::ConflictingInSystem)
    }
}

impl<'w, D: QueryData, F: QueryFilter> Query<'w, D, F> {
    /// Creates a query of a manager.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed for the lifetime: mutably, or shared if the data is read-only
    /// - only views use the manager; no other view fetches data that this query can write, or can write data that this query reads
    /// - the state belongs to the manager and to this data, and is up to date with all archetypes; no archetype is added while the
    ///   query exists
    /// - if there are other views, all chunks in which this query can write are unshared
    /// - `others` describes the other views that exist
    #[inline]
    pub(super) unsafe fn new(
        entities: NonNull<EntityManager>,
        matched: &'w QueryState,
        settings: Settings,
        others: Others,
    ) -> Self {
        Self { entities, matched, settings, others, world: PhantomData, of: PhantomData }
    }

    /// Creates the only query of a manager that can write, or one of several that read.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed for the lifetime: mutably by this query alone, or shared if the data is read-only
    #[inline]
    #[track_caller]
    unsafe fn of_all(entities: NonNull<EntityManager>) -> Self {
        // SAFETY:
        // - the manager is borrowed for the lifetime: mutably by this query alone, or shared if the data is read-only
        // - that borrow excludes views that conflict, structural changes and new archetypes
        // - `state_of` returns the state of this data and these filters in this manager, up to date with all archetypes
        // - there are no other views that can write
        unsafe {
            let matched = state_of::<D, F>(entities, Options::NONE);
            Self::new(entities, matched, Settings::default(), Others::None)
        }
    }

    /// Borrows the query for a shorter time, to pass it by value and use it again afterwards.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Health(20));
    /// let (mut health,) = world.split::<(Query<&mut Health>,)>();
    /// health.reborrow().job().named("Heal").schedule_parallel(|health| health.0 += 1);
    /// assert_eq!(health.single_mut()?.0, 21);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reborrow(&mut self) -> Query<'_, D, F> {
        // SAFETY: the copy has the borrow, the state and the settings of this query, so that everything that `new` requires holds
        // for it too. This query is not used while the copy is alive.
        unsafe { Query::new(self.entities, self.matched, self.settings.clone(), self.others) }
    }

    /// Makes [`Changed`](crate::Changed) and [`OrderChanged`](crate::OrderChanged) mean "newer than this version".
    ///
    /// In a system the default is the version of the system's last run. Elsewhere everything counts as changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Changed, Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Health(20));
    /// let last = world.version();
    /// assert!(world.query_filtered::<&Health, Changed<Health>>().since(last).is_empty());
    ///
    /// world.advance_version();
    /// world.query_mut::<&mut Health>().for_each(|health| health.0 += 1);
    /// assert_eq!(world.query_filtered::<&Health, Changed<Health>>().since(last).count(), 1);
    /// ```
    pub fn since(mut self, version: Version) -> Self {
        self.settings.since = version;
        self
    }

    /// Keeps only entities with this value of a [shared component](crate::SharedComponent). Calls for several components combine.
    ///
    /// Chunks with other values are skipped as a whole.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, Shared, SharedComponent, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// fn heal(mut all: Query<&mut Health>) {
    ///     all.reborrow().with_shared(Team(2)).for_each(|health| health.0 += 5);
    ///     all.for_each(|health| health.0 += 1);
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let ours = world.spawn((Health(20), Shared::new(Team(1))));
    /// let theirs = world.spawn((Health(20), Shared::new(Team(2))));
    /// world.add_system(heal);
    /// world.update(0.1);
    /// assert_eq!(world.get::<Health>(ours).unwrap().0, 21);
    /// assert_eq!(world.get::<Health>(theirs).unwrap().0, 26);
    /// ```
    pub fn with_shared<T: SharedComponent>(mut self, value: T) -> Self {
        self.settings.add_shared(value);
        self
    }

    /// Returns the number of entities that match.
    ///
    /// # Complexity
    ///
    /// Linear in the number of chunks.
    pub fn count(&self) -> usize {
        self.finding().count_all()
    }

    /// Returns `true` if no entity matches.
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
    pub fn is_empty(&self) -> bool {
        !self.finding().next_chunk()
    }

    /// Returns the number of entities in the matching archetypes, ignoring enabled state, changes and shared values.
    ///
    /// This is Unity's `CalculateEntityCountWithoutFiltering`. Waits for no job.
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
    pub fn count_unfiltered(&self) -> usize {
        self.matched.count_rows(self.storage())
    }

    /// Returns the number of chunks of the matching archetypes, ignoring enabled state, changes and shared values.
    ///
    /// A container that a [`ChunkJob`](crate::ChunkJob) writes needs this many elements. This is Unity's
    /// `CalculateChunkCountWithoutFiltering`. Waits for no job.
    pub fn count_chunks_unfiltered(&self) -> usize {
        self.matched.count_chunks(self.storage())
    }

    /// Returns `true` if the matching archetypes have no entity, ignoring enabled state, changes and shared values.
    ///
    /// This is Unity's `IsEmptyIgnoreFilter`. Waits for no job.
    pub fn is_empty_unfiltered(&self) -> bool {
        self.matched.has_no_chunks(self.storage())
    }

    /// Copies the chunks that this query can write and that are shared with a [fork](crate::World::fork).
    ///
    /// Loops copy such chunks when they reach them, and panic if there is no memory for a copy. After this call, they have nothing
    /// left to copy.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no memory for a copy.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ChunkArena, Component, World, WorldSettings};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// // Memory for one chunk, which the fork shares.
    /// let settings = WorldSettings::new().arena(ChunkArena::with_limit(16 * 1024));
    /// let mut world = World::with_settings("Simulation", settings);
    /// world.spawn(Health(20));
    /// let fork = world.fork().unwrap();
    /// assert!(world.query_mut::<&mut Health>().unshare().is_err());
    /// assert!(world.query_mut::<&Health>().unshare().is_ok());
    /// # drop(fork);
    /// ```
    #[track_caller]
    pub fn unshare(&mut self) -> Result<(), EntityError> {
        self.unshare_for(Writes::of::<D>())
    }

    /// Tests whether an entity matches.
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
    pub fn matches(&self, entity: Entity) -> bool {
        let walk = self.walk_for(Asked::Found);
        let storage = self.storage();
        let Some(at) = storage.table.locate(entity) else { return false };
        let Some(found) = self.matched.find(storage.archetype_at(at)) else { return false };
        walk.has_row(found, at.chunk, at.row)
    }

    /// Returns a mask that tests entities by their archetype alone: a few instructions for each entity.
    ///
    /// Enabled state, changes and shared values are ignored. Waits for no job.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Query, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// #[derive(Component)]
    /// struct Target(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, stone) = (world.spawn(Orc), world.spawn(()));
    /// world.spawn_batch([Target(orc), Target(stone)]);
    /// let (orcs, targets) = world.split::<(Query<&Orc>, Query<&Target>)>();
    /// let mask = orcs.mask();
    /// assert_eq!(targets.iter().filter(|target| mask.matches(target.0)).count(), 1);
    /// ```
    pub fn mask(&self) -> QueryMask<'_> {
        QueryMask { storage: self.storage(), matched: self.matched }
    }

    /// Returns an iterator over read-only items.
    ///
    /// To read data that the query can write, use [`as_read_only`](Self::as_read_only).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Weight(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Weight(1), Weight(2), Weight(3)]);
    /// let weights = world.query::<&Weight>();
    /// let mut sums = Vec::new();
    /// for one in weights.iter() {
    ///     sums.push(weights.iter().map(|other| one.0 * other.0).sum::<u32>());
    /// }
    /// assert_eq!(sums, [6, 12, 18]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn iter(&self) -> QueryIter<'w, D>
    where
        D: ReadOnlyData,
    {
        // SAFETY: the cursor belongs to this query, whose data is read-only.
        unsafe { QueryIter::new(self.cursor(None)) }
    }

    /// Returns an iterator over the items.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Plague(usize);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 5);
    /// world.spawn_batch([Plague(2), Plague(1)]);
    /// let (plagues, mut health) = world.split::<(Query<&Plague>, Query<&mut Health>)>();
    /// for plague in &plagues {
    ///     health.iter_mut().take(plague.0).for_each(|health| health.0 = 0);
    /// }
    /// assert_eq!(health.iter_mut().filter(|health| health.0 == 0).count(), 2);
    /// ```
    #[inline]
    #[track_caller]
    pub fn iter_mut(&mut self) -> QueryIter<'_, D> {
        // SAFETY: the cursor belongs to this query, which is borrowed mutably as long as the iterator lives, and the cursor marks
        // the data that is fetched.
        unsafe { QueryIter::new(self.cursor(Writes::of::<D>())) }
    }

    /// Calls a function with the item of each entity.
    ///
    /// The loop is compiled for several levels of x86-64 and the best one for the CPU is chosen at run time, so that it uses the
    /// widest vectors. For small bodies it is faster than [`iter_mut`](Self::iter_mut).
    ///
    /// Cloning a read-only query costs a few instructions: `all.clone().for_each(…)` allows nested loops, even if the query is
    /// behind a shared reference.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Heat(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Fire(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn(Heat(20.0));
    /// world.spawn_many(Fire(100.0), 3);
    /// let (fires, mut heat) = world.split::<(Query<&Fire>, Query<&mut Heat>)>();
    /// for fire in &fires {
    ///     heat.for_each(|heat| heat.0 += fire.0);
    /// }
    /// assert_eq!(world.get::<Heat>(stone).unwrap().0, 320.0);
    /// ```
    #[inline]
    #[track_caller]
    pub fn for_each<'v>(&'v mut self, function: impl FnMut(D::Item<'v>)) {
        let walk: Walk<'v> = self.walk();
        // SAFETY: the walk belongs to this query, which is borrowed mutably as long as items live. The walk is used once.
        succeed(unsafe { walk.each_row::<D, _>(function) });
    }

    /// Calls a function with slices of contiguous entities.
    ///
    /// The function is called once for each chunk, or, if some rows do not match, once for each contiguous run of matching rows.
    /// Optional data is `Some` if the entities have the component, enabled or not. As with [`for_each`](Self::for_each), the loop
    /// is compiled for several levels of x86-64.
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
    pub fn for_each_chunk<'v>(&'v mut self, function: impl FnMut(D::Slices<'v>))
    where
        D: ChunkData,
    {
        let walk: Walk<'v> = self.walk();
        // SAFETY: the walk belongs to this query, which is borrowed mutably as long as slices live. The walk is used once.
        succeed(unsafe { each_slices::<D, _>(&walk, function) });
    }

    /// Calls a function with slices of contiguous entities, as [`for_each_chunk`](Self::for_each_chunk) does. The slices can be
    /// kept for as long as the world is borrowed.
    #[inline]
    #[track_caller]
    pub fn for_each_chunk_inner(self, function: impl FnMut(D::Slices<'w>))
    where
        D: ChunkData,
    {
        // SAFETY: the walk belongs to this query, which is consumed. The walk is used once.
        succeed(unsafe { each_slices::<D, _>(&self.walk(), function) });
    }

    /// Calls a function with the items of each pair of entities.
    ///
    /// Each pair is visited once, in the order of iteration. As with [`for_each`](Self::for_each), the loop is compiled for several
    /// levels of x86-64.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Position(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Force(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let left = world.spawn((Position(0.0), Force(0.0)));
    /// world.spawn_batch([(Position(1.0), Force(0.0)), (Position(2.0), Force(0.0))]);
    /// world.query_mut::<(&Position, &mut Force)>().for_each_pair(|(a, of_a), (b, of_b)| {
    ///     let pull = 1.0 / (b.0 - a.0);
    ///     of_a.0 += pull;
    ///     of_b.0 -= pull;
    /// });
    /// assert_eq!(world.get::<Force>(left).unwrap().0, 1.5);
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "iter_combinations")]
    pub fn for_each_pair(&mut self, function: impl for<'p> FnMut(D::Item<'p>, D::Item<'p>)) {
        // SAFETY: the walk belongs to this query, which is borrowed mutably as long as items live. The walk is used once.
        succeed(unsafe { each_pair::<D, _>(&self.walk(), function) });
    }

    /// Returns the read-only item of the only entity that matches.
    ///
    /// # Errors
    ///
    /// Returns A0088 if no entity matches, or more than one.
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

    /// Returns the item of the only entity that matches.
    ///
    /// # Errors
    ///
    /// Returns A0088 if no entity matches, or more than one.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Query, World};
    ///
    /// #[derive(Component)]
    /// struct Score(u32);
    ///
    /// #[derive(Component)]
    /// struct Coin(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Score(0));
    /// world.spawn_batch([Coin(5), Coin(10)]);
    /// let (coins, mut score) = world.split::<(Query<&Coin>, Query<&mut Score>)>();
    /// for coin in &coins {
    ///     score.single_mut().unwrap().0 += coin.0;
    /// }
    /// assert_eq!(score.single_mut().unwrap().0, 15);
    /// ```
    #[track_caller]
    pub fn single_mut(&mut self) -> Result<D::Item<'_>, EntityError> {
        self.reborrow().into_single()
    }

    /// Returns the item of the only entity that matches, for as long as the world is borrowed.
    #[track_caller]
    pub(crate) fn into_single(mut self) -> Result<D::Item<'w>, EntityError> {
        let found = self.count();
        if found != 1 {
            return Err(EntityError::NotSingle { query: type_name::<D>(), found });
        }
        self.unshare()?;
        Ok(self.into_iter().next().expect("there is one"))
    }

    /// Returns the item of the only entity that matches, for as long as the world is borrowed. Otherwise returns the number of
    /// entities that match.
    ///
    /// The search stops at the second entity that matches. The entities are counted only if there is a second one.
    pub(crate) fn into_only(self) -> Result<D::Item<'w>, usize> {
        let mut cursor = self.finding();
        if !cursor.next_chunk() {
            return Err(0);
        }
        let Some(run) = cursor.next_run() else { return Err(0) };
        let entity = cursor.view().chunk.entities()[run.start as usize];
        if run.len() > 1 || cursor.next_run().is_some() || cursor.next_chunk() {
            return Err(self.count());
        }
        drop(cursor);
        // SAFETY: the query is consumed.
        unsafe { self.get_unchecked(entity) }.ok_or(0)
    }

    /// Returns the read-only item of an entity, or `None` if the entity does not match.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Gold(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let (rich, poor) = (world.spawn(Gold(100)), world.spawn(()));
    /// let purses = world.query::<&Gold>();
    /// assert_eq!(purses.get(rich).map(|gold| gold.0), Some(100));
    /// assert!(purses.get(poor).is_none());
    /// ```
    #[track_caller]
    pub fn get(&self, entity: Entity) -> Option<D::Item<'w>>
    where
        D: ReadOnlyData,
    {
        // SAFETY: the data is read-only.
        unsafe { self.get_unchecked(entity) }
    }

    /// Returns the item of an entity, or `None` if the entity does not match.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Query, Without, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Hunts(Entity);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Immortal;
    ///
    /// let mut world = World::new("Simulation");
    /// let (deer, god) = (world.spawn(Health(3)), world.spawn((Health(3), Immortal)));
    /// world.spawn_batch([Hunts(deer), Hunts(god)]);
    /// let (hunters, mut prey) = world.split::<(Query<&Hunts>, Query<&mut Health, Without<Immortal>>)>();
    /// for hunter in &hunters {
    ///     if let Some(health) = prey.get_mut(hunter.0) {
    ///         health.0 -= 1;
    ///     }
    /// }
    /// assert_eq!(world.get::<Health>(deer).unwrap().0, 2);
    /// assert_eq!(world.get::<Health>(god).unwrap().0, 3);
    /// ```
    #[track_caller]
    pub fn get_mut(&mut self, entity: Entity) -> Option<D::Item<'_>> {
        // SAFETY: the query is borrowed mutably as long as the item lives.
        unsafe { self.get_unchecked(entity) }
    }

    /// Returns the item of an entity.
    ///
    /// # Safety
    ///
    /// - the data is read-only, or this query is not used while the item lives
    #[track_caller]
    unsafe fn get_unchecked<'v>(&self, entity: Entity) -> Option<D::Item<'v>>
    where
        'w: 'v,
    {
        let storage = self.storage();
        let at = storage.table.locate(entity)?;
        let walk: Walk<'v> = self.walk();
        // SAFETY: the walk belongs to this query and is used once. The entity table says that the row exists.
        unsafe { walk.get::<D>(storage.archetype_at(at), at) }
    }

    /// Converts the query to `'static` data, and erases the type of its filters.
    pub(super) fn into_static(self) -> Query<'w, D::Static> {
        // SAFETY: the copy has the borrow, the state and the settings of this query, which is consumed. `D::Static` is the same
        // data with another lifetime. So everything that `new` requires holds for the copy.
        unsafe { Query::new(self.entities, self.matched, self.settings, self.others) }
    }

    #[inline]
    pub(super) fn walk(&self) -> Walk<'w> {
        self.walk_for(Asked::Data)
    }

    #[inline]
    fn walk_for(&self, asked: Asked) -> Walk<'w> {
        // SAFETY: the manager is borrowed, and views have no mutable references to it.
        sync_for_query(unsafe { self.entities.as_ref() }, self.matched, asked);
        self.walk_beside_jobs()
    }

    /// Returns a walk over the matching chunks without waiting for jobs.
    #[inline]
    pub(super) fn walk_beside_jobs(&self) -> Walk<'w> {
        // SAFETY:
        // - the manager is borrowed for the lifetime: mutably, unless the data is read-only, so that the walk writes nothing
        // - only views use the manager, on this thread, because views are not `Send`; each reads and writes its own data, and if
        //   there are several views, no memory that one of them can write is shared
        // - the state belongs to the manager
        unsafe { Walk::writing(self.entities.as_ptr(), self.matched, &self.settings) }
    }

    /// Returns a cursor over the matching rows that fetches no data.
    pub(super) fn finding(&self) -> Cursor<'w> {
        // SAFETY: without `Writes`, the cursor writes nothing.
        unsafe { Cursor::new(self.walk_for(Asked::Found), None) }
    }

    #[inline]
    pub(super) fn cursor(&self, writes: Option<Writes>) -> Cursor<'w> {
        // SAFETY: if the data can be written, the manager is borrowed mutably, and `walk` returns a walk that writes.
        unsafe { Cursor::new(self.walk(), writes.filter(|_| D::MARKS)) }
    }

    /// Returns the storage. The reference may be kept while other views are used. [`QueryMask`] keeps it.
    pub(super) fn storage(&self) -> &Storage {
        // SAFETY: the manager is borrowed, and views have no mutable references to it. Views write to cells and to the memory of
        // chunks. If there are several views, these chunks are unshared already. A query without other views unshares chunks only
        // while it is borrowed mutably.
        unsafe { &(*self.entities.as_ptr()).storage }
    }

    pub(super) fn jobs(&self) -> &'w Jobs {
        // SAFETY: the manager is borrowed for the lifetime, and views have no mutable references to its jobs.
        unsafe { &(*self.entities.as_ptr()).jobs }
    }
}

/// Read-only queries can be used by several callers at once.
impl<D: ReadOnlyData, F: QueryFilter> Clone for Query<'_, D, F> {
    fn clone(&self) -> Self {
        // SAFETY: the copy has the borrow, the state and the settings of this query. Its data is read-only, so that both queries
        // may be used at once.
        unsafe { Query::new(self.entities, self.matched, self.settings.clone(), self.others) }
    }
}

impl<'w, D: QueryData, F: QueryFilter> IntoIterator for Query<'w, D, F> {
    type Item = D::Item<'w>;
    type IntoIter = QueryIter<'w, D>;

    #[inline]
    #[track_caller]
    fn into_iter(self) -> QueryIter<'w, D> {
        // SAFETY: the cursor belongs to this query, which is consumed, and marks the data that is fetched.
        unsafe { QueryIter::new(self.cursor(Writes::of::<D>())) }
    }
}

impl<'w, D: ReadOnlyData, F: QueryFilter> IntoIterator for &Query<'w, D, F> {
    type Item = D::Item<'w>;
    type IntoIter = QueryIter<'w, D>;

    #[inline]
    fn into_iter(self) -> QueryIter<'w, D> {
        self.iter()
    }
}

impl<'v, D: QueryData, F: QueryFilter> IntoIterator for &'v mut Query<'_, D, F> {
    type Item = D::Item<'v>;
    type IntoIter = QueryIter<'v, D>;

    #[inline]
    fn into_iter(self) -> QueryIter<'v, D> {
        self.iter_mut()
    }
}

impl<D: QueryData, F: QueryFilter> fmt::Debug for Query<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query<{}, {}>", type_name::<D>(), type_name::<F>())
    }
}

/// Returns the state of the query with this data and these filters. Creates the state if it does not exist.
///
/// # Safety
///
/// - the manager is borrowed for the lifetime, and no archetype is added meanwhile
#[inline]
#[track_caller]
pub(super) unsafe fn state_of<'w, D: QueryData, F: QueryFilter>(
    entities: NonNull<EntityManager>,
    options: Options,
) -> &'w QueryState {
    // SAFETY: the manager is borrowed, and neither its states nor its archetypes are borrowed mutably meanwhile.
    let (queries, archetypes) =
        unsafe { (&(*entities.as_ptr()).queries, &(*entities.as_ptr()).storage.archetypes) };
    let id = TypeId::of::<(D::Static, F)>();
    queries.of_type(id, options, archetypes, || plan_of::<D, F>(options))
}

impl SystemQuery {
    /// Returns the typed query.
    ///
    /// # Safety
    ///
    /// - the state was created for this data and these filters, and has just been prepared for the manager
    /// - the manager is borrowed mutably for the lifetime, and used only by views
    /// - no other view reads or writes data that this query can write, and no other view can write data that this query reads
    /// - this query was settled with all other views
    #[inline]
    pub(crate) unsafe fn query<'w, D: QueryData, F: QueryFilter>(
        &self,
        entities: NonNull<EntityManager>,
        since: Version,
    ) -> Query<'w, D, F> {
        let settings = Settings { since, shared: None };
        // SAFETY:
        // - the manager is borrowed mutably for the lifetime
        // - only views use the manager, and no view fetches data that another view can write
        // - the state belongs to this query and was just prepared for the manager; views add no archetypes
        // - `prepare` has unshared the chunks in which this query can write
        // - settling has set `meets`, which describes the other views
        unsafe { Query::new(entities, self.state.state(), settings, Others::met(&self.meets)) }
    }
}

impl<'w> Query<'w, Entity> {
    /// Creates a query whose conditions are known only at run time. The state must belong to the manager.
    pub(super) fn described(
        entities: &'w EntityManager,
        matched: &'w QueryState,
        settings: Settings,
    ) -> Self {
        // SAFETY: the manager is borrowed for the lifetime, which excludes structural changes, and views that can write, because
        // those need a mutable borrow. `Entity` is read-only data without parts, which can be fetched with the state of any query.
        unsafe { Self::new(NonNull::from(entities), matched, settings, Others::None) }
    }
}

impl EntityManager {
    /// Returns a read-only query of all entities with these components.
    ///
    /// # Panics
    ///
    /// Panics with A0086 if the data names a component twice and can write it. Panics with A0070 if a filter requires a component
    /// to be disabled that is not enableable. Both panics happen when a query type is first used in a world.
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
    #[inline]
    #[track_caller]
    pub fn query<D: ReadOnlyData>(&self) -> Query<'_, D> {
        self.query_filtered()
    }

    /// Returns a read-only query of all entities that have these components and pass the [filters](QueryFilter).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, With, Without, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// #[derive(Component)]
    /// struct Asleep;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn((Orc, Asleep));
    /// let awake = world.spawn(Orc);
    /// let query = world.query_filtered::<Entity, (With<Orc>, Without<Asleep>)>();
    /// assert!(query.iter().eq([awake]));
    /// ```
    #[inline]
    #[track_caller]
    pub fn query_filtered<D: ReadOnlyData, F: QueryFilter>(&self) -> Query<'_, D, F> {
        // SAFETY: the manager is borrowed shared for the lifetime, and the data is read-only.
        unsafe { Query::of_all(NonNull::from(self)) }
    }

    /// Returns a query of all entities with these components, which can read and write them.
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`query`](Self::query).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Poison(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn((Health(20), Poison(3)));
    /// world.query_mut::<(&mut Health, &Poison)>().for_each(|(health, poison)| health.0 -= poison.0);
    /// assert_eq!(world.get::<Health>(orc).unwrap().0, 17);
    /// ```
    #[inline]
    #[track_caller]
    pub fn query_mut<D: QueryData>(&mut self) -> Query<'_, D> {
        self.query_filtered_mut()
    }

    /// Returns a query of all entities that have these components and pass the [filters](QueryFilter), which can read and write the
    /// components.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Without, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Immortal;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let god = world.spawn((Health(20), Immortal));
    /// for health in world.query_filtered_mut::<&mut Health, Without<Immortal>>() {
    ///     health.0 = 0;
    /// }
    /// assert_eq!(world.get::<Health>(orc).unwrap().0, 0);
    /// assert_eq!(world.get::<Health>(god).unwrap().0, 20);
    /// ```
    #[inline]
    #[track_caller]
    pub fn query_filtered_mut<D: QueryData, F: QueryFilter>(&mut self) -> Query<'_, D, F> {
        // SAFETY: the manager is borrowed mutably for the lifetime, by this query alone.
        unsafe { Query::of_all(NonNull::from(self)) }
    }
}

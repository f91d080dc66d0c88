//! Access to entities by id: [`Lookup`] for their data, [`StorageInfoLookup`] for their chunks.

#![expect(unsafe_code, reason = "references to values in chunks, found by entity")]

use std::any::type_name;
use std::cell::Cell;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use super::access::{Asked, Meets, sync_for_query};
use super::batch::{ChunkMarks, ChunkView, SharedSource};
use super::data::{QueryData, ReadOnlyData};
use super::filter::QueryFilter;
use super::state::{Match, QueryState};
use super::system_query::SystemQuery;
use super::terms::Options;
use crate::buffer::{Buffer, BufferElement, BufferLayout, elements_of};
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::manager::{ArchetypeChunk, EntityManager, Jobs};
use crate::storage::{Chunk, Chunks, Location, PageView, prefetch};
use crate::version::Version;

/// Query data of entities, by id.
///
/// Unity's `ComponentLookup` and `BufferLookup`. `D` is query data: `&T`, `&mut T`, `&Buffer<T>`, tuples of them. There are two
/// forms:
///
/// - A system parameter, or a part of a world that is [split](EntityManager::split). `F` is a filter: it excludes whole
///   archetypes, so that another part can write their components. Making it is free.
/// - `Lookup<&T, Indexed>`, from [`EntityManager::lookup`]: reads one component or buffer. It finds the component's column in
///   each chunk once, when it is made, so that [`get`](Lookup::get) is faster.
///
/// Every entity that has the data is found: enabled and disabled ones, and prefabs.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Entity, Lookup, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Gold(u32);
///
/// fn pay(gold: &mut Lookup<&mut Gold>, from: Entity, to: Entity, amount: u32) {
///     gold.get_mut(from).unwrap().0 -= amount;
///     gold.get_mut(to).unwrap().0 += amount;
/// }
///
/// let mut world = World::new("Simulation");
/// let (rich, poor) = (world.spawn(Gold(100)), world.spawn(Gold(1)));
/// let (mut gold,) = world.split::<(Lookup<&mut Gold>,)>();
/// pay(&mut gold, rich, poor, 50);
/// assert!(gold.has(poor));
/// assert_eq!(world.get::<Gold>(poor).unwrap().0, 51);
/// ```
#[must_use = "a lookup does nothing until an entity is looked up"]
pub struct Lookup<'w, D, F: LookupForm = ()> {
    state: F::State<'w>,
    /// Invariant in `D` and `F`: the columns of a subtype may be laid out differently.
    of: PhantomData<*mut (D, F)>,
}

/// The second parameter of a [`Lookup`] made by [`EntityManager::lookup`], which has found its column in each chunk.
#[derive(Clone, Copy, Debug)]
pub struct Indexed;

/// The state of a [`Lookup`], by its second parameter: a filter, or [`Indexed`].
///
/// Sealed: implemented for all filters and for `Indexed`.
pub trait LookupForm {
    /// Fields of the lookup.
    #[doc(hidden)]
    type State<'w>;
}

impl<F: QueryFilter> LookupForm for F {
    type State<'w> = ArchetypeLookup<'w>;
}

impl LookupForm for Indexed {
    type State<'w> = ColumnLookup<'w>;
}

/// State of a lookup that finds the columns of an entity through its archetype.
#[expect(missing_debug_implementations, reason = "private to `Lookup`")]
pub struct ArchetypeLookup<'w> {
    /// The world is borrowed mutably by the views of one split; each view uses other parts of it.
    entities: NonNull<EntityManager>,
    matched: &'w QueryState,
    /// The archetype of the last entity: the next one is often in the same archetype.
    recent: Cell<Option<&'w Match>>,
    /// The views that a job with this lookup conflicts with.
    meets: Meets<'w>,
    /// Not `&'w mut EntityManager`: the compiler would explain `!Send` with one sentence for each field of a world.
    world: PhantomData<&'w mut ()>,
}

impl<'w, D: QueryData, F: QueryFilter> Lookup<'w, D, F> {
    /// Query options of lookups: every entity with the data is found.
    pub(super) const OPTIONS: Options =
        Options::DISABLED.with(Options::PREFABS).with(Options::IGNORE_ENABLED);

    /// Creates a view.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed mutably for the lifetime, and used only by views
    /// - the state is the manager's, and that of a query of this data with these filters and [`OPTIONS`](Self::OPTIONS)
    /// - no other view reads or writes what this one can write, and no other view writes what it reads
    /// - the chunks of all archetypes in which this view can write are unshared
    /// - `meets` are the views that a job with this lookup [conflicts](super::access::meets) with
    pub(super) unsafe fn new(
        entities: NonNull<EntityManager>,
        matched: &'w QueryState,
        meets: Meets<'w>,
    ) -> Self {
        let recent = Cell::new(None);
        let state = ArchetypeLookup { entities, matched, recent, meets, world: PhantomData };
        Self { state, of: PhantomData }
    }

    /// Returns the world, the state of the query, and the views that a job with this lookup conflicts with.
    pub(super) fn into_parts(self) -> (NonNull<EntityManager>, &'w QueryState, Meets<'w>) {
        let ArchetypeLookup { entities, matched, meets, .. } = self.state;
        (entities, matched, meets)
    }

    /// Returns the data of an entity, or `None` if the entity does not exist or does not have it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Lookup, Query, World};
    ///
    /// #[derive(Component)]
    /// struct Position(f32);
    ///
    /// #[derive(Component)]
    /// struct Follow(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let leader = world.spawn(Position(7.0));
    /// let dog = world.spawn((Position(0.0), Follow(leader)));
    /// let (follow, positions) = world.split::<(Query<&Follow>, Lookup<&Position>)>();
    /// let goal = positions.get(follow.single().unwrap().0).unwrap();
    /// assert_eq!(goal.0 - positions.get(dog).unwrap().0, 7.0);
    /// ```
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<D::Item<'w>>
    where
        D: ReadOnlyData,
    {
        let (at, found) = self.state.find_for_use(entity)?;
        // SAFETY:
        // - the entity was just found there, by the state of a query of this data, and jobs that conflict are completed
        // - the data is read-only
        Some(unsafe { self.state.row::<D>(at, found) })
    }

    /// Returns the data of an entity for writing, or `None` if the entity does not exist or does not have it.
    ///
    /// The data counts as changed from now on, with its chunk.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Lookup, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let (mut health,) = world.split::<(Lookup<&mut Health>,)>();
    /// for target in [orc, Entity::NULL, orc] {
    ///     if let Some(health) = health.get_mut(target) {
    ///         health.0 -= 5;
    ///     }
    /// }
    /// assert_eq!(world.get::<Health>(orc).unwrap().0, 10);
    /// ```
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Option<D::Item<'_>> {
        let (at, found) = self.state.find_for_use(entity)?;
        // SAFETY:
        // - the entity was just found there, by the state of a query of this data, and jobs that conflict are completed
        // - this view is borrowed mutably as long as the data is
        Some(unsafe { self.state.row::<D>(at, found) })
    }

    /// Returns whether an entity exists and has the data.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.state.find(entity).is_some()
    }
}

impl SystemQuery {
    /// Returns a view of the lookup.
    ///
    /// # Safety
    ///
    /// - the state was created for a lookup of this data and these filters, and just prepared for the manager
    /// - the manager is borrowed mutably for the lifetime, and used only by views
    /// - no other view reads or writes what this one can write, and no other view writes what it reads
    /// - it was settled with all other views
    #[inline]
    pub(crate) unsafe fn lookup<'w, D: QueryData, F: QueryFilter>(
        &self,
        entities: NonNull<EntityManager>,
    ) -> Lookup<'w, D, F> {
        // SAFETY: the state is that of this lookup and was prepared for the manager, which is borrowed mutably and used only by
        // views, so that no archetype is added. The views do not conflict, and `prepare` has unshared the chunks that can be
        // written.
        unsafe { Lookup::new(entities, self.state.state(), self.meets.clone()) }
    }
}

impl<'w> ArchetypeLookup<'w> {
    #[inline(always)]
    fn entities(&self) -> &EntityManager {
        // SAFETY: the manager is borrowed for the lifetime, and views have no mutable references to it while one is used.
        unsafe { self.entities.as_ref() }
    }

    /// Finds the row of an entity, if its archetype has the data.
    #[inline]
    fn find(&self, entity: Entity) -> Option<(Location, &'w Match)> {
        let storage = &self.entities().storage;
        let at = storage.table.locate(entity)?;
        let archetype = storage.archetype_at(at);
        match self.recent.get() {
            Some(recent) if recent.archetype == archetype => Some((at, recent)),
            _ => {
                let found = self.matched.find(archetype)?;
                self.recent.set(Some(found));
                Some((at, found))
            }
        }
    }

    /// Finds the row of an entity after jobs that conflict with the lookup are completed.
    #[inline(always)]
    fn find_for_use(&self, entity: Entity) -> Option<(Location, &'w Match)> {
        sync_for_query(self.entities(), self.matched, Asked::Data);
        self.find(entity)
    }

    /// Marks the data that can be written as changed in the chunk of a row, and returns the data of the row.
    ///
    /// # Safety
    ///
    /// - an entity was found there, by the state of a query of this data, and jobs that conflict are completed
    /// - the data is read-only; or the lookup is not used otherwise for the lifetime
    #[inline]
    unsafe fn row<'v, D: QueryData>(&self, at: Location, found: &Match) -> D::Item<'v> {
        let storage = &self.entities().storage;
        let shared =
            SharedSource::World { archetypes: &storage.archetypes, values: &storage.shared };
        let row = at.row as usize;
        // SAFETY:
        // - the entity table names chunks and rows that exist
        // - these are the places of the data in the archetype of the chunk, which has it
        // - the jobs that use the data's versions are completed, and versions were written out for jobs that use other columns
        // - no other view uses what can be written, since the split was checked; its memory is unshared
        unsafe {
            let chunk = storage.chunks.get_unchecked(at.chunk);
            debug_assert!(!(D::WRITES && chunk.may_be_shared()));
            if D::MARKS {
                D::mark(&mut ChunkMarks { chunk, version: storage.version }, &found.places);
            }
            let fetch = D::fetch(ChunkView { chunk, shared }, &found.places);
            if D::TRACKS {
                D::track(fetch, row, 1, false);
            }
            D::get(fetch, row)
        }
    }
}

/// Query data in one column of a chunk that is only read: `&T` and `&Buffer<T>`. The data of [`EntityManager::lookup`].
///
/// # Safety
///
/// Sealed: [`value`](Self::value) must fit the column of [`column_type`](Self::column_type).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a read-only reference to one component",
    label = "not data of an indexed lookup",
    note = "use `&T` or `&Buffer<T>`; to write, or to look up tuples, take a `Lookup` as a system parameter or from `split`"
)]
pub unsafe trait ColumnData: ReadOnlyData {
    /// Bytes of a row in the column.
    #[doc(hidden)]
    const ROW_SIZE: usize;

    /// Type of the column.
    #[doc(hidden)]
    fn column_type() -> ComponentType;

    /// Returns the data of a row.
    ///
    /// # Safety
    ///
    /// - there is a value of [`column_type`](Self::column_type) at the address
    /// - the value is not written for the lifetime
    #[doc(hidden)]
    unsafe fn value<'w>(row: *const u8) -> Self::Item<'w>;
}

// SAFETY: a column of `T` has values of `T`.
unsafe impl<T: Component> ColumnData for &T {
    const ROW_SIZE: usize = size_of::<T>();

    fn column_type() -> ComponentType {
        ComponentType::of::<T>()
    }

    #[inline(always)]
    unsafe fn value<'w>(row: *const u8) -> &'w T {
        // SAFETY: there is a value of this type, which is not written for the lifetime.
        unsafe { &*row.cast::<T>() }
    }
}

// SAFETY: a column of buffers of `T` has headers with elements of `T`.
unsafe impl<T: BufferElement> ColumnData for &Buffer<T> {
    const ROW_SIZE: usize = BufferLayout::of::<T>().size;

    fn column_type() -> ComponentType {
        ComponentType::of_buffer::<T>()
    }

    #[inline(always)]
    unsafe fn value<'w>(row: *const u8) -> &'w [T] {
        // SAFETY: there is a buffer of this type, which is not written for the lifetime.
        unsafe { elements_of(row.cast_mut().cast()) }
    }
}

/// State of a lookup that has found its column in each chunk.
#[expect(missing_debug_implementations, reason = "private to `Lookup`")]
pub struct ColumnLookup<'w> {
    ty: ComponentType,
    chunks: &'w Chunks,
    pages: PageView<'w>,
    /// Address of the column in each chunk, by chunk number, or null.
    columns: Box<[*mut u8]>,
}

impl<'w, D: ColumnData> Lookup<'w, D, Indexed> {
    /// Returns the value of an entity, or `None` if the entity does not exist or does not have one.
    ///
    /// Also works for tags, which have no bytes.
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<D::Item<'w>> {
        let value = self.state.find(entity, D::ROW_SIZE)?;
        // SAFETY: there is a value of this type. Writing it needs a mutable borrow of the world.
        Some(unsafe { D::value(value) })
    }

    /// Returns the values of entities in order, `None` for each entity that does not exist or does not have one.
    ///
    /// For entities in random order this takes a fraction of the time of [`get`](Self::get) for each: the next entities are
    /// prefetched.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Position(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Target(Entity);
    ///
    /// let mut world = World::new("Simulation");
    /// let towers: Vec<_> = world.spawn_batch((0..100).map(|x| Position(x as f32))).collect();
    /// let targets: Vec<_> = (0..1000).map(|archer| towers[archer * 7 % 100]).collect();
    /// let positions = world.lookup::<&Position>();
    /// let sum: f32 = positions.get_many(&targets).flatten().map(|position| position.0).sum();
    /// assert_eq!(sum, 49_500.0);
    /// ```
    #[inline]
    pub fn get_many<'l>(
        &'l self,
        entities: &'l [Entity],
    ) -> impl ExactSizeIterator<Item = Option<D::Item<'w>>> + FusedIterator + use<'l, 'w, D> {
        GetMany::<'l, 'w, D>::new(&self.state, entities)
    }

    /// Returns whether an entity exists and has the component.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.state.find(entity, D::ROW_SIZE).is_some()
    }

    /// Returns whether the component was written in the entity's chunk since a version. `false` if the entity does not exist or
    /// does not have it.
    ///
    /// A write to another entity of the chunk counts, too, unless the component
    /// [tracks changes](Component::TRACK_CHANGES) by entity.
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
    /// let orc = world.spawn(Health(20));
    /// let seen = world.version();
    /// assert!(!world.lookup::<&Health>().did_change(orc, seen));
    /// world.advance_version();
    /// world.get_mut::<Health>(orc).unwrap().0 -= 1;
    /// assert!(world.lookup::<&Health>().did_change(orc, seen));
    /// ```
    pub fn did_change(&self, entity: Entity, since: Version) -> bool {
        self.state.change_version(entity).is_some_and(|version| version.is_newer_than(since))
    }
}

impl<'w> ColumnLookup<'w> {
    fn new(entities: &'w EntityManager, ty: ComponentType) -> Self {
        entities.jobs.sync_for_read(ty);
        let storage = &entities.storage;
        let column = |chunk: Option<&Chunk>| {
            let chunk = chunk?;
            Some(chunk.column(chunk.find(ty)?.offset))
        };
        let columns = (0..storage.chunks.numbers() as u32)
            .map(|number| column(storage.chunks.get(number)).unwrap_or(ptr::null_mut()));
        let (pages, columns) = (storage.table.page_view(), columns.collect());
        Self { ty, chunks: &storage.chunks, pages, columns }
    }

    /// Finds the value of an entity in a column with rows of this size.
    #[inline]
    fn find(&self, entity: Entity, row_size: usize) -> Option<*mut u8> {
        let Location { chunk, row } = self.pages.locate(entity)?;
        // SAFETY: the entity table names chunks that exist, and there is an address for each.
        let column = unsafe { *self.columns.get_unchecked(chunk as usize) };
        if column.is_null() {
            return None;
        }
        Some(column.wrapping_add(row as usize * row_size))
    }

    /// Returns the version of the last write to an entity's value, if it is tracked, or else to the column of its chunk.
    fn change_version(&self, entity: Entity) -> Option<Version> {
        let Location { chunk, row } = self.pages.locate(entity)?;
        let chunk = &self.chunks[chunk];
        let column = chunk.find(self.ty)?.column;
        // SAFETY: the chunk has the column and the row. Jobs that write it are completed, and another write would need a mutable
        // borrow of the world.
        Some(unsafe { chunk.row_version(column, row) })
    }
}

/// Iterator of [`Lookup::get_many`].
struct GetMany<'l, 'w, D> {
    lookup: &'l ColumnLookup<'w>,
    entities: &'l [Entity],
    next: usize,
    /// Addresses of the next values, or null, each at its index modulo the length.
    found: [*const u8; AHEAD],
    of: PhantomData<fn() -> D>,
}

/// Count of values that are found ahead of the one in use. Slots are prefetched for as many more.
const AHEAD: usize = 8;

impl<'l, 'w, D: ColumnData> GetMany<'l, 'w, D> {
    #[inline]
    fn new(lookup: &'l ColumnLookup<'w>, entities: &'l [Entity]) -> Self {
        let found = [ptr::null(); AHEAD];
        let mut this = Self { lookup, entities, next: 0, found, of: PhantomData };
        (0..2 * AHEAD).for_each(|at| this.fetch_slot(at));
        (0..AHEAD).for_each(|at| this.find(at));
        this
    }

    #[inline(always)]
    fn fetch_slot(&self, at: usize) {
        if let Some(&entity) = self.entities.get(at) {
            self.lookup.pages.prefetch(entity);
        }
    }

    #[inline(always)]
    fn find(&mut self, at: usize) {
        if let Some(&entity) = self.entities.get(at) {
            let value = self.lookup.find(entity, D::ROW_SIZE).unwrap_or(ptr::null_mut());
            prefetch(value);
            self.found[at % AHEAD] = value;
        }
    }
}

impl<'w, D: ColumnData> Iterator for GetMany<'_, 'w, D> {
    type Item = Option<D::Item<'w>>;

    #[inline]
    fn next(&mut self) -> Option<Option<D::Item<'w>>> {
        let at = self.next;
        if at >= self.entities.len() {
            return None;
        }
        self.next = at + 1;
        let value = self.found[at % AHEAD];
        self.fetch_slot(at + 2 * AHEAD);
        self.find(at + AHEAD);
        if value.is_null() {
            return Some(None);
        }
        // SAFETY: the address is that of a value of this type. Writing it needs a mutable borrow of the world.
        Some(Some(unsafe { D::value(value) }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.entities.len() - self.next;
        (left, Some(left))
    }
}

impl<D: ColumnData> ExactSizeIterator for GetMany<'_, '_, D> {}

impl<D: ColumnData> FusedIterator for GetMany<'_, '_, D> {}

impl<D, F: LookupForm> fmt::Debug for Lookup<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lookup<{}, {}>", type_name::<D>(), type_name::<F>())
    }
}

/// Existence and location of entities, by id. Unity's `EntityStorageInfoLookup`.
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
/// let orcs: Vec<_> = world.spawn_many(Health(20), 100).collect();
/// let places = world.storage_info();
/// let place = places.get(orcs[7]).unwrap();
/// assert_eq!(place.row(), 7);
/// assert_eq!(place.chunk().entities()[7], orcs[7]);
/// ```
pub struct StorageInfoLookup<'w> {
    pages: PageView<'w>,
    entities: &'w EntityManager,
}

/// The chunk and the row of an entity, from [`StorageInfoLookup::get`]. Unity's `EntityStorageInfo`.
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
/// let (orc, other) = (world.spawn(Health(20)), world.spawn(Health(10)));
/// let info = |entity| world.storage_info().get(entity).unwrap();
/// assert_eq!(info(orc).chunk_number(), info(other).chunk_number());
/// assert_eq!((info(orc).row(), info(other).row()), (0, 1));
/// ```
#[derive(Clone, Copy)]
pub struct StorageInfo<'w> {
    chunk: ArchetypeChunk<'w>,
    jobs: &'w Jobs,
    number: u32,
    row: u32,
}

impl<'w> StorageInfoLookup<'w> {
    /// Returns whether an entity exists.
    #[inline]
    pub fn exists(&self, entity: Entity) -> bool {
        self.pages.locate(entity).is_some()
    }

    /// Returns the chunk and the row of an entity, or `None` if it does not exist.
    pub fn get(&self, entity: Entity) -> Option<StorageInfo<'w>> {
        let at = self.pages.locate(entity)?;
        let chunk = self.entities.chunk(at.chunk);
        Some(StorageInfo { chunk, jobs: &self.entities.jobs, number: at.chunk, row: at.row })
    }
}

impl<'w> StorageInfo<'w> {
    /// Returns the chunk of the entity. Completes all entity jobs.
    pub fn chunk(&self) -> ArchetypeChunk<'w> {
        self.jobs.sync_all();
        self.chunk
    }

    /// Returns the number of the chunk.
    ///
    /// It is unique among existing chunks, and a chunk keeps it as long as it has entities. Numbers are small and are reused;
    /// [`ArchetypeChunk::sequence_number`] is not.
    pub fn chunk_number(&self) -> u32 {
        self.number
    }

    /// Returns the index of the entity in its chunk and in the chunk's slices.
    pub fn row(&self) -> usize {
        self.row as usize
    }
}

impl fmt::Debug for StorageInfoLookup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.entities.entity_count();
        f.debug_struct("StorageInfoLookup").field("entities", &count).finish()
    }
}

impl fmt::Debug for StorageInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageInfo")
            .field("chunk_number", &self.number)
            .field("row", &self.row)
            .finish_non_exhaustive()
    }
}

impl EntityManager {
    /// Returns a lookup that reads one component or buffer of entities, by id.
    ///
    /// Completes the jobs that write the component.
    ///
    /// # Complexity
    ///
    /// Linear in the number of chunks, about a nanosecond each.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(BufferElement, Clone)]
    /// struct Item(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orcs: Vec<_> = world.spawn_many((Health(20), Buffer::from([Item(1), Item(2)])), 100).collect();
    /// let health = world.lookup::<&Health>();
    /// assert_eq!(orcs.iter().filter_map(|&orc| health.get(orc)).map(|health| health.0).sum::<u32>(), 2000);
    /// let items = world.lookup::<&Buffer<Item>>();
    /// assert_eq!(orcs.iter().filter_map(|&orc| items.get(orc)).flatten().count(), 200);
    /// ```
    pub fn lookup<D: ColumnData>(&self) -> Lookup<'_, D, Indexed> {
        Lookup { state: ColumnLookup::new(self, D::column_type()), of: PhantomData }
    }

    /// Returns a lookup of the existence and the location of entities.
    ///
    /// # Complexity
    ///
    /// Linear in the number of pages of the entity table, about a nanosecond each.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let (stone, dust) = (world.spawn(()), world.spawn(()));
    /// world.despawn(dust).unwrap();
    /// let places = world.storage_info();
    /// assert!(places.exists(stone) && !places.exists(dust));
    /// ```
    pub fn storage_info(&self) -> StorageInfoLookup<'_> {
        StorageInfoLookup { pages: self.storage.table.page_view(), entities: self }
    }
}

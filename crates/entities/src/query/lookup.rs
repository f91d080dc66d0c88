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
/// This is Unity's `ComponentLookup` and `BufferLookup`. `D` is query data: `&T`, `&mut T`, `&Buffer<T>`, tuples of them. There
/// are two forms:
///
/// - `Lookup<D, F>` is a system parameter, or a part of a [split](EntityManager::split) world. The filter `F` excludes whole
///   archetypes, so that another part can write their components. Creating this form costs nothing.
/// - `Lookup<&T, Indexed>` is returned by [`EntityManager::lookup`], and reads one component or buffer. It finds the component's
///   column in each chunk when it is created, so that [`get`](Lookup::get) is faster.
///
/// A lookup finds every entity that has the data, including disabled entities, prefabs, and entities whose component is disabled.
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
#[doc(alias = "ComponentLookup")]
#[doc(alias = "BufferLookup")]
pub struct Lookup<'w, D: QueryData, F: LookupForm = ()> {
    state: F::State<'w>,
    /// Invariant in `D` and `F`: the columns of a subtype may be laid out differently.
    of: PhantomData<*mut (D, F)>,
}

/// Marker for a [`Lookup`] that stores the address of its column in each chunk. Returned by [`EntityManager::lookup`].
#[derive(Clone, Copy, Debug)]
pub struct Indexed;

/// The second parameter of a [`Lookup`], which determines its form: a filter, or [`Indexed`].
///
/// This trait is sealed. It is implemented for all filters and for `Indexed`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query filter",
    label = "not a filter",
    note = "filters are `With<T>`, `Without<T>`, `Any<(T, U)>`, and tuples of filters; `T` and `U` are components"
)]
pub trait LookupForm {
    /// The fields of the lookup.
    #[doc(hidden)]
    type State<'w>;
}

#[diagnostic::do_not_recommend]
impl<F: QueryFilter> LookupForm for F {
    type State<'w> = ArchetypeLookup<'w>;
}

impl LookupForm for Indexed {
    type State<'w> = ColumnLookup<'w>;
}

/// State of a lookup that finds the columns of an entity through its archetype.
#[expect(missing_debug_implementations, reason = "private to `Lookup`")]
pub struct ArchetypeLookup<'w> {
    /// The manager. The views of one split borrow it mutably together, and each view uses other data of it.
    entities: NonNull<EntityManager>,
    matched: &'w QueryState,
    /// The match of the last entity that was found. The next entity is often in the same archetype.
    recent: Cell<Option<&'w Match>>,
    /// The views that a job with this lookup conflicts with.
    meets: Meets<'w>,
    /// The borrow of the manager.
    world: PhantomData<&'w mut EntityManager>,
}

impl<'w, D: QueryData, F: QueryFilter> Lookup<'w, D, F> {
    /// Query options of lookups, with which every entity that has the data is found.
    pub(super) const OPTIONS: Options =
        Options::DISABLED.with(Options::PREFABS).with(Options::IGNORE_ENABLED);

    /// Creates a lookup of a manager.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed mutably for the lifetime, and used only by views
    /// - the state belongs to the manager, and to a query of this data with these filters and [`OPTIONS`](Self::OPTIONS)
    /// - no other view reads or writes data that this view can write, and no other view can write data that this view reads
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

    /// Returns the manager, the state of the query, and the views that a job with this lookup conflicts with.
    pub(super) fn into_parts(self) -> (NonNull<EntityManager>, &'w QueryState, Meets<'w>) {
        let ArchetypeLookup { entities, matched, meets, .. } = self.state;
        (entities, matched, meets)
    }

    /// Returns the data of an entity, or `None` if the entity does not exist or does not have the data.
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
        // - the state of a query of this data has just found the entity at this location, and jobs that conflict are completed
        // - the data is read-only
        Some(unsafe { self.state.row::<D>(at, found) })
    }

    /// Returns the data of an entity for writing, or `None` if the entity does not exist or does not have the data.
    ///
    /// The data counts as changed in the whole chunk of the entity, or only on the entity if the component
    /// [tracks changes](Component::TRACK_CHANGES).
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
        // - the state of a query of this data has just found the entity at this location, and jobs that conflict are completed
        // - this lookup is borrowed mutably as long as the item lives
        Some(unsafe { self.state.row::<D>(at, found) })
    }

    /// Returns `true` if an entity exists and has the data.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.state.find(entity).is_some()
    }
}

impl SystemQuery {
    /// Returns the typed lookup.
    ///
    /// # Safety
    ///
    /// - the state was created for a lookup of this data and these filters, and has just been prepared for the manager
    /// - the manager is borrowed mutably for the lifetime, and used only by views
    /// - no other view reads or writes data that this lookup can write, and no other view can write data that this lookup reads
    /// - this lookup was settled with all other views
    #[inline]
    pub(crate) unsafe fn lookup<'w, D: QueryData, F: QueryFilter>(
        &self,
        entities: NonNull<EntityManager>,
    ) -> Lookup<'w, D, F> {
        // SAFETY:
        // - the manager is borrowed mutably for the lifetime, and used only by views, which add no archetypes
        // - the state was created for this lookup and has just been prepared for the manager
        // - no view fetches data that another view can write
        // - `prepare` has unshared the chunks in which this lookup can write
        // - settling has set `meets` to the views that a job with this lookup conflicts with
        unsafe { Lookup::new(entities, self.state.state(), self.meets.clone()) }
    }
}

impl<'w> ArchetypeLookup<'w> {
    #[inline(always)]
    fn entities(&self) -> &EntityManager {
        // SAFETY: the manager is borrowed for the lifetime, and views have no mutable references to it.
        unsafe { self.entities.as_ref() }
    }

    /// Finds the location and the match of an entity, if its archetype has the data.
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

    /// Completes the jobs that conflict with the lookup, and finds the location and the match of an entity.
    #[inline(always)]
    fn find_for_use(&self, entity: Entity) -> Option<(Location, &'w Match)> {
        sync_for_query(self.entities(), self.matched, Asked::Data);
        self.find(entity)
    }

    /// Returns the data of a row. Marks it as changed first if it can be written.
    ///
    /// # Safety
    ///
    /// - the state of a query of this data has found an entity at this location, and jobs that conflict are completed
    /// - the data is read-only, or the lookup is not used while the item lives
    #[inline]
    unsafe fn row<'v, D: QueryData>(&self, at: Location, found: &Match) -> D::Item<'v> {
        let storage = &self.entities().storage;
        let shared =
            SharedSource::World { archetypes: &storage.archetypes, values: &storage.shared };
        let row = at.row as usize;
        // SAFETY:
        // - the entity table names chunks and rows that exist
        // - these are the places of the data in the archetype of the chunk, which has the required components
        // - the jobs that use the data's versions are completed, and versions were written out for jobs that use other columns
        // - no other view uses data that this lookup can write, because the views do not conflict; the memory of that data is
        //   unshared
        unsafe {
            let chunk = storage.chunks.get_unchecked(at.chunk);
            debug_assert!(!(D::WRITES && chunk.may_be_shared()));
            if D::MARKS {
                D::mark(&mut ChunkMarks { chunk, version: storage.version }, &found.places);
            }
            let view = ChunkView { chunk, shared, since: Version::NEVER };
            let fetch = D::fetch(view, &found.places);
            if D::TRACKS {
                D::track(fetch, row, 1, false);
            }
            D::get(fetch, row)
        }
    }
}

/// Read-only query data in one column, for [`EntityManager::lookup`]: `&T` and `&Buffer<T>`.
///
/// # Safety
///
/// Not to be implemented outside of this crate: [`value`](Self::value) must read values of [`column_type`](Self::column_type).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a read-only reference to one component",
    label = "not data of an indexed lookup",
    note = "use `&T` or `&Buffer<T>`; to write, or to look up tuples, take a `Lookup` as a system parameter or from `split`"
)]
pub unsafe trait ColumnData: ReadOnlyData {
    /// Size of a row in the column, in bytes.
    #[doc(hidden)]
    const ROW_SIZE: usize;

    /// Returns the component type of the column.
    #[doc(hidden)]
    fn column_type() -> ComponentType;

    /// Returns the data of a row, given its address.
    ///
    /// # Safety
    ///
    /// - the address is that of a value of [`column_type`](Self::column_type)
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
        // SAFETY: the address is that of a value of this type, which is not written for the lifetime.
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
        // SAFETY: the address is that of a buffer of this type, which is not written for the lifetime.
        unsafe { elements_of(row.cast_mut().cast()) }
    }
}

/// State of a lookup that stores the address of its column in each chunk.
#[expect(missing_debug_implementations, reason = "private to `Lookup`")]
pub struct ColumnLookup<'w> {
    ty: ComponentType,
    chunks: &'w Chunks,
    pages: PageView<'w>,
    /// Address of the column in each chunk, indexed by chunk number. Null if the chunk does not have the column.
    columns: Box<[*mut u8]>,
}

impl<'w, D: ColumnData> Lookup<'w, D, Indexed> {
    /// Returns the component of an entity, or `None` if the entity does not exist or does not have the component.
    ///
    /// The component may be a tag.
    #[inline]
    pub fn get(&self, entity: Entity) -> Option<D::Item<'w>> {
        let value = self.state.find(entity, D::ROW_SIZE)?;
        // SAFETY: the address is that of a value of this type. Writing the value needs a mutable borrow of the world.
        Some(unsafe { D::value(value) })
    }

    /// Returns an iterator over the components of entities, in their order. Yields `None` for an entity that does not exist or does
    /// not have the component.
    ///
    /// For entities in random order, this takes a fraction of the time of a [`get`](Self::get) for each entity, because the next
    /// entities are prefetched.
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

    /// Returns `true` if an entity exists and has the component.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.state.find(entity, D::ROW_SIZE).is_some()
    }

    /// Returns `true` if the component was written in the entity's chunk since a version, and `false` if the entity does not exist
    /// or does not have the component.
    ///
    /// A write to another entity of the chunk counts too, unless the component [tracks changes](Component::TRACK_CHANGES) by
    /// entity.
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

    /// Returns the address of an entity's value, in a column with rows of this size, or `None` if the entity has none.
    #[inline]
    fn find(&self, entity: Entity, row_size: usize) -> Option<*mut u8> {
        let Location { chunk, row } = self.pages.locate(entity)?;
        // SAFETY: the entity table names chunks that exist, and `columns` has an address for each chunk number.
        let column = unsafe { *self.columns.get_unchecked(chunk as usize) };
        if column.is_null() {
            return None;
        }
        Some(column.wrapping_add(row as usize * row_size))
    }

    /// Returns the version of the last write to an entity's value if the component tracks changes, and otherwise the version of the
    /// last write to the column in the entity's chunk.
    fn change_version(&self, entity: Entity) -> Option<Version> {
        let Location { chunk, row } = self.pages.locate(entity)?;
        let chunk = &self.chunks[chunk];
        let column = chunk.find(self.ty)?.column;
        // SAFETY: the chunk has the column and the row. Jobs that write the column are completed, and other writes need a mutable
        // borrow of the world.
        Some(unsafe { chunk.row_version(column, row) })
    }
}

/// Iterator returned by [`Lookup::get_many`].
struct GetMany<'l, 'w, D> {
    lookup: &'l ColumnLookup<'w>,
    entities: &'l [Entity],
    next: usize,
    /// Ring buffer of the addresses of the next values. Null for entities without a value.
    found: [*const u8; AHEAD],
    of: PhantomData<fn() -> D>,
}

/// Number of entities whose values are prefetched ahead of the returned item. Slots are prefetched for twice this number of
/// entities.
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
        // SAFETY: the address is that of a value of this type. Writing the value needs a mutable borrow of the world.
        Some(Some(unsafe { D::value(value) }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.entities.len() - self.next;
        (left, Some(left))
    }
}

impl<D: ColumnData> ExactSizeIterator for GetMany<'_, '_, D> {}

impl<D: ColumnData> FusedIterator for GetMany<'_, '_, D> {}

impl<D: QueryData, F: LookupForm> fmt::Debug for Lookup<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lookup<{}, {}>", type_name::<D>(), type_name::<F>())
    }
}

/// Lookup of the existence and the location of entities. Returned by [`EntityManager::storage_info`]. This is Unity's
/// `EntityStorageInfoLookup`.
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
#[doc(alias = "EntityStorageInfoLookup")]
pub struct StorageInfoLookup<'w> {
    pages: PageView<'w>,
    entities: &'w EntityManager,
}

/// The chunk and the row of an entity. Returned by [`StorageInfoLookup::get`]. This is Unity's `EntityStorageInfo`.
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
    /// Returns `true` if an entity exists.
    #[inline]
    pub fn exists(&self, entity: Entity) -> bool {
        self.pages.locate(entity).is_some()
    }

    /// Returns the chunk and the row of an entity, or `None` if the entity does not exist.
    pub fn get(&self, entity: Entity) -> Option<StorageInfo<'w>> {
        let at = self.pages.locate(entity)?;
        let chunk = self.entities.chunk(at.chunk);
        Some(StorageInfo { chunk, jobs: &self.entities.jobs, number: at.chunk, row: at.row })
    }
}

impl<'w> StorageInfo<'w> {
    /// Returns the chunk of the entity, after completing all jobs over entities.
    pub fn chunk(&self) -> ArchetypeChunk<'w> {
        self.jobs.sync_all();
        self.chunk
    }

    /// Returns the number of the chunk.
    ///
    /// The number is unique among existing chunks, and a chunk keeps it as long as it has entities. Numbers are small and are
    /// reused. An [`ArchetypeChunk::sequence_number`] is never reused.
    pub fn chunk_number(&self) -> u32 {
        self.number
    }

    /// Returns the row of the entity: its index in the chunk, and in slices of the chunk's entities and components.
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
    /// Returns a lookup that reads one component or buffer of entities.
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

//! The entity manager: creates, changes, finds and despawns the entities of a world.

mod access;
mod add_remove;
mod archetypes;
mod bulk;
mod chunks;
mod coalesce;
mod despawn;
mod entity_ref;
mod exchange;
mod fork;
mod hierarchy;
mod host;
mod instantiate;
mod job_access;
mod job_sync;
mod linked_groups;
mod links;
mod metadata;
mod put_value;
mod required;
mod reserved_ids;
mod shared_components;
mod spawn;
#[cfg(test)]
mod tests;
mod transfer;

use std::any::TypeId;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use ancho_jobs::JobPool;

use access::EnabledSlot;
pub use archetypes::Archetype;
use archetypes::{SetLayout, Sets};
pub(crate) use bulk::{RowSelection, check_count};
pub use chunks::{ArchetypeChunk, ArchetypeChunkMut};
pub(crate) use coalesce::{
    ChangeSequence, CoalesceResult, CoalescedBatch, InsertPlan, SequenceEnd, StagedValue,
    ValueOwner, WriteFn,
};
pub use entity_ref::{EntityMut, EntityRef};
pub use hierarchy::{Ancestors, ChildSpawner, Descendants, SourcesMut};
pub(crate) use host::{EntityHost, HostMut};
pub use job_access::JobWrites;
pub(crate) use job_access::{Jobs, Resource, ResourceUse};
pub(crate) use linked_groups::DistinctEntities;
use metadata::{Caches, Names};
pub use metadata::{EntityChanges, EntityTracker};
pub(crate) use metadata::{LastRun, LastRuns};
pub use put_value::PutError;
use required::RequireStep;
use reserved_ids::ReservedIds;
pub(crate) use reserved_ids::ReturnedIds;
use spawn::Fill;
pub use spawn::NewEntities;
pub(crate) use spawn::{MANY_BYTES, Spaced};

use crate::component::{ComponentType, required_by, visits_of};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::matching::cache::QueryCache;
use crate::set::ComponentSet;
use crate::storage::{
    DoesNotFit, Location, NOWHERE, RequiredColumn, RowRange, Storage, StorageSettings, Transfers,
    given_sources,
};
use crate::version::Version;

/// A cached transfer: the last one that an operation made by only moving values. Often the next entity makes the same transfer.
#[derive(Clone, Copy)]
struct RecentTransfer {
    set: TypeId,
    /// The source archetype, or [`u32::MAX`] for none.
    from: u32,
    transfer: u32,
    /// The chunk that the last entity moved to. It has room if `room_changes` of the storage has not changed since.
    to: u32,
    /// The value of `room_changes` of the storage when `to` was found.
    room_changes: u64,
}

impl RecentTransfer {
    const NONE: Self =
        Self { set: TypeId::of::<()>(), from: u32::MAX, transfer: 0, to: 0, room_changes: 0 };
}

/// The manager of a world's entities.
///
/// A [`World`](crate::World) dereferences to its manager, so that all methods can be called on the world. Jobs of a
/// [transaction](crate::ExclusiveEntityTransaction) have the manager without its world. This is Unity's `EntityManager`.
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
/// world.spawn_many(Health(20), 1000);
/// let soldiers = world.archetype::<Health>();
/// assert_eq!(world.entity_count(), 1000);
/// assert!(world.archetype_capacity(soldiers).unwrap() >= 1000);
/// ```
pub struct EntityManager {
    /// The unique id of the manager, which caches outside of the manager compare.
    id: u64,
    pub(crate) storage: Storage,
    pub(crate) queries: QueryCache,
    pub(crate) jobs: Jobs,
    transfers: Transfers,
    sets: Sets,
    /// The last transfers by which components were added and removed, respectively.
    recent_transfers: [RecentTransfer; 2],
    /// The last component whose enabled bit was set.
    last_enabled: EnabledSlot,
    names: Arc<Names>,
    /// The ids that are reserved for entities of recorded commands.
    pub(crate) reserved_ids: ReservedIds,
    /// The rows of the entities that the last call has created.
    runs: Vec<RowRange>,
    /// The rows that threads fill in parallel.
    fills: Vec<Fill>,
    /// Memory for bulk changes.
    memory: bulk::BulkMemory,
    /// Memory for changes of linked groups.
    group_lists: linked_groups::GroupMemory,
    /// Memory for changes of links.
    links: links::LinkMemory,
    /// Memory for instantiation. It is boxed, because it is large and is moved out for each call.
    instance_lists: Option<Box<instantiate::InstanceMemory>>,
    /// The commands that are applied together.
    pub(crate) coalesced: CoalescedBatch,
    strict: bool,
    /// The number of transfers of entities from and to other worlds.
    world_transfers: u64,
    caches: Caches,
    /// The last runs of the systems of the world that these entities were forked from.
    pub(crate) last_runs: Option<Arc<LastRuns>>,
    /// Makes the manager `!Sync`. A world is `Send`, but not `Sync`.
    not_sync: PhantomData<Cell<()>>,
}

impl EntityManager {
    /// Creates a manager without entities. If there is no pool, jobs run on the pool of the process.
    pub(crate) fn new(storage: StorageSettings, pool: Option<JobPool>, strict: bool) -> Self {
        Self::with_storage(Storage::new(storage), Jobs::new(pool), strict)
    }

    fn with_storage(mut storage: Storage, jobs: Jobs, strict: bool) -> Self {
        // Relaxed: the ids only have to be distinct.
        let id = metadata::MANAGERS.fetch_add(1, Relaxed);
        storage.lifecycle.set_id(id);
        Self {
            id,
            storage,
            queries: QueryCache::default(),
            jobs,
            transfers: Transfers::default(),
            sets: Sets::default(),
            recent_transfers: [RecentTransfer::NONE; 2],
            last_enabled: EnabledSlot::NONE,
            names: Arc::default(),
            reserved_ids: ReservedIds::default(),
            runs: Vec::new(),
            fills: Vec::new(),
            memory: bulk::BulkMemory::default(),
            group_lists: linked_groups::GroupMemory::default(),
            links: links::LinkMemory::default(),
            instance_lists: None,
            coalesced: CoalescedBatch::default(),
            strict,
            world_transfers: 0,
            caches: Caches::default(),
            last_runs: None,
            not_sync: PhantomData,
        }
    }

    /// Returns whether operations without effect are errors.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Returns the number of entities.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many((), 100);
    /// let orc = world.spawn(());
    /// assert_eq!(world.entity_count(), 101);
    /// world.despawn(orc)?;
    /// assert_eq!(world.entity_count(), 100);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn entity_count(&self) -> usize {
        self.storage.table.living()
    }

    /// Returns whether an entity exists.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let target = world.spawn(());
    /// assert!(world.exists(target));
    /// world.despawn(target)?;
    /// let newcomer = world.spawn(());
    /// assert_eq!(newcomer.index(), target.index(), "the index is reused");
    /// assert!(world.exists(newcomer) && !world.exists(target));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[inline]
    pub fn exists(&self, entity: Entity) -> bool {
        self.storage.table.locate(entity).is_some()
    }

    /// Returns whether an entity was despawned, and exists only because of its cleanup components.
    ///
    /// Such an entity has components with [`Component::CLEANUP`](crate::Component::CLEANUP), and [exists](Self::exists) until the
    /// last of these components is removed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// #[component(cleanup)]
    /// struct Registered;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Registered);
    /// assert!(!world.is_cleanup_only(orc));
    /// world.despawn(orc)?;
    /// assert!(world.exists(orc) && world.is_cleanup_only(orc));
    /// world.remove::<Registered>(orc)?;
    /// assert!(!world.exists(orc) && !world.is_cleanup_only(orc));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn is_cleanup_only(&self, entity: Entity) -> bool {
        let archetype = self.storage.archetype_of(entity);
        archetype.is_some_and(|archetype| archetype.shape.is_cleanup_only())
    }

    /// Iterates over all entities, chunk by chunk.
    ///
    /// # Determinism
    ///
    /// The order depends only on the sequence of operations.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let (stone, orc) = (world.spawn(()), world.spawn(Health(20)));
    /// let mut found: Vec<_> = world.iter_entities().collect();
    /// found.sort();
    /// assert_eq!(found, [stone, orc]);
    /// ```
    pub fn iter_entities(&self) -> impl Iterator<Item = Entity> {
        self.chunks_in_use().flat_map(|chunk| chunk.entities().iter().copied())
    }

    /// Returns all entities, chunk by chunk.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many((), 5);
    /// // A list of its own, so that the world can be changed in the loop.
    /// for entity in world.all_entities().into_iter().skip(2) {
    ///     world.despawn(entity)?;
    /// }
    /// assert_eq!(world.entity_count(), 2);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn all_entities(&self) -> Vec<Entity> {
        let mut all = Vec::with_capacity(self.entity_count());
        self.chunks_in_use().for_each(|chunk| all.extend_from_slice(chunk.entities()));
        all
    }

    /// Returns the number of transfers from and to other worlds that included components which can refer to entities.
    ///
    /// References to entities of another world become null in a transfer. Filters such as [`OrderChanged`](crate::OrderChanged)
    /// match entities that arrived, but not those that left, because a chunk can leave as a whole. So code that keeps links
    /// between entities can check them when this number has changed. Entities without references do not change this number when
    /// they leave, but they change the entity count of a query.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Leader(Entity);
    ///
    /// let (mut loading, mut game) = (World::new("Loading"), World::new("Game"));
    /// let captain = loading.spawn(());
    /// loading.spawn(Leader(captain));
    /// game.move_entities_from(&mut loading)?;
    /// assert_eq!(loading.world_transfer_count(), 1);
    /// assert_eq!(game.world_transfer_count(), 1);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn world_transfer_count(&self) -> u64 {
        self.world_transfers
    }

    /// Returns the version that is recorded for changes that are made now.
    pub fn version(&self) -> Version {
        self.storage.version
    }

    /// Begins the next version and returns it, so that later changes can be distinguished from earlier ones.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let before = world.version();
    /// let now = world.advance_version();
    /// assert!(now.is_newer_than(before));
    /// assert_eq!(world.version(), now);
    /// ```
    pub fn advance_version(&mut self) -> Version {
        self.reclaim_returned_ids();
        self.storage.version = self.storage.version.next();
        self.storage.version
    }

    /// Sets the version, for tests of its wrap-around. [`Version::NEVER`], which no change has, becomes [`Version::FIRST`].
    #[doc(hidden)]
    pub fn set_version(&mut self, version: Version) {
        self.storage.version = if version == Version::NEVER { Version::FIRST } else { version };
    }

    /// Checks the invariants of the storage. Tests call this at their end.
    ///
    /// # Errors
    ///
    /// Returns a description of the first violation, which is a bug in this crate.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.jobs.sync_all();
        self.storage.check_invariants()?;
        self.check_lists()
    }

    /// Returns the location of an entity, or an error if it does not exist.
    #[inline]
    fn locate(&self, entity: Entity) -> Result<Location, EntityError> {
        self.storage.table.locate(entity).ok_or_else(|| self.no_such(entity))
    }

    #[cold]
    pub(crate) fn no_such(&self, entity: Entity) -> EntityError {
        EntityError::NoSuchEntity {
            entity,
            slot_version: self.storage.table.slot_version(entity.index()),
        }
    }

    /// Returns whether an entity was despawned: its slot has a newer version.
    #[cold]
    pub(crate) fn is_gone(&self, entity: Entity) -> bool {
        self.no_such(entity).is_gone()
    }

    /// Returns the error for an entity that does not exist or lacks a component.
    #[cold]
    fn not_found(&self, entity: Entity, component: ComponentType) -> EntityError {
        if self.exists(entity) {
            EntityError::MissingComponent { entity, component }
        } else {
            self.no_such(entity)
        }
    }

    /// Finds or creates the archetype with exactly these types, which are sorted.
    fn find_archetype(&mut self, sorted: &[ComponentType]) -> Result<u32, EntityError> {
        let Storage { archetypes, settings, shared, .. } = &mut self.storage;
        let found = archetypes.find_or_create(sorted, settings, shared);
        found.map_err(|DoesNotFit { entity_bytes, room }| {
            let largest = sorted.iter().copied().max_by_key(|ty| ty.size().max(ty.align()));
            EntityError::DoesNotFit {
                entity_bytes,
                chunk_bytes: room,
                largest: largest.expect("an entity without components has room"),
            }
        })
    }

    /// Returns the number of a set.
    #[inline]
    pub(crate) fn set_number<S: ComponentSet>(&mut self) -> Result<u32, EntityError> {
        self.sets.number_of::<S>()
    }

    /// Returns the archetype and columns of a set. The result is cached.
    #[inline]
    fn layout(&mut self, set: u32) -> Result<&SetLayout, EntityError> {
        if self.sets.get(set).layout.is_none() {
            self.find_layout(set)?;
        }
        Ok(self.sets.layout(set))
    }

    #[cold]
    fn find_layout(&mut self, set: u32) -> Result<(), EntityError> {
        let plan = self.sets.get(set);
        let required = required_by(plan.types.iter().copied(), |ty| plan.types.contains(&ty));
        let mut sorted: Vec<_> = plan.sorted.to_vec();
        sorted.extend(required.iter().map(|found| found.ty));
        archetypes::sort(&mut sorted)?;
        let archetype = self.find_archetype(&sorted)?;
        let shape = &self.storage.archetypes[archetype].shape;
        let plan = self.sets.get(set);
        let step = |ty: Option<ComponentType>| {
            let offset =
                ty.and_then(|ty| shape.index.find(ty)).map_or(NOWHERE, |found| found.offset);
            RequireStep { offset, ty }
        };
        let require_steps = visits_of(&plan.types, &required).into_iter().map(step).collect();
        let required = RequiredColumn::of_all(&required, shape);
        let found = plan
            .types
            .iter()
            .map(|&ty| shape.index.find(ty).expect("the archetype has just these"));
        let (columns, offsets): (Vec<_>, Vec<_>) =
            found.map(|found| (found.column, found.offset)).unzip();
        let shared = given_sources(shape, &plan.types);
        let (columns, offsets) = (columns.into(), offsets.into());
        let layout = SetLayout { archetype, columns, offsets, shared, required, require_steps };
        self.sets.set_layout(set, layout);
        Ok(())
    }
}

impl Drop for EntityManager {
    fn drop(&mut self) {
        if !self.jobs.end() {
            let settings = self.storage.settings.clone();
            let storage = mem::replace(&mut self.storage, Storage::new(settings));
            let queries = mem::take(&mut self.queries);
            ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).push((storage, queries));
        }
    }
}

/// The storage of worlds that were dropped inside one of their own jobs. Other jobs may still use it, and a job cannot wait for
/// itself, so the storage is never freed. The list keeps it reachable for leak checkers.
static ABANDONED: Mutex<Vec<(Storage, QueryCache)>> = Mutex::new(Vec::new());

impl fmt::Debug for EntityManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityManager")
            .field("entities", &self.entity_count())
            .field("archetypes", &self.archetype_count())
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}

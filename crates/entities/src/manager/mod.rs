//! The entities of a world: creating, changing, finding and destroying them.

mod access;
mod archetypes;
mod arrivals;
mod buffers;
mod bytes;
mod caches;
mod change;
mod chunk_components;
mod chunks;
mod copy;
mod create;
mod create_parallel;
mod declared_writes;
mod destroy;
mod distinct;
mod enabled;
mod fences;
mod foresight;
mod found;
mod gates;
mod give;
mod groups;
mod instantiate;
mod jobs;
mod lend;
mod managed;
mod names;
mod new_entities;
mod references;
mod sets;
mod shared;
mod shared_references;
#[cfg(test)]
mod slot_versions;
mod stretch;
mod track;

use std::any::TypeId;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

pub use archetypes::Archetype;
use caches::Caches;
pub(crate) use caches::{LastRun, LastRuns};
pub use chunks::{ArchetypeChunk, ArchetypeChunkMut};
use create_parallel::Fill;
pub(crate) use create_parallel::{MANY_BYTES, Spaced};
pub(crate) use declared_writes::JobWrites;
pub(crate) use distinct::Distinct;
pub(crate) use found::Found;
pub use groups::LinkedEntityGroup;
pub use new_entities::NewEntities;
pub(crate) use stretch::{Course, End, Gift, Given, Giving, Owner, Stretch};
pub use track::{EntityChanges, EntityTracker};

use enabled::Switch;
pub(crate) use fences::{Resource, ResourceUse};
pub(crate) use jobs::Jobs;
use names::Names;
use sets::{Home, Sets};

use crate::commands::Promises;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::query::QueryCache;
use crate::set::ComponentSet;
use crate::storage::{
    DoesNotFit, InvariantViolation, Location, Run, Storage, Transfers, given_sources,
};
use crate::version::Version;
use crate::world::WorldSettings;

/// A way that entities took, and where nothing is to be thought of but moving values: mostly one entity after another
/// takes the same.
#[derive(Clone, Copy)]
struct QuickWay {
    set: TypeId,
    /// The archetype it starts from, or [`u32::MAX`], which none is.
    from: u32,
    transfer: u32,
    /// The chunk that the last one went to. It has room if no list of chunks with room has changed since.
    to: u32,
    /// How often one had changed then.
    room_changes: u64,
}

impl QuickWay {
    const NONE: Self =
        Self { set: TypeId::of::<()>(), from: u32::MAX, transfer: 0, to: 0, room_changes: 0 };
}

/// The entities of one world.
///
/// A [`World`](crate::World) derefs to it, so that all methods can be called on the world. Jobs of a
/// [transaction](crate::ExclusiveEntityTransaction) have the manager without its world. Unity's `EntityManager`.
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
    /// Whatever is known of the entities elsewhere is known by it.
    id: u64,
    pub(crate) storage: Storage,
    pub(crate) queries: QueryCache,
    pub(crate) jobs: Jobs,
    transfers: Transfers,
    sets: Sets,
    /// The last ways that entities took when components were added, and when they were removed.
    quick_ways: [QuickWay; 2],
    /// What was switched off or on last.
    last_switch: Switch,
    names: Arc<Names>,
    /// What becomes of ids that were promised to entities of commands.
    pub(crate) promises: Promises,
    /// The rows of the entities that were created last.
    runs: Vec<Run>,
    /// Rows that threads fill.
    fills: Vec<Fill>,
    /// Lists for changes of all that a query finds.
    memory: found::Memory,
    /// Lists for changes of groups.
    group_lists: groups::GroupLists,
    /// Lists for entities that are instantiated. In a box, since they are taken for each, and large.
    instance_lists: Option<Box<instantiate::InstanceLists>>,
    /// Commands that are carried out together.
    pub(crate) stretch: Stretch,
    strict: bool,
    /// How often entities came from other worlds, or left for them.
    world_transfers: u64,
    caches: Caches,
    /// When the systems last ran of the world that these entities were forked from.
    pub(crate) last_runs: Option<Arc<LastRuns>>,
    /// A world can be sent to another thread, and not be used by two.
    not_sync: PhantomData<Cell<()>>,
}

impl EntityManager {
    pub(crate) fn new(settings: &WorldSettings) -> Self {
        let jobs = Jobs::new(settings.pool().cloned());
        Self::with_storage(Storage::new(settings.storage()), jobs, settings.is_strict())
    }

    fn with_storage(storage: Storage, jobs: Jobs, strict: bool) -> Self {
        Self {
            id: caches::new_id(),
            storage,
            queries: QueryCache::default(),
            jobs,
            transfers: Transfers::default(),
            sets: Sets::default(),
            quick_ways: [QuickWay::NONE; 2],
            last_switch: Switch::NONE,
            names: Arc::default(),
            promises: Promises::default(),
            runs: Vec::new(),
            fills: Vec::new(),
            memory: found::Memory::default(),
            group_lists: groups::GroupLists::default(),
            instance_lists: None,
            stretch: Stretch::default(),
            strict,
            world_transfers: 0,
            caches: Caches::default(),
            last_runs: None,
            not_sync: PhantomData,
        }
    }

    /// Whether what changes nothing is refused.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    /// How many entities there are.
    pub fn entity_count(&self) -> usize {
        self.storage.table.living()
    }

    /// Whether an entity is there.
    #[inline]
    pub fn exists(&self, entity: Entity) -> bool {
        self.storage.table.locate(entity).is_some()
    }

    /// Whether an entity was despawned, and is only there for what stays of it.
    ///
    /// It has components with [`Component::CLEANUP`](crate::Component::CLEANUP), and goes when the last of them is removed. Who keeps
    /// something for other entities asks this before he takes one of them for alive, since it [exists](Self::exists) until then.
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

    /// All entities, chunk by chunk.
    ///
    /// # Determinism
    ///
    /// The order follows from the operations that were made, and from nothing else.
    pub fn iter_entities(&self) -> impl Iterator<Item = Entity> {
        self.chunks_in_use().flat_map(|chunk| chunk.into_entities().iter().copied())
    }

    /// A list of all entities, chunk by chunk.
    pub fn all_entities(&self) -> Vec<Entity> {
        let mut all = Vec::with_capacity(self.entity_count());
        self.chunks_in_use().for_each(|chunk| all.extend_from_slice(chunk.into_entities()));
        all
    }

    /// The number of times that entities arrived from another world, or left for one, if some of them have components that can refer to
    /// entities.
    ///
    /// A reference to an entity that is left behind is null. Filters such as [`OrderChanged`](crate::OrderChanged) find the entities that
    /// have arrived, and not those that have left: a chunk can leave as a whole. Links between entities can be checked when this number
    /// has changed. Entities without references that leave change the number of entities that a query finds, and not this one.
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

    /// The moment that is noted with everything that is changed now.
    pub fn version(&self) -> Version {
        self.storage.version
    }

    /// Begins the next moment, so that later changes can be told from earlier ones. Returns it.
    pub fn advance_version(&mut self) -> Version {
        self.take_back_promises();
        self.storage.version = self.storage.version.next();
        self.storage.version
    }

    /// Sets the moment: for tests of what happens when the numbers begin again.
    #[doc(hidden)]
    pub fn set_version(&mut self, version: Version) {
        self.storage.version = version;
    }

    /// Checks everything that must be true of the entities, as every test does at its end.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong: a mistake in ancho.
    pub fn check_invariants(&self) -> Result<(), InvariantViolation> {
        self.jobs.before_everything();
        self.storage.check_invariants()
    }

    /// Where an entity is.
    #[inline]
    fn locate(&self, entity: Entity) -> Result<Location, EntityError> {
        self.storage.table.locate(entity).ok_or_else(|| self.no_such(entity))
    }

    #[cold]
    fn no_such(&self, entity: Entity) -> EntityError {
        EntityError::NoSuchEntity {
            entity,
            slot_version: self.storage.table.slot_version(entity.index()),
        }
    }

    /// Why an entity's component was not found.
    #[cold]
    fn not_found(&self, entity: Entity, component: ComponentType) -> EntityError {
        if self.exists(entity) {
            EntityError::MissingComponent { entity, component }
        } else {
            self.no_such(entity)
        }
    }

    /// The archetype of a list of types, which is sorted.
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

    /// The number of a set.
    #[inline]
    pub(crate) fn set_number<S: ComponentSet>(&mut self) -> Result<u32, EntityError> {
        self.sets
            .number_of::<S>()
            .map_err(|component| EntityError::DuplicateComponent { component })
    }

    /// The archetype of a set, which is remembered.
    #[inline]
    fn home(&mut self, set: u32) -> Result<&Home, EntityError> {
        if self.sets.get(set).home.is_none() {
            self.find_home(set)?;
        }
        Ok(self.sets.get(set).home.as_ref().expect("it was just found"))
    }

    #[cold]
    fn find_home(&mut self, set: u32) -> Result<(), EntityError> {
        let sorted = self.sets.get(set).sorted.clone();
        let archetype = self.find_archetype(&sorted)?;
        let shape = &self.storage.archetypes[archetype].shape;
        let plan = self.sets.get(set);
        let found = plan
            .types
            .iter()
            .map(|&ty| shape.index.find(ty).expect("the archetype has just these"));
        let (columns, offsets): (Vec<_>, Vec<_>) =
            found.map(|found| (found.column, found.offset)).unzip();
        let shared = given_sources(shape, &plan.types);
        let home = Home { archetype, columns: columns.into(), offsets: offsets.into() };
        self.sets.set_home(set, home, shared);
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

/// What is left of worlds that were dropped from inside of one of their jobs: others may be using it, and nobody can wait for
/// them. It is never freed. That it is kept here, and not forgotten, is for those who look for leaks.
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

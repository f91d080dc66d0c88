//! Data about entities outside of components: names, entity trackers, and caches.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::EntityManager;
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::storage::EntityTable;
use crate::version::Version;

/// The names of entities, by index. The name of a despawned entity remains until the next entity with the index is named.
#[derive(Clone, Default)]
pub(super) struct Names {
    by_index: HashMap<u32, (u32, String), FixedState>,
}

impl Names {
    pub(super) fn set(&mut self, entity: Entity, name: &str) {
        if name.is_empty() {
            self.by_index.remove(&entity.index());
        } else {
            // The memory of the old name is reused.
            let (version, known) = self.by_index.entry(entity.index()).or_default();
            *version = entity.version();
            known.clear();
            known.push_str(name);
        }
    }

    /// Returns all names, also those of despawned entities, by ascending index.
    pub(super) fn sorted(&self) -> Vec<(Entity, &str)> {
        let mut names: Vec<(Entity, &str)> = self
            .by_index
            .iter()
            .map(|(&index, (version, name))| (Entity::from_parts(index, *version), name.as_str()))
            .collect();
        names.sort_unstable_by_key(|(entity, _)| entity.index());
        names
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_index.is_empty()
    }

    /// Copies the names of entities that were moved or copied from another world.
    pub(super) fn follow(&mut self, there: &Self, map: &EntityMap) {
        for (&index, (version, name)) in &there.by_index {
            if let Some(entity) = map.get(Entity::from_parts(index, *version)) {
                self.set(entity, name);
            }
        }
    }

    /// Removes the names of entities that were moved to another world.
    pub(super) fn forget(&mut self, map: &EntityMap) {
        self.by_index
            .retain(|&index, (version, _)| map.get(Entity::from_parts(index, *version)).is_none());
    }
}

impl EntityManager {
    /// Sets the name of an entity, which messages and tools display. An empty name removes it.
    ///
    /// Names are not part of the [state hash](Self::state_hash).
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(());
    /// world.set_name(orc, "Grishnákh").unwrap();
    /// assert_eq!(world.entity_name(orc), Some("Grishnákh"));
    /// ```
    pub fn set_name(&mut self, entity: Entity, name: &str) -> Result<(), EntityError> {
        self.locate(entity)?;
        self.names_mut().set(entity, name);
        Ok(())
    }

    /// Returns the names mutably. If a fork shares them, they are copied first.
    pub(super) fn names_mut(&mut self) -> &mut Names {
        Arc::make_mut(&mut self.names)
    }

    /// Returns the name of an entity, if it exists and has one.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let (dragon, egg) = (world.spawn(()), world.spawn(()));
    /// world.set_name(dragon, "Smaug")?;
    /// assert_eq!(world.entity_name(dragon), Some("Smaug"));
    /// assert_eq!(world.entity_name(egg), None);
    /// world.despawn(dragon)?;
    /// assert_eq!(world.entity_name(dragon), None);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn entity_name(&self, entity: Entity) -> Option<&str> {
        let (version, name) = self.names.by_index.get(&entity.index())?;
        (*version == entity.version() && self.exists(entity)).then_some(name)
    }
}

/// The state of [`EntityManager::entity_changes`]: the entities at the time of the last call.
///
/// A tracker shares memory with the world, so that its cost depends on the number of changes.
///
/// # Examples
///
/// ```
/// use ancho_entities::{EntityTracker, World};
///
/// let mut world = World::new("Simulation");
/// let mut tracker = EntityTracker::new();
/// let first = world.spawn(());
/// assert_eq!(world.entity_changes(&mut tracker).created, [first]);
///
/// world.despawn(first).unwrap();
/// let second = world.spawn(());
/// let brief = world.spawn(());
/// world.despawn(brief).unwrap();
/// let changes = world.entity_changes(&mut tracker);
/// assert_eq!((changes.created, changes.destroyed), (vec![second], vec![first]));
/// ```
#[derive(Default)]
#[doc(alias = "Added")]
pub struct EntityTracker {
    seen: Option<EntityTable>,
}

impl EntityTracker {
    /// Creates a tracker that has seen no entities.
    pub fn new() -> Self {
        Self::default()
    }
}

impl fmt::Debug for EntityTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.seen.as_ref().map_or(0, EntityTable::living);
        f.debug_struct("EntityTracker").field("seen", &seen).finish()
    }
}

/// Created and despawned entities, both in ascending order of their indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntityChanges {
    /// The entities that exist now, and did not exist before.
    pub created: Vec<Entity>,
    /// The entities that existed before, and do not exist now.
    pub destroyed: Vec<Entity>,
}

impl EntityManager {
    /// Returns the entities that were created and despawned since the last call with this tracker. An entity that was created and
    /// despawned meanwhile is in neither list.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{EntityTracker, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let mut tracker = EntityTracker::new();
    /// let orc = world.spawn(());
    /// assert_eq!(world.entity_changes(&mut tracker).created, [orc]);
    /// world.despawn(orc)?;
    /// let changes = world.entity_changes(&mut tracker);
    /// assert!(changes.created.is_empty());
    /// assert_eq!(changes.destroyed, [orc]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn entity_changes(&mut self, tracker: &mut EntityTracker) -> EntityChanges {
        self.sync_for_move([]);
        let mut changes = EntityChanges::default();
        let now = self.storage.table.fork();
        let seen = tracker.seen.take().unwrap_or_else(EntityTable::new);
        EntityTable::diff(&seen, &now, &mut changes.created, &mut changes.destroyed);
        tracker.seen = Some(now);
        changes
    }
}

/// The caches of a manager, with at most one of each type.
#[derive(Clone, Default)]
pub(super) struct Caches(Vec<(TypeId, Arc<dyn Any + Send + Sync>)>);

/// The last runs of a world's systems, at the time of a fork.
#[derive(Debug)]
pub(crate) struct LastRuns {
    /// The id of the world's systems.
    pub(crate) systems: u64,
    /// The last run of each slot, in the order of the slots.
    pub(crate) slots: Box<[LastRun]>,
}

/// The last run of the system in a slot.
#[derive(Debug)]
pub(crate) struct LastRun {
    /// The generation of the slot.
    pub(crate) generation: u32,
    pub(crate) version: Version,
    pub(crate) has_started: bool,
}

/// The id of the next manager. Each manager has a unique id.
pub(super) static MANAGERS: AtomicU64 = AtomicU64::new(1);

impl EntityManager {
    /// Removes the cache of a type and returns it, if there is one.
    ///
    /// A cache is a value that is computed from the entities, such as a spatial index, with the [`Version`] at which it was
    /// computed. A [resource](crate::World::insert_resource) stays in its world when the entities of the world are replaced. A
    /// cache stays with the entities from which it was computed:
    ///
    /// - [`World::restore`](crate::World::restore) and [`mem::swap`](std::mem::swap) of two managers exchange the caches, too.
    /// - [`World::fork`](crate::World::fork) shares the caches with the fork. [`Arc::make_mut`] copies a cache that is shared.
    ///
    /// A cache is not part of the [state hash](Self::state_hash).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ancho_entities::{Changed, Component, EntityManager, Version, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Clone)]
    /// struct Sum {
    ///     total: u32,
    ///     count: usize,
    ///     version: Version,
    /// }
    ///
    /// fn total_health(entities: &mut EntityManager) -> u32 {
    ///     let cache = entities.take_cache::<Sum>();
    ///     let new = Sum { total: 0, count: 0, version: Version::NEVER };
    ///     let mut sum = cache.unwrap_or_else(|| Arc::new(new));
    ///     let changed = entities.query_filtered::<(), Changed<Health>>().since(sum.version);
    ///     // A despawned entity is not found as changed, but there are fewer then.
    ///     let count = entities.query::<&Health>().count();
    ///     if !changed.is_empty() || count != sum.count {
    ///         let total = entities.query::<&Health>().iter().map(|health| health.0).sum();
    ///         *Arc::make_mut(&mut sum) = Sum { total, count, version: entities.version() };
    ///         entities.advance_version();
    ///     }
    ///     let total = sum.total;
    ///     entities.put_cache(sum);
    ///     total
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// assert_eq!(total_health(&mut world), 20);
    /// let mut snapshot = world.fork()?;
    /// world.get_mut::<Health>(orc)?.0 = 5;
    /// assert_eq!(total_health(&mut world), 5);
    /// world.despawn(orc)?;
    /// assert_eq!(total_health(&mut world), 0);
    /// world.restore(&mut snapshot)?;
    /// assert_eq!(total_health(&mut world), 20);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn take_cache<T: Any + Send + Sync>(&mut self) -> Option<Arc<T>> {
        let place = self.caches.0.iter().position(|(ty, _)| *ty == TypeId::of::<T>())?;
        self.caches.0.swap_remove(place).1.downcast().ok()
    }

    /// Adds a cache, and replaces one of the same type. See [`take_cache`](Self::take_cache).
    pub fn put_cache<T: Any + Send + Sync>(&mut self, cache: Arc<T>) {
        let old = self.take_cache::<T>();
        self.caches.0.push((TypeId::of::<T>(), cache));
        // The old cache is dropped last, because that runs user code.
        drop(old);
    }

    /// Returns the unique id of the manager, which caches outside of the manager compare.
    #[inline(always)]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

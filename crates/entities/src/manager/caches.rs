//! Values that are computed from the entities of a manager, and kept beside them.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::EntityManager;
use crate::version::Version;

/// The caches of a manager, at most one of each type.
#[derive(Clone, Default)]
pub(super) struct Caches(Vec<(TypeId, Arc<dyn Any + Send + Sync>)>);

impl fmt::Debug for Caches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caches").field("count", &self.0.len()).finish()
    }
}

/// When the systems of a world last ran, and whether they had started, at the time of a fork.
#[derive(Debug)]
pub(crate) struct LastRuns {
    /// The id of the world's systems.
    pub(crate) systems: u64,
    /// In the order of the slots.
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

/// The number of managers that were created.
static MANAGERS: AtomicU64 = AtomicU64::new(0);

/// An id that no other manager has. It is never zero.
pub(super) fn new_id() -> u64 {
    // Only that they differ matters.
    MANAGERS.fetch_add(1, Ordering::Relaxed) + 1
}

impl EntityManager {
    /// Removes the cache of a type and returns it, if there is one.
    ///
    /// A cache is a value that is computed from the entities, such as a spatial index, with the [`Version`] at which it was
    /// computed. A [resource](crate::World::insert_resource) stays in its world when the world gets other entities; a cache stays
    /// with the entities that it describes:
    ///
    /// - [`World::restore`](crate::World::restore) and [`mem::swap`](std::mem::swap) of two managers exchange the caches, too.
    /// - [`World::fork`](crate::World::fork) shares the caches with the fork. [`Arc::make_mut`] copies a cache that is shared.
    ///
    /// A cache is no part of the [state hash](Self::state_hash).
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

    /// Adds a cache, in place of one of the same type. See [`take_cache`](Self::take_cache).
    pub fn put_cache<T: Any + Send + Sync>(&mut self, cache: Arc<T>) {
        let old = self.take_cache::<T>();
        self.caches.0.push((TypeId::of::<T>(), cache));
        // Dropping it is user code.
        drop(old);
    }

    /// An id that no other manager has, so that what is known of one is not taken for what is known of another.
    #[inline(always)]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

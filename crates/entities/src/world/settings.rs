//! How a world is set up.

use std::num::NonZero;

use ancho_jobs::JobPool;

use crate::storage::{ChunkArena, StorageSettings};

/// How a world is set up.
///
/// # Examples
///
/// ```
/// use ancho_entities::{World, WorldSettings};
///
/// // As Unity's: at most 128 entities in a chunk, and every misuse is an error.
/// let settings = WorldSettings::new().chunk_capacity_limit(128).strict(true);
/// let mut world = World::with_settings("Simulation", settings);
/// let orc = world.spawn(());
/// world.despawn(orc).unwrap();
/// assert!(world.despawn(orc).is_err());
/// ```
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until a world is made with them"]
pub struct WorldSettings {
    chunk_size: u32,
    capacity_limit: Option<NonZero<u32>>,
    strict: bool,
    arena: ChunkArena,
    pool: Option<JobPool>,
}

impl WorldSettings {
    /// Chunks of 16 KiB that hold as many entities as have room, from the arena that all worlds of the program share, and
    /// threads that they share too; not strict.
    pub fn new() -> Self {
        Self {
            chunk_size: 16 * 1024,
            capacity_limit: None,
            strict: false,
            arena: ChunkArena::shared(),
            pool: None,
        }
    }

    /// How many bytes a chunk has.
    ///
    /// # Panics
    ///
    /// Unless it is a power of two from 4 KiB to 1 MiB.
    #[track_caller]
    pub fn chunk_size(mut self, bytes: usize) -> Self {
        let allowed = 4 * 1024..=1024 * 1024;
        assert!(
            bytes.is_power_of_two() && allowed.contains(&bytes),
            "A0065: a chunk cannot have {bytes} bytes; use a power of two from 4096 to 1048576"
        );
        self.chunk_size = bytes as u32;
        self
    }

    /// At most so many entities are in a chunk, also if more had room.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[track_caller]
    pub fn chunk_capacity_limit(mut self, entities: usize) -> Self {
        let limit = u32::try_from(entities).unwrap_or(u32::MAX);
        let limit = NonZero::new(limit)
            .expect("A0065: a chunk holds one entity at least; use a limit above zero");
        self.capacity_limit = Some(limit);
        self
    }

    /// Sets whether the world refuses three things, with an error and without a change: to despawn an entity that does not exist
    /// (A0050), to add a component that the entity has (A0052), and to remove a component that the entity lacks (A0051), or from an
    /// entity that does not exist.
    ///
    /// Otherwise, as in Unity's Entities 1.x, `despawn` and `remove` do nothing and return `false`, and `add` replaces the value. In
    /// these three rules a strict world does as the Entities previews of 2018 did, and in no others. In addition,
    /// [`check_commands`](crate::EntityManager::check_commands) refuses commands that make prefabs (A0151).
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Where chunks come from.
    pub fn arena(mut self, arena: ChunkArena) -> Self {
        self.arena = arena;
        self
    }

    /// Which threads work for the world, beside the one that uses it. Worlds have the
    /// [pool of the process](JobPool::shared) unless they are told otherwise, and forks the pool of the world they are of.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{World, WorldSettings};
    /// use ancho_jobs::JobPool;
    ///
    /// let pool = JobPool::builder().workers(3).build().unwrap();
    /// let world = World::with_settings("Simulation", WorldSettings::new().job_pool(&pool));
    /// assert_eq!(world.jobs().thread_count(), 4);
    /// ```
    pub fn job_pool(mut self, pool: &JobPool) -> Self {
        self.pool = Some(pool.clone());
        self
    }

    pub(crate) fn pool(&self) -> Option<&JobPool> {
        self.pool.as_ref()
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    pub(crate) fn storage(&self) -> StorageSettings {
        StorageSettings {
            chunk_size: self.chunk_size,
            capacity_limit: self.capacity_limit,
            arena: self.arena.clone(),
        }
    }
}

impl Default for WorldSettings {
    fn default() -> Self {
        Self::new()
    }
}

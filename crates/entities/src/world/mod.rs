//! A world, and how it is set up.

mod clock;
mod resources;
mod settings;
mod singletons;
mod transaction;
mod update_memory;

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::commands::{EntityCommandBuffer, PlaybackError};
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::system::Systems;
use crate::time::TimeStack;
use resources::Resources;
pub use settings::WorldSettings;
pub use transaction::{ExclusiveEntityTransaction, TransactionJob};
pub(crate) use update_memory::TwoUpdates;
use update_memory::UpdateMemory;

/// Entities with their components, systems and resources, independent of all other worlds.
///
/// A world derefs to its [`EntityManager`], which has the methods for entities and queries. The methods of `World` itself are for
/// systems, resources, singletons, time, forks and transactions.
///
/// A world can be sent to another thread. One thread uses it at a time.
///
/// Dropping a world completes its jobs. Then the running systems stop, in the order in which they were added, and all systems are
/// destroyed in the opposite order.
///
/// # All worlds of a program
///
/// There is no global list of worlds, such as Unity's `World.All`: only its owner can reach a world. Worlds of two threads, tests or
/// plugins do not affect each other. A program with several worlds stores them itself, and lends them to its tools.
///
/// ```
/// use ancho_entities::World;
///
/// let mut worlds = [World::new("Client"), World::new("Server")];
/// for world in &mut worlds {
///     world.update(1.0 / 60.0);
/// }
/// let server = worlds.iter().find(|world| world.name() == "Server").unwrap();
/// assert_eq!(server.time().frame(), 1);
/// ```
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Poisoned;
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn(Health(20));
/// world.add(orc, Poisoned).unwrap();
/// world.get_mut::<Health>(orc).unwrap().0 -= 5;
/// assert_eq!(world.get(orc), Ok(&Health(15)));
/// world.despawn(orc).unwrap();
/// assert!(!world.exists(orc));
/// ```
pub struct World {
    name: String,
    settings: WorldSettings,
    pub(crate) entities: EntityManager,
    pub(crate) systems: Systems,
    pub(crate) resources: Resources,
    pub(crate) time: TimeStack,
    pub(crate) memory: UpdateMemory,
}

impl World {
    /// A world without entities.
    pub fn new(name: impl Into<String>) -> Self {
        Self::with_settings(name, WorldSettings::new())
    }

    /// A world without entities that is set up in this way.
    pub fn with_settings(name: impl Into<String>, settings: WorldSettings) -> Self {
        let entities = EntityManager::new(&settings);
        Self::with_entities(name.into(), settings, entities)
    }

    /// A world of these entities, without systems and resources.
    fn with_entities(name: String, settings: WorldSettings, entities: EntityManager) -> Self {
        let (systems, resources) = (Systems::default(), Resources::default());
        let (time, memory) = (TimeStack::new(), UpdateMemory::default());
        Self { name, settings, entities, systems, resources, time, memory }
    }

    /// What it is called, in messages and tools.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it was set up.
    pub fn settings(&self) -> &WorldSettings {
        &self.settings
    }

    /// A second world with the same entities, which shares memory with this one until one of them writes to it. It has no systems, no
    /// resources, and its time begins anew.
    ///
    /// It costs about as much as there are chunks, and every first write to a chunk then copies it. Good for snapshots and undo;
    /// [`restore`](Self::restore) rolls back to a fork.
    ///
    /// Components that change through a shared reference, as atomics do, change in both until their chunk is copied.
    ///
    /// [Caches](crate::EntityManager::take_cache), such as that of the transforms, are shared, too. A cache is copied by the code that keeps
    /// it, before its next write.
    ///
    /// Chunks with [managed](ManagedComponent) components are copied at once, since they belong to one thread. So are the
    /// values that [chunks](crate::PerChunk) have.
    ///
    /// # Errors
    ///
    /// If a component can neither be copied nor cloned, or there is no memory for what is copied at once. Then the world is
    /// as it was, also if a clone panics.
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
    /// let orc = world.spawn(Health(20));
    /// let before = world.fork().unwrap();
    /// world.get_mut::<Health>(orc).unwrap().0 = 0;
    /// assert_eq!(before.get(orc), Ok(&Health(20)));
    /// ```
    pub fn fork(&mut self) -> Result<Self, EntityError> {
        let entities = self.entities.fork()?;
        Ok(self.with_copied_entities(entities))
    }

    /// A second world with the same entities, and memory of its own. It has no systems, no resources, and its time begins anew.
    ///
    /// # Errors
    ///
    /// If a component can neither be copied nor cloned, or there is no memory.
    pub fn duplicate(&mut self) -> Result<Self, EntityError> {
        let entities = self.entities.duplicate()?;
        Ok(self.with_copied_entities(entities))
    }

    fn with_copied_entities(&mut self, mut entities: EntityManager) -> Self {
        if let Some(last_runs) = self.last_runs() {
            entities.last_runs = Some(last_runs);
        }
        Self::with_entities(self.name.clone(), self.settings.clone(), entities)
    }

    /// Applies the commands of a buffer, in the order in which they were recorded, and names the world in errors.
    ///
    /// See [`EntityManager::play`].
    ///
    /// # Errors
    ///
    /// The errors of [`EntityManager::play`].
    #[track_caller]
    pub fn play(&mut self, buffer: &mut EntityCommandBuffer) -> Result<(), PlaybackError> {
        let played = self.entities.play(buffer);
        played.map_err(|error| error.played_by(&format!("world `{}`", self.name)))
    }

    /// Lends the entities of the world to jobs, one at a time, until the transaction [ends](ExclusiveEntityTransaction::end).
    ///
    /// The transaction has the world until then, so that nobody else can use it: that does not compile. All jobs over its
    /// entities are completed first. Unity's `BeginExclusiveEntityTransaction`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut transaction = World::new("Loading").begin_transaction();
    /// let filled = transaction.schedule(&[], |entities| _ = entities.spawn_many((), 1000));
    /// transaction.jobs().complete(filled?);
    /// assert_eq!(transaction.end().unwrap().entity_count(), 1000);
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    ///
    /// Nobody else uses the world meanwhile:
    ///
    /// ```compile_fail,E0382
    /// # use ancho_entities::World;
    /// let mut world = World::new("Loading");
    /// let transaction = world.begin_transaction();
    /// world.spawn(());
    /// ```
    ///
    /// Nor is one begun in the midst of another:
    ///
    /// ```compile_fail,E0382
    /// # use ancho_entities::World;
    /// let world = World::new("Loading");
    /// let transaction = world.begin_transaction();
    /// let another = world.begin_transaction();
    /// ```
    #[track_caller]
    pub fn begin_transaction(self) -> ExclusiveEntityTransaction {
        ExclusiveEntityTransaction::new(self)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end_systems();
    }
}

impl Deref for World {
    type Target = EntityManager;

    #[inline]
    fn deref(&self) -> &EntityManager {
        &self.entities
    }
}

impl DerefMut for World {
    #[inline]
    fn deref_mut(&mut self) -> &mut EntityManager {
        &mut self.entities
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("name", &self.name).field("entities", &self.entities).finish()
    }
}

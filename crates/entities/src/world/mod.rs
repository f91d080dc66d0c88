//! Worlds, their settings, their clocks and their update memory.

mod changes;
mod commands;
mod hierarchy;
mod messages;
mod non_send;
mod observers;
mod removed;
mod resources;
mod sets;
mod singletons;
mod state;
mod states;
mod systems;
mod thread_bound;
mod transaction;

use std::cell::OnceCell;
use std::fmt;
use std::num::NonZero;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use ancho_collections::{Allocator, RewindableAllocator};
use ancho_jobs::JobPool;
pub(crate) use non_send::NonSendValues;
pub use non_send::{NonSend, NonSendMut};
pub use observers::EventType;
pub(crate) use observers::{
    CurrentEvents, DeclaredEvents, Interest, ObserverEntry, Observers, QueuedBatch,
};
pub(crate) use removed::RemovedQueue;
use resources::Resources;
pub(crate) use resources::{BorrowedResource, Slot as ResourceSlot};
pub use resources::{Resource, ResourceKind};
pub(crate) use sets::SetRecord;
pub(crate) use state::RateStates;
pub(crate) use states::{ErasedState, Phase, StateSlot};
pub(crate) use systems::{
    Children, ErasedCondition, ErasedSystem, Flags, Outcome, PluginRecord, Profile, Record,
    SystemSlot, Systems, no_such,
};
pub use systems::{Moment, SystemKind};
pub use transaction::ExclusiveEntityTransaction;

use crate::commands::{CommandError, EntityCommandBuffer, PlaybackReport};
use crate::manager::EntityManager;
use crate::messages::Messages;
use crate::storage::{ChunkArena, StorageSettings};
use crate::time::{Time, TimeError, TimeStack};

/// Entities with their components, systems and resources, independent of all other worlds.
///
/// A world derefs to its [`EntityManager`], which has the methods for entities and queries. The methods of `World` itself are for
/// systems, resources, singletons, time, forks and transactions.
///
/// A world can be sent to another thread, and is used by one thread at a time. Values that are not `Send` stay on their thread:
/// see [`insert_non_send`](Self::insert_non_send).
///
/// Dropping a world completes its jobs. Then the running systems stop, in the order in which they were added, and all systems are
/// destroyed in the opposite order.
///
/// # All worlds of a program
///
/// There is no global list of worlds, such as Unity's `World.All`: code can only reach a world through its owner. Worlds of two
/// threads, tests or plugins do not affect each other. A program with several worlds stores them itself, and passes references to
/// its tools.
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
#[doc(alias = "App")]
pub struct World {
    name: String,
    settings: WorldSettings,
    pub(crate) entities: EntityManager,
    pub(crate) systems: Systems,
    pub(crate) resources: Resources,
    pub(crate) messages: Messages,
    pub(crate) non_send: NonSendValues,
    pub(crate) time: TimeStack,
    pub(crate) memory: UpdateMemory,
    pub(crate) observers: Observers,
}

impl World {
    /// Creates a world without entities.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut server = World::new("Server");
    /// let client = World::new("Client");
    /// server.spawn(());
    /// assert_eq!((server.entity_count(), client.entity_count()), (1, 0));
    /// ```
    pub fn new(name: impl Into<String>) -> Self {
        Self::with_settings(name, WorldSettings::new())
    }

    /// Creates a world without entities, with these settings.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{World, WorldSettings};
    ///
    /// let settings = WorldSettings::new().chunk_capacity_limit(10);
    /// let mut world = World::with_settings("Simulation", settings);
    /// world.spawn_many((), 25);
    /// assert_eq!(world.chunks().count(), 3);
    /// ```
    pub fn with_settings(name: impl Into<String>, settings: WorldSettings) -> Self {
        let entities =
            EntityManager::new(settings.storage(), settings.pool.clone(), settings.strict);
        Self::with_entities(name.into(), settings, entities)
    }

    /// Creates a world with the given entities, without systems and resources.
    fn with_entities(name: String, settings: WorldSettings, entities: EntityManager) -> Self {
        let (systems, resources) = (Systems::new(), Resources::default());
        let (messages, non_send) = (Messages::default(), NonSendValues::default());
        let (time, memory) = (TimeStack::new(), UpdateMemory::default());
        let observers = Observers::default();
        Self {
            name,
            settings,
            entities,
            systems,
            resources,
            messages,
            non_send,
            time,
            memory,
            observers,
        }
    }

    /// Returns the name of the world, which messages and tools show.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the settings of the world.
    pub fn settings(&self) -> &WorldSettings {
        &self.settings
    }

    /// Applies the commands of a buffer, in the order in which they were recorded, and names the world in errors.
    ///
    /// See [`EntityManager::play`]. Commands that need the world, such as `insert_resource` and `run`, are applied too.
    ///
    /// # Errors
    ///
    /// The errors of [`EntityManager::play`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let mut buffer = EntityCommandBuffer::new();
    /// let commands = buffer.commands()?;
    /// commands.set(orc, Health(5));
    /// commands.set(orc, Health(0));
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get(orc), Ok(&Health(0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn play(
        &mut self,
        buffer: &mut EntityCommandBuffer,
    ) -> Result<PlaybackReport, CommandError> {
        let (world, caller) = (self.systems.id, Location::caller());
        // Commands that call functions of the world do not deliver in between.
        let played = self.while_held(|world| buffer.play_in(world, caller));
        if self.systems.id == world {
            self.deliver_outside();
        }
        played.map_err(|error| error.played_by(&format!("world `{}`", self.name)))
    }

    /// Begins a transaction, which lends the entities of the world to one job at a time until it
    /// [ends](ExclusiveEntityTransaction::end).
    ///
    /// The transaction owns the world until then. All jobs over entities of the world are completed first. This is Unity's
    /// `BeginExclusiveEntityTransaction`.
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
    /// The world cannot be used during a transaction:
    ///
    /// ```compile_fail,E0382
    /// # use ancho_entities::World;
    /// let mut world = World::new("Loading");
    /// let transaction = world.begin_transaction();
    /// world.spawn(());
    /// ```
    ///
    /// Transactions cannot be nested:
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

impl World {
    /// Returns the current time. Systems take it as a [`Time`] parameter.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// world.update(0.25);
    /// world.update(0.125);
    /// assert_eq!((world.time().elapsed(), world.time().delta()), (0.375, 0.125));
    /// assert_eq!(world.time().frame(), 2);
    /// ```
    pub fn time(&self) -> Time {
        self.time.current()
    }

    /// Sets the current time.
    ///
    /// # Errors
    ///
    /// Returns A0120 if the time is invalid.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Time, World};
    ///
    /// let mut world = World::new("Simulation");
    /// // Continues a saved game at its time.
    /// world.set_time(Time::new(3600.0, 0.0))?;
    /// world.update(0.25);
    /// assert_eq!(world.time().elapsed(), 3600.25);
    /// assert!(world.set_time(Time::new(f64::NAN, 0.0)).is_err());
    /// # Ok::<(), ancho_entities::TimeError>(())
    /// ```
    pub fn set_time(&mut self, time: Time) -> Result<(), TimeError> {
        self.time.set(time)
    }

    /// Replaces the current time until it is [popped](Self::pop_time). Times that a system pushes and does not pop are popped when
    /// the system returns.
    ///
    /// While a time is pushed, an [update](Self::update) continues from it and from its [frame](Time::frame). Popping restores the
    /// time and the frame from before the push.
    ///
    /// # Errors
    ///
    /// Returns A0120 if the time is invalid.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Time, World};
    ///
    /// let mut world = World::new("Simulation");
    /// world.update(0.25);
    /// world.push_time(Time::new(10.0, 0.5))?;
    /// assert_eq!(world.time().elapsed(), 10.0);
    /// world.pop_time()?;
    /// assert_eq!(world.time().elapsed(), 0.25);
    /// # Ok::<(), ancho_entities::TimeError>(())
    /// ```
    pub fn push_time(&mut self, time: Time) -> Result<(), TimeError> {
        self.time.push(time)
    }

    /// Restores the time before the last [push](Self::push_time). Returns the pushed time.
    ///
    /// # Errors
    ///
    /// Returns A0122 if no time was pushed, or, in a system, if the system itself has pushed no time.
    pub fn pop_time(&mut self) -> Result<Time, TimeError> {
        self.reset_abandoned_update();
        self.time.pop()
    }

    /// Returns the maximum delta time of an update in seconds. The default is infinity: there is no maximum. See
    /// [`set_maximum_delta`](Self::set_maximum_delta).
    pub fn maximum_delta(&self) -> f64 {
        self.time.maximum_delta()
    }

    /// Sets the maximum delta time of an update in seconds. A longer update advances the time by the maximum only.
    ///
    /// Set a maximum in programs that measure the time between updates. Otherwise one long pause, such as a dragged window, becomes
    /// one long step. `f64::INFINITY` removes the maximum. Unity's default is a third of a second.
    ///
    /// # Errors
    ///
    /// Returns A0120 if `seconds` is not a number above zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// world.update(5.0);
    /// assert_eq!(world.time().delta(), 5.0);
    /// world.set_maximum_delta(0.125)?;
    /// // The window was dragged for five seconds.
    /// world.update(5.0);
    /// assert_eq!(world.time().delta(), 0.125);
    /// assert!(world.set_maximum_delta(0.0).is_err());
    /// # Ok::<(), ancho_entities::TimeError>(())
    /// ```
    pub fn set_maximum_delta(&mut self, seconds: f64) -> Result<(), TimeError> {
        self.time.set_maximum_delta(seconds)
    }

    /// Returns the time scale. The default is 1. See [`set_time_scale`](Self::set_time_scale).
    pub fn time_scale(&self) -> f64 {
        self.time.scale()
    }

    /// Sets the factor by which the durations of updates are multiplied, from the next update on. Use it for slow motion and fast
    /// forward.
    ///
    /// The product is limited by the [maximum](Self::set_maximum_delta). [`Time::unscaled_delta`] returns the duration without the
    /// scale. The scale is state: forks have it, and it is rolled back.
    ///
    /// # Errors
    ///
    /// Returns A0120 if `scale` is negative, infinite or NaN.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// world.set_time_scale(0.25)?;
    /// world.update(1.0);
    /// assert_eq!(world.time().elapsed(), 0.25);
    /// assert!(world.set_time_scale(-1.0).is_err());
    /// # Ok::<(), ancho_entities::TimeError>(())
    /// ```
    #[doc(alias = "set_relative_speed")]
    #[doc(alias = "timeScale")]
    pub fn set_time_scale(&mut self, scale: f64) -> Result<(), TimeError> {
        self.time.set_scale(scale)
    }

    /// Pauses the time from the next update on. Systems still run, with a [`delta`](Time::delta) of zero.
    ///
    /// Groups with a rate, such as [`FixedStep`](crate::FixedStep), make no steps, and do not catch up afterwards. The exception is
    /// [`VariableRate`](crate::VariableRate), which uses the wall clock. A pause is state: forks are paused too, and it is rolled
    /// back.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// world.pause();
    /// world.update(0.5);
    /// assert_eq!((world.time().elapsed(), world.time().frame()), (0.0, 1));
    /// world.resume();
    /// world.update(0.5);
    /// assert_eq!(world.time().elapsed(), 0.5);
    /// ```
    pub fn pause(&mut self) {
        self.time.set_paused(true);
    }

    /// Ends a [pause](Self::pause), from the next update on.
    pub fn resume(&mut self) {
        self.time.set_paused(false);
    }

    /// Tests whether the time is [paused](Self::pause) in the next update.
    pub fn is_paused(&self) -> bool {
        self.time.is_paused()
    }
}

/// The settings of a world.
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
    /// Creates the default settings: chunks of 16 KiB without a capacity limit, the process-wide arena and job pool, and not
    /// strict.
    pub fn new() -> Self {
        Self {
            chunk_size: 16 * 1024,
            capacity_limit: None,
            strict: false,
            arena: ChunkArena::shared(),
            pool: None,
        }
    }

    /// Sets the size of a chunk in bytes.
    ///
    /// # Panics
    ///
    /// Panics if `bytes` is not a power of two from 4 KiB to 1 MiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World, WorldSettings};
    ///
    /// #[derive(Component)]
    /// struct Cell([u8; 1000]);
    ///
    /// let small = WorldSettings::new().chunk_size(4 * 1024);
    /// let mut world = World::with_settings("Simulation", small);
    /// let cells = world.archetype::<Cell>();
    /// assert!(world.archetype_capacity(cells)? <= 4);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
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

    /// Limits the number of entities in a chunk, even if it has room for more.
    ///
    /// # Panics
    ///
    /// Panics if `entities` is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{World, WorldSettings};
    ///
    /// // As Unity's chunks, for results that depend on the division into chunks.
    /// let settings = WorldSettings::new().chunk_capacity_limit(128);
    /// let mut world = World::with_settings("Simulation", settings);
    /// world.spawn_many((), 300);
    /// assert!(world.chunks().all(|chunk| chunk.len() <= 128));
    /// ```
    #[track_caller]
    pub fn chunk_capacity_limit(mut self, entities: usize) -> Self {
        let limit = u32::try_from(entities).unwrap_or(u32::MAX);
        let limit = NonZero::new(limit)
            .expect("A0065: a chunk holds one entity at least; use a limit above zero");
        self.capacity_limit = Some(limit);
        self
    }

    /// Sets whether three operations without an effect are errors: despawning an entity that does not exist (A0050), adding a
    /// component that the entity already has (A0052), and removing a component that the entity lacks (A0051).
    ///
    /// In a world that is not strict, `despawn` and `remove` return `false`, and `add` replaces the value, as in Unity's Entities
    /// 1.x. In a strict world, [`check_commands`](crate::EntityManager::check_commands) also refuses commands that create prefabs
    /// (A0151).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World, WorldSettings};
    ///
    /// #[derive(Component)]
    /// struct Sword;
    ///
    /// let mut world = World::with_settings("Tests", WorldSettings::new().strict(true));
    /// let knight = world.spawn(Sword);
    /// assert!(world.add(knight, Sword).is_err());
    /// world.remove::<Sword>(knight)?;
    /// assert!(world.remove::<Sword>(knight).is_err());
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sets the arena that chunks are allocated from.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ChunkArena, World, WorldSettings};
    ///
    /// let arena = ChunkArena::new();
    /// let mut world = World::with_settings("Level", WorldSettings::new().arena(arena.clone()));
    /// world.spawn(());
    /// assert!(arena.stats().used > 0);
    /// drop(world);
    /// assert_eq!(arena.stats().used, 0);
    /// ```
    pub fn arena(mut self, arena: ChunkArena) -> Self {
        self.arena = arena;
        self
    }

    /// Sets the pool of worker threads. The default is the [pool of the process](JobPool::shared). A fork uses the pool of its
    /// world.
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

    fn storage(&self) -> StorageSettings {
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

/// The memory of a world for values that live for two updates.
#[derive(Default)]
pub(crate) struct UpdateMemory {
    /// The allocators of the world. Created at the first use, because most forks never use them.
    own: OnceCell<TwoUpdates>,
    /// The memory of the group that is being updated, if it has its own rate.
    of_group: Option<Allocator>,
}

/// Two alternating allocators. Memory of one update is valid in the next, and freed in the one after it.
#[derive(Debug)]
pub(crate) struct TwoUpdates {
    allocators: [RewindableAllocator; 2],
    /// The index of the current allocator.
    current: usize,
}

impl TwoUpdates {
    fn new(name: &'static str) -> Self {
        let allocators = [RewindableAllocator::named(name), RewindableAllocator::named(name)];
        Self { allocators, current: 0 }
    }

    fn advance(&mut self) {
        self.current = 1 - self.current;
        self.allocators[self.current].rewind();
    }

    fn allocator(&self) -> Allocator {
        self.allocators[self.current].allocator()
    }
}

impl UpdateMemory {
    /// Begins another update of the world.
    pub(crate) fn advance(&mut self) {
        self.of_group = None;
        if let Some(own) = self.own.get_mut() {
            own.advance();
        }
    }

    /// Begins an update of a group with its own rate and memory. Returns the value to pass to [`leave_group`](Self::leave_group) at
    /// the end of that update.
    pub(crate) fn enter_group(&mut self, of_group: &mut Option<TwoUpdates>) -> Option<Allocator> {
        match of_group {
            Some(memory) => memory.advance(),
            None => *of_group = Some(TwoUpdates::new("the update allocator of the group")),
        }
        let current = of_group.as_ref().map(TwoUpdates::allocator);
        std::mem::replace(&mut self.of_group, current)
    }

    /// Returns the memory of the group that is being updated, if it has one.
    pub(crate) fn of_group(&self) -> Option<Allocator> {
        self.of_group.clone()
    }

    /// Ends the update of a group with its own rate. `outer` is the result of [`enter_group`](Self::enter_group).
    pub(crate) fn leave_group(&mut self, outer: Option<Allocator>) {
        self.of_group = outer;
    }

    pub(crate) fn allocator(&self) -> Allocator {
        if let Some(of_group) = &self.of_group {
            return of_group.clone();
        }
        let own = self.own.get_or_init(|| TwoUpdates::new("the update allocator of the world"));
        own.allocator()
    }
}

impl World {
    /// Returns the allocator for values that live until the end of the next update, such as containers that jobs fill in one frame
    /// and systems read in the next frame.
    ///
    /// Allocating costs a few instructions, and freeing nothing. Memory of one update of the world is valid in this update and in
    /// the next one. It is freed when the update after that begins. Containers in this memory then fail with A0013, and jobs that
    /// use them can still finish. Memory that is allocated between two updates belongs to the update before.
    ///
    /// In a group with its own [rate](crate::IntoSystem::rate), systems use the memory of the group, which is valid for two steps
    /// of the group.
    ///
    /// Call this method in each update, because the memory of an allocator from an earlier update is freed earlier. Systems can
    /// take an [`UpdateAllocator`](crate::UpdateAllocator) parameter instead. This is Unity's `World.UpdateAllocator`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// world.update(0.1);
    /// let hits = NativeList::<u32>::new_in(&world.update_allocator());
    /// world.update(0.1);
    /// assert!(hits.get().is_ok());
    /// world.update(0.1);
    /// assert!(hits.get().unwrap_err().to_string().starts_with("A0013: "));
    /// ```
    #[doc(alias = "WorldUpdateAllocator")]
    pub fn update_allocator(&self) -> Allocator {
        self.memory.allocator()
    }
}

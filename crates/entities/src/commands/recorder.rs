//! Recording: the lane of a thread or of a batch of a job, and [`Commands`], which reserves ids in a world.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use ancho_collections::Lane;

use super::buffer::{CommandLog, EntityCommandBuffer};
use super::error::CommandError;
use super::stream::CommandStream;
use crate::entity::Entity;
use crate::manager::{Archetype, ReturnedIds};
use crate::placeholder::{LANES, NUMBERS, Placeholder, Placeholders, Prefixes};
use crate::query::ManagerBesideViews;
use crate::set::{CloneSet, ComponentSet};

/// Sort key of commands without a key. These commands come last.
pub(super) const NO_KEY: u64 = u64::MAX;

/// Recorder of commands, which are applied when their [buffer](crate::EntityCommandBuffer) is played.
///
/// Created entities have placeholders until then. Placeholders can be used in later commands and in the values of components.
/// Methods for one entity have the names and the meaning of the methods of [`EntityManager`](crate::EntityManager).
/// [`batch`](Self::batch) has the methods for many entities.
///
/// Unless the world is strict, commands for entities that were despawned before playback are skipped: see
/// [`EntityManager::play`](crate::EntityManager::play).
#[derive(Debug, Default)]
#[doc(alias = "ParallelWriter")]
#[doc(alias = "ParallelCommands")]
pub struct CommandRecorder {
    pub(super) stream: CommandStream,
    /// Number of commands.
    pub(super) commands: usize,
    pub(super) prefixes: Prefixes,
    pub(super) lane: u32,
    /// Number of entities that the commands create.
    pub(super) created: u32,
    /// Reserved ids of created entities, in order of creation. Null for entities without a reserved id. The list may be shorter
    /// than the list of created entities: the last entities then have no reserved id.
    pub(super) ids: Vec<Entity>,
    /// Sort keys, each with the index of the first run that has it. Runs before the first element have [`NO_KEY`].
    pub(super) keys: Vec<(usize, u64)>,
    /// Name of the job that records in this lane. `None` for the main thread.
    pub(super) job: Option<&'static str>,
    /// Set if a command needs the world.
    pub(super) needs_world: bool,
}

impl Lane for CommandRecorder {
    fn is_empty(&self) -> bool {
        self.commands == 0
    }
}

impl CommandRecorder {
    /// Begins a lane.
    #[track_caller]
    pub(super) fn begin(&mut self, prefixes: Prefixes, lane: u32, job: Option<&'static str>) {
        assert!(
            lane < LANES,
            "A0083: at most {LANES} batches of jobs record commands in one buffer before it is played; use larger batches, or \
             several buffers"
        );
        // A lane without commands may still have a key.
        self.keys.clear();
        (self.prefixes, self.lane, self.job) = (prefixes, lane, job);
    }

    /// Removes all commands, and drops those that were not applied. Keeps the memory.
    pub(super) fn clear(&mut self) {
        (self.commands, self.created, self.job) = (0, 0, None);
        self.needs_world = false;
        self.ids.clear();
        self.keys.clear();
        self.stream.clear();
    }

    /// Returns the number of commands.
    pub fn len(&self) -> usize {
        self.commands
    }

    /// Returns whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.commands == 0
    }

    /// Sets the sort key of the commands that follow. Lower keys are applied first, commands without a key last.
    ///
    /// A key is valid for the rest of the batch, or of this call of [`commands`](crate::EntityCommandBuffer::commands).
    ///
    /// Commands with the same key, or without a key, are applied in the order in which they are recorded. In a parallel job this is
    /// the order of its indices or chunks. The order is deterministic without keys, too.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Door(&'static str);
    ///
    /// let mut world = World::new("Simulation");
    /// let door = world.spawn(Door("open"));
    /// let mut buffer = EntityCommandBuffer::new();
    /// let commands = buffer.commands()?;
    /// commands.set_sort_key(Some(2));
    /// commands.set(door, Door("locked"));
    /// commands.set_sort_key(Some(1));
    /// commands.set(door, Door("closed"));
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get(door), Ok(&Door("locked")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_sort_key(&mut self, key: Option<u32>) {
        let key = key.map_or(NO_KEY, u64::from);
        let now = self.keys.last().map_or(NO_KEY, |&(_, key)| key);
        if key != now {
            let at = self.stream.begin_run();
            match self.keys.last_mut() {
                Some(last) if last.0 == at => last.1 = key,
                _ => self.keys.push((at, key)),
            }
        }
    }

    /// Returns the entity that messages display: the reserved id if there is one, the target otherwise.
    pub(super) fn shown(&self, target: Entity) -> Entity {
        let id = Placeholder::of(target)
            .filter(|of| of.lane == self.lane && of.is_of(self.prefixes))
            .and_then(|of| self.ids.get(of.number as usize));
        id.copied().filter(|id| !id.is_null()).unwrap_or(target)
    }

    /// Returns the number of further entities that can be created.
    pub(super) fn max_to_create(&self) -> usize {
        (NUMBERS - self.created) as usize
    }

    /// Returns the placeholder of one entity that the next command creates.
    #[inline(always)]
    #[track_caller]
    pub(super) fn take_placeholder(&mut self) -> Entity {
        // Most lanes create few entities, whose placeholders have one prefix.
        let Some(placeholder) = self.prefixes.low(self.created) else {
            return self.take_placeholders(1).target();
        };
        self.created += 1;
        placeholder
    }

    /// Returns placeholders for `count` entities that the next command creates.
    #[inline]
    #[track_caller]
    pub(super) fn take_placeholders(&mut self, count: usize) -> Placeholders {
        let first = self.created;
        if count > self.max_to_create() {
            too_many_entities();
        }
        self.created = first + count as u32;
        // Includes the next number, because the target of a list is recorded before the length of the list is known.
        self.prefixes.reach(self.lane, self.created);
        Placeholders { prefixes: self.prefixes, first, count: count as u32 }
    }
}

#[cold]
#[track_caller]
pub(super) fn too_many_entities() -> ! {
    panic!(
        "A0083: at most {NUMBERS} entities are created by the commands of one batch or thread before they are played; play them, \
         or use several buffers"
    );
}

/// Recorder of commands for a world: created entities get their ids immediately. See
/// [`EntityManager::commands`](crate::EntityManager::commands).
///
/// It has all methods of [`CommandRecorder`]. Methods that create entities return ids instead of placeholders.
///
/// As a parameter of a system, it records commands that are applied right after the system has run, so that the next system sees
/// their effect. If the system fails, its commands are discarded. Commands for despawned entities are skipped, with a
/// [warning](crate::UpdateError::is_warning). [`CommandsAt`](crate::CommandsAt) records commands that are
/// applied at a later point, and records in jobs. Unity's `PostUpdateCommands`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Commands, Component, Entity, Query, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// fn bury(all: Query<(Entity, &Health)>, mut commands: Commands) {
///     for (entity, _) in all.iter().filter(|(_, health)| health.0 == 0) {
///         commands.despawn(entity);
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// world.spawn_batch([Health(0), Health(20)]);
/// world.add_system(bury);
/// world.update(0.1);
/// assert_eq!(world.entity_count(), 1);
/// ```
#[doc(alias = "EntityCommandBuffer")]
pub struct Commands<'w> {
    recorder: &'w mut CommandRecorder,
    /// Manager of a borrowed world. Views of the manager may be in use too, so a reference to it exists only while ids are
    /// reserved.
    entities: ManagerBesideViews<'w>,
    /// World that has reserved ids for entities of the buffer.
    reserved_by: &'w mut Option<Arc<ReturnedIds>>,
}

impl<'w> Commands<'w> {
    pub(super) fn new(
        log: &'w mut CommandLog,
        entities: impl Into<ManagerBesideViews<'w>>,
    ) -> Self {
        let (recorder, reserved_by) = log.main_lane_and_reserved_by();
        Self { recorder, entities: entities.into(), reserved_by }
    }

    /// Creates an entity with these components. Returns its id.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`CommandRecorder::spawn`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Commands, Component, World};
    ///
    /// #[derive(Component)]
    /// struct Arrow(f32);
    ///
    /// fn shoot(mut commands: Commands) {
    ///     let arrow = commands.spawn(Arrow(30.0));
    ///     commands.set_name(arrow, "first arrow");
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(shoot);
    /// world.update(0.1);
    /// assert_eq!(world.query::<&Arrow>().single().unwrap().0, 30.0);
    /// assert_eq!(world.entity_name(world.all_entities()[0]), Some("first arrow"));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn spawn<S: ComponentSet>(&mut self, set: S) -> Entity {
        self.recorder.spawn(set);
        self.reserve_ids(1)[0]
    }

    /// Creates `count` entities, each with clones of these components. Returns their ids.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`CommandRecorder::spawn`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// let orcs = world.commands(&mut buffer)?.spawn_many(Health(20), 50).to_vec();
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.query::<&Health>().to_entities(), orcs);
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    #[track_caller]
    pub fn spawn_many<S: CloneSet>(&mut self, set: S, count: usize) -> &[Entity] {
        self.recorder.spawn_many(set, count);
        self.reserve_ids(count)
    }

    /// Creates an entity for each set of components that an iterator yields. Returns the ids of the entities.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`CommandRecorder::spawn`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Card(u32);
    ///
    /// let mut world = World::new("Game");
    /// let mut buffer = EntityCommandBuffer::new();
    /// let deck = world.commands(&mut buffer)?.spawn_batch((1..=52).map(Card)).to_vec();
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get(deck[51]), Ok(&Card(52)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn spawn_batch<I>(&mut self, sets: I) -> &[Entity]
    where
        I: IntoIterator,
        I::Item: ComponentSet,
    {
        let count = self.recorder.spawn_batch(sets).len();
        self.reserve_ids(count)
    }

    /// Creates an entity of an archetype, with default values. Returns its id.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`CommandRecorder::spawn`].
    #[track_caller]
    pub fn create(&mut self, archetype: Archetype) -> Entity {
        self.recorder.create(archetype);
        self.reserve_ids(1)[0]
    }

    /// Creates `count` entities of an archetype, with default values. Returns their ids.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`CommandRecorder::spawn`].
    #[track_caller]
    pub fn create_many(&mut self, archetype: Archetype, count: usize) -> &[Entity] {
        self.recorder.create_many(archetype, count);
        self.reserve_ids(count)
    }

    /// Creates an entity with copies of another entity's components. Returns its id.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`CommandRecorder::spawn`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, Prefab, World};
    ///
    /// #[derive(Component, Clone, Debug, PartialEq)]
    /// struct Damage(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let prefab = world.spawn((Prefab, Damage(7)));
    /// let mut buffer = EntityCommandBuffer::new();
    /// let bullet = world.commands(&mut buffer)?.instantiate(prefab);
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get(bullet), Ok(&Damage(7)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn instantiate(&mut self, source: Entity) -> Entity {
        self.recorder.instantiate(source);
        self.reserve_ids(1)[0]
    }

    /// Creates `count` entities with copies of another entity's components. Returns their ids.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`CommandRecorder::spawn`].
    #[track_caller]
    pub fn instantiate_many(&mut self, source: Entity, count: usize) -> &[Entity] {
        self.recorder.instantiate_many(source, count);
        self.reserve_ids(count)
    }

    /// Reserves ids for the `count` entities that were recorded last. Returns the ids.
    #[inline]
    #[track_caller]
    fn reserve_ids(&mut self, count: usize) -> &[Entity] {
        let entities = self.entities.get();
        if self.reserved_by.is_none() {
            *self.reserved_by = Some(Arc::clone(entities.reserved_ids.returned()));
        }
        let CommandRecorder { ids, created, .. } = &mut *self.recorder;
        let first = *created as usize - count;
        if ids.len() < first {
            // The dereferenced recorder has created entities since then. They have placeholders only.
            ids.resize(first, Entity::NULL);
        }
        if count == 1 {
            ids.push(entities.storage.table.reserve());
        } else {
            entities.storage.table.reserve_many(count, ids);
        }
        &ids[first..]
    }
}

impl EntityCommandBuffer {
    /// Records commands for a world that views borrow too. All commands of the buffer have to be for this world.
    pub(crate) fn commands_beside_views<'w>(
        &'w mut self,
        entities: ManagerBesideViews<'w>,
    ) -> Result<Commands<'w>, CommandError> {
        Ok(Commands::new(self.log_for_recording()?, entities))
    }
}

impl Deref for Commands<'_> {
    type Target = CommandRecorder;

    fn deref(&self) -> &CommandRecorder {
        self.recorder
    }
}

impl DerefMut for Commands<'_> {
    fn deref_mut(&mut self) -> &mut CommandRecorder {
        self.recorder
    }
}

impl fmt::Debug for Commands<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands").field("commands", &self.recorder.len()).finish_non_exhaustive()
    }
}

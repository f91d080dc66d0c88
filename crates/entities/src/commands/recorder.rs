//! Who records commands: the lane of a thread, or of a batch of a job.

use std::fmt;

use ancho_collections::Lane;

use super::placeholder::{LANES, NUMBERS, Placeholder, Stamps};
use super::stream::LaneMemory;
use crate::entity::Entity;

/// The key of commands that were given none: they come last.
pub(super) const NO_KEY: u64 = u64::MAX;

/// Records commands, which are carried out when their [buffer](crate::EntityCommandBuffer) is played.
///
/// Entities that it creates have placeholders until then, which can be used in later commands and in the values of
/// components. See there.
#[derive(Debug)]
pub struct CommandRecorder {
    pub(super) memory: LaneMemory,
    /// How many commands there are.
    pub(super) commands: usize,
    pub(super) stamps: Stamps,
    pub(super) lane: u32,
    /// How many entities it creates.
    pub(super) created: u32,
    /// The ids of those of them that have one already, in their order; null for those between them that have not.
    pub(super) ids: Vec<Entity>,
    /// From which runs on commands have which keys, if they have not [`NO_KEY`].
    pub(super) keys: Vec<(usize, u64)>,
    /// The job that has recorded this.
    pub(super) job: Option<&'static str>,
}

impl Default for CommandRecorder {
    fn default() -> Self {
        Self {
            memory: LaneMemory::new(),
            commands: 0,
            stamps: Stamps::default(),
            lane: 0,
            created: 0,
            ids: Vec::new(),
            keys: Vec::new(),
            job: None,
        }
    }
}

impl Lane for CommandRecorder {
    fn is_empty(&self) -> bool {
        self.commands == 0
    }
}

impl CommandRecorder {
    /// Begins to record what comes in this place.
    #[track_caller]
    pub(super) fn begin(&mut self, stamps: Stamps, lane: u32, job: Option<&'static str>) {
        assert!(
            lane < LANES,
            "A0083: at most {LANES} batches of jobs record commands in one buffer before it is played; use larger batches, or \
             several buffers"
        );
        // One that has recorded nothing may have been given a key.
        self.keys.clear();
        (self.stamps, self.lane, self.job) = (stamps, lane, job);
    }

    /// Forgets everything. What was recorded and not used is dropped, the memory is kept.
    pub(super) fn clear(&mut self) {
        (self.commands, self.created, self.job) = (0, 0, None);
        self.ids.clear();
        self.keys.clear();
        self.memory.clear();
    }

    /// How many commands there are.
    pub fn len(&self) -> usize {
        self.commands
    }

    /// Whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.commands == 0
    }

    /// Has the commands that follow carried out in the order of keys: those with lower ones first, those without last.
    ///
    /// A key is for all that follows of the batch, and of this call of [`commands`](crate::EntityCommandBuffer::commands).
    ///
    /// Commands with the same key, or without, are carried out in the order in which they are recorded, which for a parallel
    /// job is that of its indices or chunks. So no key is needed for the order to be the same whatever the threads do.
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
            let at = self.memory.begin_run();
            match self.keys.last_mut() {
                Some(last) if last.0 == at => last.1 = key,
                _ => self.keys.push((at, key)),
            }
        }
    }

    /// What a target is called: by its id, if the recorder has promised it one.
    pub(super) fn shown(&self, target: Entity) -> Entity {
        let id = Placeholder::of(target)
            .filter(|of| of.lane == self.lane && of.is_of(self.stamps))
            .and_then(|of| self.ids.get(of.number as usize));
        id.copied().filter(|id| !id.is_null()).unwrap_or(target)
    }

    /// How many more entities can be created.
    pub(super) fn most_to_create(&self) -> usize {
        (NUMBERS - self.created) as usize
    }

    /// The placeholder of the next entity that is created, of so many.
    #[inline]
    #[track_caller]
    pub(super) fn create(&mut self, count: usize) -> Created {
        let first = self.created;
        if count > self.most_to_create() {
            too_many_entities();
        }
        self.created = first + count as u32;
        // Also the next one: lists are recorded before it is known how many they create.
        self.stamps.reach(self.lane, self.created);
        Created { stamps: self.stamps, lane: self.lane, first, count: count as u32 }
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

/// The placeholders of entities that are created together.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EntityCommandBuffer, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// let mut buffer = EntityCommandBuffer::new();
/// let orcs = buffer.commands()?.spawn_many(100, Health(20));
/// assert_eq!((orcs.len(), orcs.iter().count()), (100, 100));
/// world.play(&mut buffer)?;
/// assert!(world.exists(buffer.resolve(orcs.get(42).unwrap()).unwrap()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Created {
    stamps: Stamps,
    lane: u32,
    pub(super) first: u32,
    pub(super) count: u32,
}

impl Created {
    /// How many they are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One of them.
    #[inline]
    pub fn get(&self, at: usize) -> Option<Entity> {
        (at < self.len()).then(|| self.at(at as u32))
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entity> + use<> {
        let this = *self;
        (0..this.count).map(move |at| this.at(at))
    }

    /// The first one, which may be of nobody.
    #[inline]
    pub(super) fn target(&self) -> Entity {
        self.at(0)
    }

    #[inline]
    fn at(&self, at: u32) -> Entity {
        // That of no entities may be one too high, and is never used.
        let number = (self.first + at).min(NUMBERS - 1);
        Placeholder::new(self.stamps, self.lane, number).to_entity()
    }
}

impl fmt::Debug for Created {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

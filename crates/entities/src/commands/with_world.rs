//! Recording with a world at hand.

#![expect(unsafe_code, reason = "a world that views borrow too")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use super::log::CommandLog;
use super::promises::Returns;
use super::recorder::CommandRecorder;
use crate::entity::Entity;
use crate::manager::{Archetype, EntityManager};
use crate::set::{CloneSet, ComponentSet};

/// Records commands for a world: entities that are created have their ids at once. See
/// [`EntityManager::commands`](crate::EntityManager::commands).
///
/// It has all methods of the [`CommandRecorder`]; those that create return ids instead of placeholders.
///
/// As a parameter of a system it records what is done right after the system has run, so that the next one sees it. Of a system that
/// fails nothing is done. [`CommandsAt`](crate::CommandsAt) records for later, and in jobs. Unity's `PostUpdateCommands`.
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
pub struct Commands<'w> {
    recorder: &'w mut CommandRecorder,
    /// Of a world that is borrowed. Views of it may be in use beside this, so there is no reference to it but while ids are
    /// set aside.
    entities: NonNull<EntityManager>,
    world: PhantomData<&'w EntityManager>,
    /// Who has promised ids to entities of the buffer.
    promised_by: &'w mut Option<Arc<Returns>>,
}

impl<'w> Commands<'w> {
    pub(super) fn new(log: &'w mut CommandLog, entities: &'w EntityManager) -> Self {
        // SAFETY: it is borrowed for the lifetime.
        unsafe { Self::beside_views(log, NonNull::from(entities)) }
    }

    /// Commands for a world that views have too.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed for the lifetime; who uses it meanwhile has no mutable references to it while this is called
    pub(super) unsafe fn beside_views(
        log: &'w mut CommandLog,
        entities: NonNull<EntityManager>,
    ) -> Self {
        let (recorder, promised_by) = log.main_lane_and_promises();
        Self { recorder, entities, world: PhantomData, promised_by }
    }

    /// Creates an entity with these components. Returns its id.
    ///
    /// # Panics
    ///
    /// As [`CommandRecorder::spawn`].
    #[inline(always)]
    #[track_caller]
    pub fn spawn<S: ComponentSet>(&mut self, set: S) -> Entity {
        self.recorder.spawn(set);
        self.promise(1)[0]
    }

    /// Creates so many entities, each with clones of these components. Returns their ids.
    ///
    /// # Panics
    ///
    /// As [`CommandRecorder::spawn`].
    #[track_caller]
    pub fn spawn_many<S: CloneSet>(&mut self, count: usize, set: S) -> &[Entity] {
        self.recorder.spawn_many(count, set);
        self.promise(count)
    }

    /// Creates an entity of each set of components that an iterator gives. Returns their ids.
    ///
    /// # Panics
    ///
    /// As [`CommandRecorder::spawn`].
    #[track_caller]
    pub fn spawn_batch<I>(&mut self, sets: I) -> &[Entity]
    where
        I: IntoIterator,
        I::Item: ComponentSet,
    {
        let count = self.recorder.spawn_batch(sets).len();
        self.promise(count)
    }

    /// Creates an entity of an archetype, every component with its default. Returns its id.
    ///
    /// # Panics
    ///
    /// As [`CommandRecorder::spawn`].
    #[track_caller]
    pub fn create_of(&mut self, archetype: Archetype) -> Entity {
        self.recorder.create_of(archetype);
        self.promise(1)[0]
    }

    /// Creates so many entities of an archetype, every component with its default. Returns their ids.
    ///
    /// # Panics
    ///
    /// As [`CommandRecorder::spawn`].
    #[track_caller]
    pub fn create_many(&mut self, archetype: Archetype, count: usize) -> &[Entity] {
        self.recorder.create_many(archetype, count);
        self.promise(count)
    }

    /// Creates an entity with copies of another's components. Returns its id.
    ///
    /// # Panics
    ///
    /// As [`CommandRecorder::spawn`].
    #[track_caller]
    pub fn instantiate(&mut self, source: Entity) -> Entity {
        self.recorder.instantiate(source);
        self.promise(1)[0]
    }

    /// Creates so many entities with copies of another's components. Returns their ids.
    ///
    /// # Panics
    ///
    /// As [`CommandRecorder::spawn`].
    #[track_caller]
    pub fn instantiate_many(&mut self, source: Entity, count: usize) -> &[Entity] {
        self.recorder.instantiate_many(source, count);
        self.promise(count)
    }

    /// Sets ids aside for the entities that were recorded last.
    #[inline]
    #[track_caller]
    fn promise(&mut self, count: usize) -> &[Entity] {
        // SAFETY: it is borrowed as long as this, and nobody has a mutable reference to it now.
        let entities = unsafe { self.entities.as_ref() };
        if self.promised_by.is_none() {
            *self.promised_by = Some(Arc::clone(entities.promises.returns()));
        }
        let CommandRecorder { ids, created, .. } = &mut *self.recorder;
        let first = *created as usize - count;
        if ids.len() < first {
            // Those between were created through the recorder, and have placeholders.
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

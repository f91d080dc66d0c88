//! Recording with a world at hand.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::log::CommandLog;
use super::promises::Returns;
use super::recorder::CommandRecorder;
use crate::entity::Entity;
use crate::manager::{Archetype, EntityManager};
use crate::set::{CloneSet, ComponentSet};

/// Records commands for a world: entities that are created have their ids at once. See
/// [`World::commands`](crate::World::commands).
///
/// It has all methods of the [`CommandRecorder`]; those that create return ids instead of placeholders.
pub struct Commands<'w> {
    recorder: &'w mut CommandRecorder,
    entities: &'w EntityManager,
    /// Who has promised ids to entities of the buffer.
    promised_by: &'w mut Option<Arc<Returns>>,
}

impl<'w> Commands<'w> {
    pub(super) fn new(log: &'w mut CommandLog, entities: &'w EntityManager) -> Self {
        let (recorder, promised_by) = log.main_lane_and_promises();
        Self { recorder, entities, promised_by }
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
        if self.promised_by.is_none() {
            *self.promised_by = Some(Arc::clone(self.entities.promises.returns()));
        }
        let CommandRecorder { ids, created, .. } = &mut *self.recorder;
        let first = *created as usize - count;
        if ids.len() < first {
            // Those between were created through the recorder, and have placeholders.
            ids.resize(first, Entity::NULL);
        }
        ids.extend((0..count).map(|_| self.entities.storage.table.set_aside()));
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

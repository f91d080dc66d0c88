//! Which entities came and went.

use std::fmt;

use super::EntityManager;
use crate::entity::Entity;
use crate::storage::EntityTable;

/// What somebody has seen of a world's entities, to be told later which ones came and went.
///
/// It remembers which entities there were by sharing memory with the world, so that it costs what changed.
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
pub struct EntityTracker {
    seen: Option<EntityTable>,
}

impl EntityTracker {
    /// One that has seen nothing yet.
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

/// Which entities came and went, both by rising index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntityChanges {
    /// Those that were not there and are.
    pub created: Vec<Entity>,
    /// Those that were there and are not.
    pub destroyed: Vec<Entity>,
}

impl EntityManager {
    /// Which entities came and went since the tracker was last asked about. One that did both is in neither list.
    pub fn entity_changes(&mut self, tracker: &mut EntityTracker) -> EntityChanges {
        self.before_moving([]);
        let mut changes = EntityChanges::default();
        let now = self.storage.table.fork();
        let seen = tracker.seen.take().unwrap_or_else(EntityTable::new);
        EntityTable::diff(&seen, &now, &mut changes.created, &mut changes.destroyed);
        tracker.seen = Some(now);
        changes
    }
}

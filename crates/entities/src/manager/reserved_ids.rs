//! Ids that recorded commands reserve, and return if they are never played back.

use std::cell::OnceCell;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use super::EntityManager;
use crate::entity::Entity;

/// The reserved ids of command buffers that were dropped or cleared before playback. No entity gets them.
#[derive(Default)]
pub(crate) struct ReturnedIds(Mutex<Vec<Entity>>);

impl ReturnedIds {
    pub(crate) fn extend(&self, ids: impl Iterator<Item = Entity>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(ids.filter(|id| !id.is_null()));
    }
}

impl fmt::Debug for ReturnedIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReturnedIds")
    }
}

/// The list of returned ids of a world. It is created when the world first reserves an id.
#[derive(Debug, Default)]
pub(crate) struct ReservedIds(OnceCell<Arc<ReturnedIds>>);

impl ReservedIds {
    pub(crate) fn returned(&self) -> &Arc<ReturnedIds> {
        self.0.get_or_init(Arc::default)
    }

    pub(crate) fn returned_if_any(&self) -> Option<&Arc<ReturnedIds>> {
        self.0.get()
    }
}

impl EntityManager {
    /// Reclaims the reserved ids of command buffers that were dropped or cleared.
    pub(crate) fn reclaim_returned_ids(&mut self) {
        let Some(returned) = self.reserved_ids.returned_if_any() else { return };
        let mut ids = mem::take(&mut *returned.0.lock().unwrap_or_else(PoisonError::into_inner));
        if !ids.is_empty() {
            // The ids are sorted, because their order may depend on threads.
            ids.sort_unstable();
            self.reclaim_unused_ids(ids.iter_mut());
        }
    }

    /// Reclaims reserved ids that no entity was given, and sets them to null. They are treated like the ids of despawned
    /// entities, because copies of them may exist.
    pub(crate) fn reclaim_unused_ids<'i>(&mut self, ids: impl Iterator<Item = &'i mut Entity>) {
        self.sync_for_move([]);
        for id in ids.filter(|id| !id.is_null()) {
            if self.storage.table.consume_id(*id) {
                *id = Entity::NULL;
            }
        }
    }
}

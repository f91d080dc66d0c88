//! Ids that a world has promised to entities that commands create.

use std::cell::OnceCell;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::entity::Entity;
use crate::manager::EntityManager;

/// Ids that were promised and are not going to be used: their buffer was dropped, or cleared.
#[derive(Default)]
pub(crate) struct Returns(Mutex<Vec<Entity>>);

impl Returns {
    pub(super) fn give_back(&self, ids: impl Iterator<Item = Entity>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(ids.filter(|id| !id.is_null()));
    }
}

impl fmt::Debug for Returns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Returns")
    }
}

/// What a world knows of its promises: where ids come back to that were not used.
#[derive(Debug, Default)]
pub(crate) struct Promises(OnceCell<Arc<Returns>>);

impl Promises {
    pub(super) fn returns(&self) -> &Arc<Returns> {
        self.0.get_or_init(Arc::default)
    }

    pub(super) fn known_returns(&self) -> Option<&Arc<Returns>> {
        self.0.get()
    }
}

impl EntityManager {
    /// Uses up the ids that came back.
    pub(crate) fn take_back_promises(&mut self) {
        let Some(returns) = self.promises.known_returns() else { return };
        let mut returned =
            std::mem::take(&mut *returns.0.lock().unwrap_or_else(PoisonError::into_inner));
        if !returned.is_empty() {
            // Which came first may be a matter of threads.
            returned.sort_unstable();
            self.take_back_unused(returned.iter_mut());
        }
    }

    /// Uses up those of the ids that no entity was given, as if one had been there and died: others may have noted them. They are
    /// null then.
    pub(super) fn take_back_unused<'i>(&mut self, ids: impl Iterator<Item = &'i mut Entity>) {
        self.sync_for_move([]);
        for id in ids.filter(|id| !id.is_null()) {
            if self.storage.table.consume_id(*id) {
                *id = Entity::NULL;
            }
        }
    }
}

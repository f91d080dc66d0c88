//! Entities whose place is not a number.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ancho_entities::Entity;

/// Which entities have a place that is not a number, noted by all threads.
///
/// What is told of them is the same whatever thread comes first, and however often they are found.
#[derive(Debug)]
pub(crate) struct NotFinite {
    found: Mutex<Vec<Entity>>,
}

impl NotFinite {
    pub(crate) fn new() -> Self {
        Self { found: Mutex::new(Vec::new()) }
    }

    #[cold]
    pub(crate) fn note(&self, entity: Entity) {
        self.found().push(entity);
    }

    fn found(&self) -> MutexGuard<'_, Vec<Entity>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that were noted, each once, in the order of their indices.
    pub(crate) fn into_list(self) -> Vec<Entity> {
        let mut found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable_by_key(|entity| (entity.index(), entity.version()));
        found.dedup();
        found
    }
}

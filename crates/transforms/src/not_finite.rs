//! Entities whose place is not a number.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ancho_entities::Entity;

use crate::error::TransformError;

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

    /// All that have been noted so far, as often as they were.
    pub(crate) fn found(&self) -> MutexGuard<'_, Vec<Entity>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is to tell, if there is something.
    pub(crate) fn into_error(self) -> Option<TransformError> {
        let mut found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable_by_key(|entity| (entity.index(), entity.version()));
        found.dedup();
        let entity = *found.first()?;
        Some(TransformError::NotFinite { entity, count: found.len() })
    }
}

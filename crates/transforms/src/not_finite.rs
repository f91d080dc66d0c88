//! Entities whose place is not a number.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use ancho_entities::Entity;

use crate::error::TransformError;

/// Which entities have a place that is not a number, noted by all threads.
///
/// What is told of them is the same whatever thread comes first.
#[derive(Debug)]
pub(crate) struct NotFinite {
    /// The one with the lowest index: index and version.
    lowest: AtomicU64,
    count: AtomicUsize,
}

impl NotFinite {
    pub(crate) fn new() -> Self {
        Self { lowest: AtomicU64::new(u64::MAX), count: AtomicUsize::new(0) }
    }

    #[cold]
    pub(crate) fn note(&self, entity: Entity) {
        let number = u64::from(entity.index()) << 32 | u64::from(entity.version());
        self.lowest.fetch_min(number, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// What there is to tell, if there is something.
    pub(crate) fn into_error(self) -> Option<TransformError> {
        let (lowest, count) = (self.lowest.into_inner(), self.count.into_inner());
        let entity = Entity::from_parts((lowest >> 32) as u32, lowest as u32);
        (count > 0).then_some(TransformError::NotFinite { entity, count })
    }
}

//! The events of one delivery.

use super::values::OldValues;
use super::{RemoveCause, WatchNumber};
use crate::entity::Entity;
use crate::storage::StagingArena;

/// The events of one delivery, in order.
#[derive(Default)]
pub(crate) struct EventBatch {
    pub(crate) entities: Vec<Entity>,
    pub(crate) runs: Vec<EventRun>,
    /// The old values, which are dropped when the batch is cleared.
    pub(super) values: StagingArena,
    /// True if the entities of the world were replaced.
    pub(crate) replaced: bool,
}

/// The same event of several entities.
#[derive(Clone, Copy)]
pub(crate) struct EventRun {
    pub(crate) number: WatchNumber,
    pub(crate) kind: EventKind,
    pub(crate) cause: RemoveCause,
    /// True if the component was absent for some time, although the event is a replacement.
    pub(crate) was_absent: bool,
    /// The index of the first entity.
    pub(crate) first: u32,
    pub(crate) len: u32,
    /// The old values, contiguous, or null.
    pub(crate) values: OldValues,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Add,
    Remove,
    Replace,
    Enable,
    Disable,
}

impl EventKind {
    /// Returns the bit of the kind in a set of kinds.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl EventBatch {
    /// Returns the entities of a run.
    #[inline]
    pub(crate) fn entities_of(&self, run: &EventRun) -> &[Entity] {
        &self.entities[run.first as usize..][..run.len as usize]
    }

    /// Appends events without values.
    pub(crate) fn push(
        &mut self,
        number: WatchNumber,
        kind: EventKind,
        entities: impl IntoIterator<Item = Entity>,
    ) {
        let first = self.entities.len() as u32;
        self.entities.extend(entities);
        let len = self.entities.len() as u32 - first;
        if len > 0 {
            let (cause, values) = (RemoveCause::Removed, OldValues::NONE);
            let was_absent = false;
            self.runs.push(EventRun { number, kind, cause, was_absent, first, len, values });
        }
    }

    /// Returns whether the batch has old values.
    pub(crate) fn has_values(&self) -> bool {
        !self.values.is_unused()
    }

    /// Clears the batch, and keeps its memory. Drops the old values, which runs user code.
    pub(crate) fn clear(&mut self) {
        self.clear_events();
        self.values.clear();
    }

    /// Clears a batch that has no old values, and keeps its memory.
    pub(crate) fn clear_events(&mut self) {
        self.entities.clear();
        self.runs.clear();
        self.replaced = false;
    }
}

//! The observers of a world, and the events that wait for them.

use std::sync::Arc;

use super::removed::RemovedQueue;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::schedule::SystemId;
use crate::storage::{EventBatch, EventRun, MaskCopies, WatchNumber};

/// The observers of a world.
#[derive(Default)]
pub(crate) struct Observers {
    /// The group of the observers, which is in no other group. `None` before the first observer.
    pub(crate) group: Option<SystemId>,
    pub(crate) entries: Vec<ObserverEntry>,
    /// The events of the `On` parameters of the system that is being added.
    pub(crate) declared: Vec<DeclaredEvents>,
    /// The events of the observer that runs next.
    pub(crate) current: Option<CurrentEvents>,
    /// The events of the observer that has run.
    pub(crate) returned: Option<Arc<EventBatch>>,
    /// The batches that are reused.
    pub(crate) spare: Vec<Arc<EventBatch>>,
    /// Batches that are delivered before the log.
    pub(crate) queued: Vec<QueuedBatch>,
    /// The number of times that types got other numbers, because the world got other entities. Earlier batches are invalid.
    pub(crate) renumbered: u64,
    pub(crate) is_delivering: bool,
    /// The number of calls that deliver at their end.
    pub(crate) holds: u32,
    pub(crate) removed: Vec<RemovedQueue>,
    /// The enabled bits at the last command point, if such events are observed.
    pub(crate) masks: MaskCopies,
    /// The entities that the last call has created.
    pub(crate) created: Vec<Entity>,
}

/// An observer.
pub(crate) struct ObserverEntry {
    pub(crate) id: SystemId,
    pub(crate) interests: Arc<[Interest]>,
    pub(crate) wants_values: bool,
}

/// The events that an `On` parameter declares.
pub(crate) struct DeclaredEvents {
    pub(crate) events: Vec<(EventType, u8)>,
    pub(crate) wants_values: bool,
}

/// The subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// A component.
    Component(ComponentType),
    /// The despawn of an entity.
    Despawn,
    /// The replacement of all entities.
    Replaced,
}

/// Events that an observer receives: the number of a type, and the kinds of events as bits.
#[derive(Clone, Copy)]
pub(crate) struct Interest {
    pub(crate) number: WatchNumber,
    pub(crate) kinds: u8,
    pub(crate) ty: Option<ComponentType>,
}

impl Interest {
    /// Tests whether the observer receives the events of a run.
    #[inline]
    pub(crate) fn includes(&self, run: &EventRun) -> bool {
        self.number == run.number && self.kinds & run.kind.bit() != 0
    }
}

/// The events of one run of an observer.
pub(crate) struct CurrentEvents {
    pub(crate) batch: Arc<EventBatch>,
    /// The observer, and the position of its entry.
    pub(crate) id: SystemId,
    pub(crate) at: usize,
    /// The value of [`Observers::renumbered`] when the batch was made.
    pub(crate) renumbered: u64,
}

/// A batch that is delivered before the log.
pub(crate) struct QueuedBatch {
    pub(crate) batch: Arc<EventBatch>,
    /// The only observer that receives the batch, if there is one.
    pub(crate) only: Option<SystemId>,
    /// The number of systems that had been added when the events occurred. Later observers do not receive them.
    pub(crate) before: u64,
    /// True if the copies of enabled bits already follow the events.
    pub(crate) is_followed: bool,
    /// The value of [`Observers::renumbered`] when the batch was made.
    pub(crate) renumbered: u64,
}

impl Observers {
    /// Resets the records of a delivery that was abandoned, because another world was swapped in its place.
    pub(crate) fn abandon_delivery(&mut self) {
        (self.is_delivering, self.holds) = (false, 0);
        (self.current, self.returned) = (None, None);
    }

    /// Returns a batch that has no other owner. [`emptied`](Self::emptied) prepares it.
    pub(crate) fn take_batch(&mut self) -> Arc<EventBatch> {
        while let Some(batch) = self.spare.pop() {
            // A failed observer may still have the batch.
            if Arc::strong_count(&batch) == 1 {
                return batch;
            }
        }
        Arc::default()
    }

    /// Empties a batch that has no other owner, to fill it. It has no old values.
    pub(crate) fn emptied(batch: &mut Arc<EventBatch>) -> &mut EventBatch {
        let events = Arc::get_mut(batch).expect("the batch is unused");
        events.clear_events();
        events
    }

    /// Finds the entry of an observer, and its position. The entry is probably at the given position.
    pub(crate) fn entry(&self, id: SystemId, likely: usize) -> Option<(usize, &ObserverEntry)> {
        if let Some(entry) = self.entries.get(likely).filter(|entry| entry.id == id) {
            return Some((likely, entry));
        }
        self.entries.iter().enumerate().find(|(_, entry)| entry.id == id)
    }

    /// Takes the current events and the interests of the observer, unless the numbers of types have changed in between.
    pub(crate) fn take_current(&mut self) -> Option<(Arc<EventBatch>, &Arc<[Interest]>)> {
        let CurrentEvents { batch, id, at, renumbered } = self.current.take()?;
        let (_, entry) = self.entry(id, at)?;
        (self.renumbered == renumbered).then_some((batch, &entry.interests))
    }
}

//! The runs of the lifecycle log.

use super::WatchNumber;
use super::values::OldValues;
use crate::entity::Entity;
use crate::storage::StagingArena;

/// The operations since the last delivery, in order.
#[derive(Default)]
pub(super) struct Log {
    pub(super) entities: Vec<Entity>,
    pub(super) runs: Vec<Run>,
    /// The old values, in the order of runs.
    pub(super) value_runs: Vec<ValueRun>,
    /// The memory of the old values, which drops them.
    pub(super) values: StagingArena,
    /// True if the last run must not be continued.
    is_sealed: bool,
}

/// Entities for which the same happened, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// The signature before the operation, or [`NOWHERE`](crate::storage::NOWHERE).
    pub(super) from: u32,
    /// The signature after the operation, or [`NOWHERE`](crate::storage::NOWHERE).
    pub(super) to: u32,
    /// The index of the first entity.
    pub(super) first: u32,
    pub(super) len: u32,
    pub(super) kind: RunKind,
}

/// The kind of a logged operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunKind {
    /// The signature of the entities changes. Each entity occurs once in the run.
    Change,
    /// The entities leave for another world.
    MoveAway,
    /// The value of a type is overwritten. An entity may occur several times in the run.
    Overwrite(WatchNumber),
}

/// Old values of consecutive entities of a run.
#[derive(Clone, Copy)]
pub(super) struct ValueRun {
    pub(super) run: u32,
    /// The position of the first entity in the run.
    pub(super) at: u32,
    pub(super) len: u32,
    pub(super) number: WatchNumber,
    pub(super) values: OldValues,
}

impl Log {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Removes all operations, and keeps the memory. The values are elsewhere by now.
    pub(super) fn clear(&mut self) {
        self.entities.clear();
        self.runs.clear();
        self.value_runs.clear();
    }

    /// Makes the next entry begin a new run.
    pub(super) fn seal(&mut self) {
        self.is_sealed = true;
    }

    /// Appends entities. Returns the number of their run, and the position of the first one in it.
    pub(super) fn push(
        &mut self,
        entities: &[Entity],
        from: u32,
        to: u32,
        kind: RunKind,
    ) -> (u32, u32) {
        let (first, len) = (self.entities.len() as u32, entities.len() as u32);
        self.entities.extend_from_slice(entities);
        if let Some(last) = self.runs.last_mut()
            && (last.from, last.to, last.kind) == (from, to, kind)
            && !self.is_sealed
        {
            let at = last.len;
            last.len += len;
            return (self.runs.len() as u32 - 1, at);
        }
        self.is_sealed = false;
        self.runs.push(Run { from, to, first, len, kind });
        (self.runs.len() as u32 - 1, 0)
    }
}

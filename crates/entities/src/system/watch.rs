//! Somebody who looks at a world after each of its systems.
//!
//! Without a watcher this costs a branch for each stretch of systems, and one for each system that is in none.

use std::sync::Arc;

use super::error::UpdateError;
use super::id::SystemId;
use super::table::Flags;
use crate::world::World;

/// When somebody looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// An update has begun, and no system has run yet.
    Begun,
    /// This system has run.
    After(Arc<str>),
    /// This point has come, and nothing was to be carried out there.
    Passed(Arc<str>),
    /// All systems of an update have run.
    Ended,
}

/// Who looks.
pub(super) type Watcher = Box<dyn FnMut(&mut World, Moment) + Send>;

impl World {
    /// Has a function look at the world when updates begin and end, and after each system but groups. It does not panic.
    pub(crate) fn watch(&mut self, watcher: impl FnMut(&mut Self, Moment) + Send + 'static) {
        self.systems.watcher = Some(Box::new(watcher));
        self.systems.seen_errors = self.systems.errors.len();
        self.entities.jobs.watch_writes(true);
    }

    /// What went wrong since it was asked, as far as nobody else was told.
    pub(crate) fn unseen_errors(&mut self) -> &[UpdateError] {
        let (errors, seen) = (&self.systems.errors, &mut self.systems.seen_errors);
        let first = std::mem::replace(seen, errors.len()).min(errors.len());
        &errors[first..]
    }

    #[cold]
    #[inline(never)]
    pub(super) fn look(&mut self, moment: Moment) {
        let Some(mut watcher) = self.systems.watcher.take() else { return };
        let world = self.systems.id;
        watcher(self, moment);
        if self.systems.id == world {
            self.systems.watcher = Some(watcher);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn look_after(&mut self, id: SystemId) {
        let Some(slot) = self.systems.slot(id) else { return };
        // A point that carries something out takes the version that it does so in.
        let is_idle =
            slot.flags.has(Flags::POINT) && slot.last_run != self.entities.storage.version;
        let name = self.systems.name_of(id);
        self.look(if is_idle { Moment::Passed(name) } else { Moment::After(name) });
    }
}

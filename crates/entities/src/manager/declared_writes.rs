//! Which jobs have declared that they write what, for somebody who watches.

use std::cell::{Cell, RefCell};

use ancho_jobs::Access;

use super::job_access::{Resource, ResourceUse};
use super::jobs::Jobs;
use crate::component::ComponentType;

/// A job that was scheduled, and the components whose values or masks it writes.
#[derive(Clone, Debug)]
pub(crate) struct JobWrites {
    pub(crate) name: &'static str,
    pub(crate) writes: Vec<ComponentType>,
}

/// The jobs that were scheduled since somebody asked. If nobody watches, none are noted.
#[derive(Default)]
pub(super) struct DeclaredWrites {
    is_watched: Cell<bool>,
    /// What the job declares that is about to be scheduled.
    declared: RefCell<Vec<ComponentType>>,
    jobs: RefCell<Vec<JobWrites>>,
}

impl DeclaredWrites {
    /// Begins with another job. What was declared for the last may have been no job in the end.
    #[inline(always)]
    pub(super) fn begin(&self) {
        if self.is_watched.get() {
            self.declared.borrow_mut().clear();
        }
    }

    #[inline(always)]
    pub(super) fn declare(&self, uses: &[ResourceUse]) {
        if self.is_watched.get() {
            self.note_uses(uses);
        }
    }

    #[cold]
    fn note_uses(&self, uses: &[ResourceUse]) {
        let declared = &mut *self.declared.borrow_mut();
        for &(resource, access) in uses {
            if let (Resource::Values(ty) | Resource::Mask(ty), Access::Write) = (resource, access)
                && !declared.contains(&ty)
            {
                declared.push(ty);
            }
        }
    }

    #[inline(always)]
    pub(super) fn scheduled(&self, name: &'static str) {
        if self.is_watched.get() {
            let writes = self.declared.take();
            self.jobs.borrow_mut().push(JobWrites { name, writes });
        }
    }
}

impl Jobs {
    /// Says whether it is noted what jobs declare.
    pub(crate) fn watch_writes(&self, watched: bool) {
        self.fences.writes.is_watched.set(watched);
    }

    /// Takes the jobs that were scheduled since, in their order.
    pub(crate) fn take_writes(&self) -> Vec<JobWrites> {
        self.fences.writes.jobs.take()
    }

    /// Before it is declared what a job uses.
    #[inline(always)]
    pub(crate) fn begin_declaring(&self) {
        self.fences.writes.begin();
    }
}

//! The slot of a container, which records the jobs that use it.

use std::cell::RefCell;
use std::sync::Arc;

use super::{Access, ContainerLabel, EpochStamp};
use crate::error::AccessError;
use crate::handle::{JobHandle, JobId};
use crate::table::NodeTable;

/// A record of the uncompleted jobs that use a container.
pub(crate) struct Slot {
    pub(crate) label: ContainerLabel,
    /// The epoch of the container's memory, if that memory can be rewound.
    pub(crate) stamp: Option<EpochStamp>,
    users: RefCell<Users>,
}

struct Users {
    /// The scheduler of the jobs in this record. Its nodes show which of the jobs were completed.
    scheduler: u32,
    nodes: Option<Arc<NodeTable>>,
    /// The last job that writes the container.
    writer: Option<Use>,
    /// The jobs that read the container since the last write.
    readers: Vec<Use>,
}

/// One job's use of the container.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) job: JobId,
    pub(crate) name: &'static str,
    pub(crate) access: Access,
}

/// The reason why a job may not use a container.
pub(crate) enum SlotConflict {
    /// A job of another scheduler uses the container.
    Foreign(Use),
    /// A job uses the container and is not ordered before this one.
    Unordered(Use),
    /// The memory with this name was rewound.
    Expired(&'static str),
}

impl Slot {
    pub(crate) fn new(label: ContainerLabel) -> Self {
        let users = Users { scheduler: 0, nodes: None, writer: None, readers: Vec::new() };
        Self { label, stamp: None, users: RefCell::new(users) }
    }

    /// Creates the slot of a fence, which is used by the jobs of one scheduler.
    pub(crate) fn of_scheduler(
        label: ContainerLabel,
        scheduler: u32,
        nodes: &Arc<NodeTable>,
    ) -> Self {
        let nodes = Some(Arc::clone(nodes));
        let users = Users { scheduler, nodes, writer: None, readers: Vec::new() };
        Self { label, stamp: None, users: RefCell::new(users) }
    }

    /// Returns the scheduler whose jobs use the container, or used it last.
    pub(crate) fn scheduler(&self) -> u32 {
        self.users.borrow().scheduler
    }

    /// Returns the last job that was scheduled to write the container, completed or not.
    pub(crate) fn last_writer(&self) -> Option<JobHandle> {
        let users = self.users.borrow();
        users.writer.map(|writer| JobHandle::new(writer.job, users.scheduler))
    }

    /// Calls a function with the use of each uncompleted job that conflicts with an access.
    #[inline]
    pub(crate) fn conflicts(&self, access: Access, mut each: impl FnMut(&Use)) {
        // The closure returns true for each use, so it is called for every conflict.
        let met = self.users.borrow().conflict(access, |user| {
            each(user);
            true
        });
        debug_assert!(met.is_none());
    }

    /// Returns the name of the container's memory, if the memory was rewound.
    #[inline]
    fn expired(&self) -> Option<&'static str> {
        self.stamp.as_ref().filter(|stamp| stamp.is_past()).map(EpochStamp::name)
    }

    /// Checks that no uncompleted job conflicts with the owner's access.
    #[inline]
    pub(crate) fn check_owner(&self, access: Access) -> Result<(), AccessError> {
        if let Some(memory) = self.expired() {
            return Err(AccessError::Expired { container: self.label, memory });
        }
        match self.users.borrow().conflict(access, |_| false) {
            None => Ok(()),
            Some(user) => Err(AccessError::InUse {
                container: self.label,
                access,
                job: user.name,
                job_access: user.access,
            }),
        }
    }

    /// Passes the container from one writing job to the next, if only `previous` uses it. The next job depends on `previous`, so no
    /// other check is needed.
    #[inline]
    pub(crate) fn pass_on(&self, previous: JobId, next: Use, scheduler: u32) -> bool {
        let users = &mut *self.users.borrow_mut();
        let passes = users.scheduler == scheduler
            && users.readers.is_empty()
            && next.access != Access::Read
            && self.stamp.is_none()
            && users.writer.as_ref().is_some_and(|writer| writer.job == previous);
        if passes {
            users.writer = Some(next);
        }
        passes
    }

    /// Checks a job's access. Every uncompleted job that conflicts with it has to be `ordered` before the job.
    #[inline]
    pub(crate) fn check_job(
        &self,
        access: Access,
        scheduler: u32,
        mut ordered: impl FnMut(JobId) -> bool,
    ) -> Result<(), SlotConflict> {
        if let Some(memory) = self.expired() {
            return Err(SlotConflict::Expired(memory));
        }
        let users = self.users.borrow();
        if users.scheduler == scheduler {
            return users
                .conflict(access, |user| ordered(user.job))
                .map_or(Ok(()), |user| Err(SlotConflict::Unordered(user)));
        }
        // A job of another scheduler cannot be ordered before this one. Even two readers are not allowed: the slot
        // records the jobs of one scheduler.
        users
            .conflict(Access::Write, |_| false)
            .map_or(Ok(()), |user| Err(SlotConflict::Foreign(user)))
    }

    /// Records that a job uses the container. The job has passed the checks. Calls `replaced` with the jobs that this job replaces
    /// in the record. They belong to the same scheduler, and may be completed.
    pub(crate) fn add(
        &self,
        user: Use,
        scheduler: u32,
        nodes: &Arc<NodeTable>,
        mut replaced: impl FnMut(JobId),
    ) {
        let users = &mut *self.users.borrow_mut();
        if users.scheduler != scheduler {
            // Jobs of other schedulers no longer use the container, or the check would have failed.
            users.scheduler = scheduler;
            users.nodes = Some(Arc::clone(nodes));
            users.writer = None;
            users.readers.clear();
        }
        if user.access == Access::Read {
            if users.readers.len() == users.readers.capacity() {
                // Completed jobs are removed before the list grows.
                users.prune();
            }
            users.readers.push(user);
        } else {
            // A job that is ordered after this writer is also ordered after all jobs before the writer.
            if let Some(writer) = users.writer.replace(user) {
                replaced(writer.job);
            }
            users.readers.drain(..).for_each(|reader| replaced(reader.job));
        }
    }
}

impl Users {
    /// Returns an uncompleted use that conflicts with the access, and for which `ordered` returns false.
    #[inline]
    fn conflict(&self, access: Access, mut ordered: impl FnMut(&Use) -> bool) -> Option<Use> {
        let nodes = self.nodes.as_deref()?;
        if let Some(writer) = &self.writer
            && is_uncompleted(nodes, writer.job)
            && !ordered(writer)
        {
            return Some(*writer);
        }
        // Reads conflict only with writes, and usually no job writes.
        if access == Access::Read {
            return None;
        }
        for reader in &self.readers {
            if is_uncompleted(nodes, reader.job) && !ordered(reader) {
                return Some(*reader);
            }
        }
        None
    }

    fn prune(&mut self) {
        if let Some(nodes) = self.nodes.as_deref() {
            self.readers.retain(|reader| is_uncompleted(nodes, reader.job));
        }
    }
}

#[inline]
fn is_uncompleted(nodes: &NodeTable, job: JobId) -> bool {
    nodes.node(job.node).sequence.is(job.sequence)
}

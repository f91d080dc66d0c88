//! The memory of a container for the jobs that use it.

use std::cell::RefCell;
use std::sync::Arc;

use super::{Access, ContainerLabel};
use crate::error::AccessError;
use crate::handle::JobId;
use crate::pool::PoolShared;

/// The uncompleted jobs that use a container.
pub(crate) struct Slot {
    pub(crate) label: ContainerLabel,
    users: RefCell<Users>,
}

struct Users {
    /// Whose jobs they are: the scheduler's number, and its pool, which knows what was completed.
    scheduler: u32,
    pool: Option<Arc<PoolShared>>,
    /// The last one that writes.
    writer: Option<Use>,
    /// Those that read, since.
    readers: Vec<Use>,
}

/// One job's use of the container.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) job: JobId,
    pub(crate) name: &'static str,
    pub(crate) access: Access,
}

impl Slot {
    pub(crate) fn new(label: ContainerLabel) -> Self {
        let users = Users {
            scheduler: 0,
            pool: None,
            writer: None,
            readers: Vec::new(),
        };
        Self {
            label,
            users: RefCell::new(users),
        }
    }

    /// Looks for an uncompleted job that conflicts with the owner's access.
    #[inline]
    pub(crate) fn check_owner(&self, access: Access) -> Result<(), AccessError> {
        let users = &mut *self.users.borrow_mut();
        match users.conflicts(access).next() {
            None => Ok(()),
            Some(user) => Err(AccessError {
                container: self.label,
                access,
                job: user.name,
                job_access: user.access,
            }),
        }
    }

    /// Returns an uncompleted job of another scheduler than the given, if there is one.
    pub(crate) fn foreign_use(&self, scheduler: u32) -> Option<Use> {
        let users = &mut *self.users.borrow_mut();
        if users.scheduler == scheduler {
            return None;
        }
        users.conflicts(Access::Write).next()
    }

    /// Returns the first uncompleted job that conflicts with the access and is not `ordered`.
    pub(crate) fn conflict(
        &self,
        access: Access,
        mut ordered: impl FnMut(JobId) -> bool,
    ) -> Option<Use> {
        let users = &mut *self.users.borrow_mut();
        users.conflicts(access).find(|user| !ordered(user.job))
    }

    /// Notes that a job uses the container. It passed the checks.
    pub(crate) fn add(&self, user: Use, scheduler: u32, pool: &Arc<PoolShared>) {
        let users = &mut *self.users.borrow_mut();
        if users.scheduler != scheduler {
            // Nobody else's job uses the container any more, or the check would have failed.
            users.scheduler = scheduler;
            users.pool = Some(Arc::clone(pool));
            users.writer = None;
            users.readers.clear();
        }
        if user.access == Access::Read {
            if users.readers.len() == users.readers.capacity() {
                // Before it grows, forget those that were completed.
                users.prune();
            }
            users.readers.push(user);
        } else {
            // Whoever is ordered after this job is ordered after all that it is ordered after.
            users.writer = Some(user);
            users.readers.clear();
        }
    }
}

impl Users {
    /// Returns the uncompleted uses that conflict with the access.
    #[inline]
    fn conflicts(&mut self, access: Access) -> impl Iterator<Item = Use> {
        let Self {
            pool,
            writer,
            readers,
            ..
        } = self;
        let pool = pool.as_deref();
        let uncompleted =
            move |user: &&Use| pool.is_some_and(|pool| is_uncompleted(pool, user.job));
        if writer.as_ref().is_some_and(|writer| !uncompleted(&writer)) {
            *writer = None;
        }
        // The readers count against a writer only, and most often there are none.
        let readers = if access == Access::Read {
            &[]
        } else {
            readers.as_slice()
        };
        writer.iter().chain(readers).filter(uncompleted).copied()
    }

    fn prune(&mut self) {
        if let Some(pool) = self.pool.as_deref() {
            self.readers
                .retain(|reader| is_uncompleted(pool, reader.job));
        }
    }
}

#[inline]
fn is_uncompleted(pool: &PoolShared, job: JobId) -> bool {
    pool.nodes.node(job.node).holds(job.sequence)
}

//! Fences, which order jobs by the data they use, without explicit dependencies.

use std::fmt;
use std::sync::Arc;

use super::{Access, ContainerLabel, Slot};
use crate::handle::JobHandle;
use crate::table::NodeTable;

/// A fence that orders the jobs that use some data. They run in the order in which they were scheduled.
///
/// A fence is the lenient variant of a container's slot. A job that uses a container is refused if it does not depend on the
/// conflicting jobs. A job that [declares](crate::AccessList::order) a fence is [ordered after](crate::JobBuilder::after) the
/// conflicting jobs instead: a writer after all others, a reader after the last writer. The owner of a container is refused access
/// while jobs use it. For the owner of data behind a fence, the conflicting jobs are
/// [completed](crate::JobScheduler::complete_quietly) instead.
///
/// Use it for data that is not a container, such as a component of all entities of a world. A fence belongs to one scheduler.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{Access, AccessList, ContainerLabel, Fence, JobData, JobPool, JobScheduler};
///
/// /// The data of a job that writes the data behind the fence.
/// struct Turn<'a>(&'a mut Fence);
///
/// // SAFETY: it declares no container, and its view is `()`.
/// unsafe impl JobData for Turn<'_> {
///     type Held = ();
///     type Whole<'v> = ();
///
///     fn declare(&self, accesses: &mut AccessList) {
///         accesses.order(self.0, Access::Write);
///     }
///
///     fn hold(self) {}
///
///     unsafe fn whole(_: &mut ()) {}
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut weather = jobs.fence(ContainerLabel::of::<u32>().named("weather"));
/// let rain = jobs.schedule(&[], Turn(&mut weather), |()| println!("first")).unwrap();
/// let sun = jobs.schedule(&[], Turn(&mut weather), |()| println!("second")).unwrap();
/// jobs.complete(sun);
/// assert!(jobs.is_completed(rain), "the later job was ordered after it");
/// ```
pub struct Fence {
    slot: Slot,
    scheduler: u32,
}

impl Fence {
    pub(crate) fn new(label: ContainerLabel, scheduler: u32, nodes: &Arc<NodeTable>) -> Self {
        Self { slot: Slot::of_scheduler(label, scheduler, nodes), scheduler }
    }

    /// Returns the label of the data, as used in error messages.
    pub fn label(&self) -> ContainerLabel {
        self.slot.label
    }

    /// Appends the uncompleted jobs that conflict with an access by the owner to the list. They must be completed before that
    /// access. Usually there are no such jobs.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{Access, ContainerLabel, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let weather = jobs.fence(ContainerLabel::of::<u32>());
    /// let mut conflicting = Vec::new();
    /// weather.uncompleted(Access::Write, &mut conflicting);
    /// assert!(conflicting.is_empty());
    /// ```
    #[inline]
    pub fn uncompleted(&self, access: Access, list: &mut Vec<JobHandle>) {
        self.slot.conflicts(access, |user| list.push(JobHandle::new(user.job, self.scheduler)));
    }

    #[inline]
    pub(super) fn slot(&self) -> &Slot {
        &self.slot
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fence").field(&self.label()).finish()
    }
}

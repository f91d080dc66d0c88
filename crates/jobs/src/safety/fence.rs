//! What orders jobs by what they use, without a word from who schedules them.

use std::fmt;
use std::sync::Arc;

use super::{Access, ContainerLabel, Slot};
use crate::handle::JobHandle;
use crate::table::NodeTable;

/// Orders the jobs that use something, by the order in which they were scheduled.
///
/// It is the mild sister of a container's slot. A job that takes a container without depending on those before it is
/// refused; one that [declares](crate::AccessList::order) a fence is [ordered after](crate::JobBuilder::after) them: one that
/// writes after all others, one that reads after the last that writes. And where the owner of a container is
/// refused, the owner of what a fence stands for has the jobs in its way [completed](crate::JobScheduler::complete_quietly).
///
/// A fence is for data that is not a container, such as a component of all entities of a world. It belongs to one scheduler.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{Access, AccessList, ContainerLabel, Fence, JobData, JobPool, JobScheduler};
///
/// /// The data of a job that writes what the fence stands for.
/// struct Turn<'a>(&'a mut Fence);
///
/// // SAFETY: it reaches nothing.
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
/// assert!(jobs.is_completed(rain), "the later one was ordered after it");
/// ```
pub struct Fence {
    slot: Slot,
    scheduler: u32,
}

impl Fence {
    pub(crate) fn new(label: ContainerLabel, scheduler: u32, nodes: &Arc<NodeTable>) -> Self {
        Self { slot: Slot::of_scheduler(label, scheduler, nodes), scheduler }
    }

    /// Returns what it stands for, as error messages call it.
    pub fn label(&self) -> ContainerLabel {
        self.slot.label
    }

    /// Adds the uncompleted jobs to a list that would have to be completed before the owner does this with what the fence
    /// stands for. Most often there are none.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{Access, ContainerLabel, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let weather = jobs.fence(ContainerLabel::of::<u32>());
    /// let mut in_the_way = Vec::new();
    /// weather.uncompleted(Access::Write, &mut in_the_way);
    /// assert!(in_the_way.is_empty());
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

//! What a job does with its containers.
#![expect(unsafe_code, reason = "keeps pointers to slots for the time of one check")]

use std::fmt;
use std::ptr::NonNull;

use super::{Fence, Guarded, Slot};

/// What a job does with a container.
///
/// # Examples
///
/// ```
/// use ancho_jobs::Access;
///
/// assert_eq!(Access::Read.to_string(), "reads");
/// assert_eq!(Access::Concurrent.to_string(), "writes concurrently");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads it. Any number of jobs may read at a time.
    Read,
    /// Writes it, alone: nobody else reads or writes meanwhile.
    Write,
    /// Writes it from several batches at once, through the container's concurrent writer. To other
    /// jobs, and to the owner, this is like writing.
    Concurrent,
}

impl Access {
    /// Says whether two uses, one of each kind, may not happen at the same time.
    pub(crate) fn conflicts_with(self, other: Self) -> bool {
        self != Self::Read || other != Self::Read
    }
}

/// As it stands between a job's name and its container's: "job `A` reads `positions`".
impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Concurrent => "writes concurrently",
        })
    }
}

/// The containers that a job declares, and what it does with each.
///
/// Filled by [`JobData::declare`](crate::JobData::declare).
///
/// # Examples
///
/// ```
/// use ancho_jobs::{AccessList, JobCell, JobData, JobSlice};
///
/// let (values, mut sum) = (JobSlice::new(10, 1), JobCell::new(0));
/// let mut accesses = AccessList::default();
/// (values.read(), sum.write()).declare(&mut accesses);
/// assert_eq!(format!("{accesses:?}"), "[Read, Write]");
/// ```
#[derive(Default)]
pub struct AccessList {
    pub(super) declared: Vec<Declared>,
    /// Whether there is a fence among them.
    pub(crate) uses_fences: bool,
    /// Whether the job is completed before the call that schedules it returns.
    pub(crate) at_once: bool,
}

/// One declared container.
#[derive(Clone, Copy)]
pub(crate) struct Declared {
    /// The container's slot; alive while the token that declared it, or what it became, is.
    pub(crate) slot: NonNull<Slot>,
    pub(crate) access: Access,
    /// Whether the slot is that of a fence: then the job is ordered after others, and never refused.
    pub(crate) orders: bool,
}

// SAFETY: the slots are looked at by the scheduler alone, while it checks the job whose data declared them,
// on the thread where that data is. What is left in the list afterwards is never looked at: the next check
// begins with an empty one. So a list that moves to another thread, with its scheduler, is as good as empty.
unsafe impl Send for AccessList {}

impl AccessList {
    /// Declares that the job uses the container in the given way.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{Access, AccessList, ContainerLabel, Guarded};
    ///
    /// let value = Guarded::new(5, ContainerLabel::of::<i32>());
    /// let mut accesses = AccessList::default();
    /// accesses.add(&value, Access::Read);
    /// assert_eq!(format!("{accesses:?}"), "[Read]");
    /// ```
    pub fn add<T>(&mut self, container: &Guarded<T>, access: Access) {
        let slot = NonNull::from(container.slot());
        self.declared.push(Declared { slot, access, orders: false });
    }

    /// Declares that the job uses what a fence stands for in the given way, so that it is ordered after those that conflict.
    ///
    /// That the job itself uses it only once, or in ways that do not conflict, is not checked: who declares it knows.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{Access, AccessList, ContainerLabel, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let weather = jobs.fence(ContainerLabel::of::<u32>());
    /// let mut accesses = AccessList::default();
    /// accesses.order(&weather, Access::Read);
    /// assert_eq!(format!("{accesses:?}"), "[Read]");
    /// ```
    pub fn order(&mut self, fence: &Fence, access: Access) {
        self.declared.push(Declared { slot: NonNull::from(fence.slot()), access, orders: true });
        self.uses_fences = true;
    }

    /// Lets the job be completed before the call that schedules it returns.
    ///
    /// It is for data which somebody goes on with afterwards, on the thread of the owner, who is not asked again: such a one
    /// takes turns with the job. If the job fails, that is told as [`complete_quietly`](crate::JobScheduler::complete_quietly)
    /// says.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{AccessList, JobData, JobPool, JobScheduler};
    ///
    /// struct Turn;
    ///
    /// // SAFETY: it reaches nothing.
    /// unsafe impl JobData for Turn {
    ///     type Held = ();
    ///     type Whole<'v> = ();
    ///
    ///     fn declare(&self, accesses: &mut AccessList) {
    ///         accesses.complete_at_once();
    ///     }
    ///
    ///     fn hold(self) {}
    ///
    ///     unsafe fn whole(_: &mut ()) {}
    /// }
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let job = jobs.schedule(&[], Turn, |()| println!("now")).unwrap();
    /// assert!(jobs.is_completed(job));
    /// ```
    pub fn complete_at_once(&mut self) {
        self.at_once = true;
    }

    /// Says whether a container is among what is declared.
    pub(crate) fn uses_containers(&self) -> bool {
        self.declared.iter().any(|declared| !declared.orders)
    }

    pub(crate) fn declared(&self) -> &[Declared] {
        &self.declared
    }

    pub(crate) fn clear(&mut self) {
        self.declared.clear();
        self.uses_fences = false;
        self.at_once = false;
    }
}

impl fmt::Debug for AccessList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.declared.iter().map(|declared| declared.access)).finish()
    }
}

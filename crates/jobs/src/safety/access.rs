//! The declared accesses of a job to its containers.
#![expect(unsafe_code, reason = "keeps pointers to slots for the time of one check")]

use std::fmt;
use std::ptr::NonNull;

use super::{Fence, Guarded, Slot};

/// A kind of access to a container.
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
    /// The job reads the container. Any number of jobs may read it at the same time.
    Read,
    /// The job writes the container exclusively: no other job reads or writes it at the same time.
    Write,
    /// The job writes the container from several batches at once, through the container's concurrent writer. For other jobs and for
    /// the owner, this is the same as [`Write`](Self::Write).
    Concurrent,
}

impl Access {
    /// Returns whether the two accesses must not happen at the same time.
    pub(crate) fn conflicts_with(self, other: Self) -> bool {
        self != Self::Read || other != Self::Read
    }
}

/// Writes the verb between the name of a job and the name of its container: "job `A` reads `positions`".
impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Concurrent => "writes concurrently",
        })
    }
}

/// The list of the containers that a job declares, with the access to each.
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
    /// Set if the list contains a fence.
    pub(crate) uses_fences: bool,
    /// Set if the job is completed before the call that schedules it returns.
    pub(crate) at_once: bool,
    /// Set if one thread runs all batches of the job.
    pub(crate) on_one_thread: bool,
}

/// One declared container.
#[derive(Clone, Copy)]
pub(crate) struct Declared {
    /// The container's slot. It is valid while the token that declared it, or the `Held` that was created from that token, exists.
    pub(crate) slot: NonNull<Slot>,
    pub(crate) access: Access,
    /// Set if the slot is that of a fence. In this case, the job is ordered after other jobs, and never refused.
    pub(crate) orders: bool,
}

// SAFETY: only the scheduler reads the slots, on the thread of the data that declared them, while it checks the job of that data.
// Pointers that remain in the list afterwards are never read, because the next check begins with an empty list. So a list that
// moves to another thread with its scheduler is effectively empty.
unsafe impl Send for AccessList {}

impl AccessList {
    /// Declares an access of the job to the container.
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

    /// Declares an access of the job to the data behind a fence. The job is ordered after conflicting jobs.
    ///
    /// Conflicts within the job itself are not checked: the caller must ensure that the job's own accesses to the
    /// data do not conflict.
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

    /// Requests that the job be completed before the call that schedules it returns.
    ///
    /// Use it for data that the owner's thread continues to use afterwards without another check. A failure of the job is handled
    /// like a failure in [`complete_quietly`](crate::JobScheduler::complete_quietly).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{AccessList, JobData, JobPool, JobScheduler};
    ///
    /// struct Turn;
    ///
    /// // SAFETY: it declares no container, and its view is `()`.
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

    /// Requests that one thread runs all batches of the job.
    ///
    /// Use it together with [`complete_at_once`](Self::complete_at_once) if functions of the job that run on the owner's thread could
    /// use the data, for example through a thread-local variable, while other threads run batches.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use std::thread;
    ///
    /// use ancho_jobs::{AccessList, BatchInfo, JobData, JobPool, JobScheduler, ParallelJobData};
    ///
    /// struct Turn;
    ///
    /// // SAFETY: it declares no container, and its view is `()`.
    /// unsafe impl JobData for Turn {
    ///     type Held = ();
    ///     type Whole<'v> = ();
    ///
    ///     fn declare(&self, accesses: &mut AccessList) {
    ///         accesses.complete_at_once();
    ///         accesses.use_one_thread();
    ///     }
    ///
    ///     fn hold(self) {}
    ///
    ///     unsafe fn whole(_: &mut ()) {}
    /// }
    ///
    /// // SAFETY: it declares no container, and its views are `()`.
    /// unsafe impl ParallelJobData for Turn {
    ///     type Batch<'v> = ();
    ///     type Item<'b> = ();
    ///     type Open<'v> = ();
    ///
    ///     unsafe fn open(_: &()) {}
    ///
    ///     unsafe fn batch(_: &(), _: &(), _: &BatchInfo) {}
    ///
    ///     fn item(_: &mut (), _: usize) {}
    /// }
    ///
    /// static THREADS: Mutex<Vec<thread::ThreadId>> = Mutex::new(Vec::new());
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let note = |(), _| THREADS.lock().unwrap().push(thread::current().id());
    /// jobs.schedule_parallel(&[], Turn, 1000, 1, note).unwrap();
    /// let mut threads = THREADS.lock().unwrap();
    /// assert_eq!(threads.len(), 1000);
    /// threads.dedup();
    /// assert_eq!(threads.len(), 1);
    /// ```
    pub fn use_one_thread(&mut self) {
        self.on_one_thread = true;
    }

    /// Returns the number of declared containers. Fences are not counted.
    pub(crate) fn container_count(&self) -> usize {
        self.declared.iter().filter(|declared| !declared.orders).count()
    }

    pub(crate) fn declared(&self) -> &[Declared] {
        &self.declared
    }

    pub(crate) fn clear(&mut self) {
        self.declared.clear();
        self.uses_fences = false;
        self.at_once = false;
        self.on_one_thread = false;
    }
}

impl fmt::Debug for AccessList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.declared.iter().map(|declared| declared.access)).finish()
    }
}

//! Handles of scheduled jobs.

use std::fmt;

/// A scheduled job that can be depended on or waited for.
///
/// A handle is small, `Copy`, and never dangling: the handle of a completed job stays valid, and is complete.
/// [`JobHandle::COMPLETED`], the default, is such a handle. A handle can be dropped at any time. It belongs to the scheduler that
/// returned it, and other schedulers refuse it.
///
/// A panic of the job is reported once. If [`try_complete`](crate::JobScheduler::try_complete) has returned it, or other code has
/// [taken](crate::JobScheduler::take_failures) and reported it, later calls with the handle return `Ok`.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobHandle, JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut last = JobHandle::COMPLETED;
/// for _ in 0..3 {
///     last = jobs.schedule(&[last], (), |()| {}).unwrap();
/// }
/// jobs.complete(last);
/// assert!(jobs.is_completed(last));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct JobHandle {
    sequence: u64,
    node: u32,
    /// The scheduler that returned the handle. Zero for the handle of no job.
    pub(crate) scheduler: u32,
}

impl JobHandle {
    /// The handle of no job, which is always complete.
    pub const COMPLETED: Self = Self { sequence: 0, node: 0, scheduler: 0 };

    pub(crate) fn new(JobId { sequence, node }: JobId, scheduler: u32) -> Self {
        Self { sequence, node, scheduler }
    }

    #[inline]
    pub(crate) fn job(self) -> JobId {
        JobId { sequence: self.sequence, node: self.node }
    }
}

impl fmt::Debug for JobHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scheduler == 0 {
            return f.write_str("JobHandle(completed)");
        }
        write!(f, "JobHandle(job {} of scheduler {})", self.sequence, self.scheduler)
    }
}

/// The identity of a job: the node it occupies, and the sequence number that makes it unique.
///
/// The sequence numbers of a node only increase, across all schedulers that use the node, and do not wrap. So a job is uncompleted
/// exactly as long as its node has its number. Number zero belongs to no job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct JobId {
    /// The sequence number, which increases with every job of a scheduler. It is higher than the numbers of the job's dependencies.
    pub(crate) sequence: u64,
    /// The index of the node in the pool's table.
    pub(crate) node: u32,
}

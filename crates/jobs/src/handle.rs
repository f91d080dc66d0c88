//! What a caller holds of a scheduled job.

use std::fmt;

/// A scheduled job: something to depend on, to wait for, and to forget.
///
/// Small, `Copy`, and never dangling: the handle of a job that was completed is simply complete, for
/// ever. [`JobHandle::COMPLETED`], the default, is one of those. A handle belongs to the scheduler
/// that gave it; others refuse it.
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
    /// The scheduler that gave the handle; zero for the handle of no job.
    pub(crate) scheduler: u32,
}

impl JobHandle {
    /// The handle of no job, always complete.
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

/// Which job: the node it occupies, and the sequence number that makes it unique.
///
/// A node's sequence numbers only rise, over all the schedulers that ever use it, and do not wrap.
/// So the job is uncompleted exactly as long as its node shows its number. Number zero is no job's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct JobId {
    /// Rises with every job of a scheduler; a job's number is above those of all it depends on.
    pub(crate) sequence: u64,
    /// Which node of the pool's table.
    pub(crate) node: u32,
}

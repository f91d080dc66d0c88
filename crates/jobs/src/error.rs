//! Errors of scheduling a job, of accessing a container, and of building a pool.

use std::fmt;
use std::io;

use crate::failure::JobFailed;
use crate::safety::{Access, ContainerLabel};

/// The reason why a job was refused. Nothing was scheduled, and nothing changed.
///
/// The message begins with a code, names the job, the container and the other job, and suggests a remedy. The `errors` folder of
/// the repository has a page for each code.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobCell, JobPool, JobScheduler, ScheduleError};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut score = JobCell::new(0);
/// let add = jobs.named("Add").schedule(&[], score.write(), |score| *score += 1).unwrap();
/// let refused = jobs.named("Show").schedule(&[], score.read(), |_| {}).unwrap_err();
/// assert!(matches!(refused, ScheduleError::Conflict { job: "Show", other: "Add", .. }));
/// // The remedy is a dependency, which orders the two jobs.
/// let show = jobs.named("Show").schedule(&[add], score.read(), |score| assert_eq!(*score, 1));
/// jobs.complete(show.unwrap());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A0001: another job uses the container, and the two jobs are not ordered.
    Conflict {
        /// The container that both jobs use.
        container: ContainerLabel,
        /// The job that was refused.
        job: &'static str,
        /// The access that the job requested.
        access: Access,
        /// The other job, which was scheduled earlier and is not completed.
        other: &'static str,
        /// The access of the other job.
        other_access: Access,
    },
    /// A0002: the job takes the same container twice, and writes it at least once.
    Aliased {
        /// The container that the job takes twice.
        container: ContainerLabel,
        /// The job that was refused.
        job: &'static str,
    },
    /// A0004: a dependency is a job of another scheduler.
    ForeignHandle {
        /// The job that was refused.
        job: &'static str,
    },
    /// A0005: the container is in use by a job of another scheduler.
    ForeignContainer {
        /// The container that the other scheduler's job uses.
        container: ContainerLabel,
        /// The job that was refused.
        job: &'static str,
        /// The job of the other scheduler.
        other: &'static str,
    },
    /// A0006: the call came from inside a job.
    InsideJob {
        /// The job that made the call.
        inside: &'static str,
        /// The job that was refused.
        job: &'static str,
    },
    /// A0007: the batch size is zero.
    ZeroBatch {
        /// The job that was refused.
        job: &'static str,
    },
    /// A0008: there are more uncompleted jobs than the pool has room for. Each scheduler takes room in blocks of 64 jobs.
    TooManyJobs {
        /// The job that was refused.
        job: &'static str,
        /// The maximum number of uncompleted jobs.
        limit: usize,
    },
    /// A0009: the job has more batches than can be numbered.
    TooManyBatches {
        /// The job that was refused.
        job: &'static str,
        /// The number of indices.
        count: usize,
        /// The number of indices per batch.
        batch: usize,
    },
    /// A0010: the container has fewer elements than the parallel job has indices.
    TooShort {
        /// The container with too few elements.
        container: ContainerLabel,
        /// The job that was refused.
        job: &'static str,
        /// The number of elements in the container.
        length: usize,
        /// The number of indices of the job.
        count: usize,
    },
    /// A0013: the memory of the container was rewound.
    Expired {
        /// The container whose memory was rewound.
        container: ContainerLabel,
        /// The job that was refused.
        job: &'static str,
        /// The name of the memory that was rewound.
        memory: &'static str,
    },
    /// A0074: the job uses data whose jobs are ordered by another scheduler.
    ForeignFence {
        /// The job that was refused.
        job: &'static str,
        /// The label of the fence.
        what: ContainerLabel,
    },
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Conflict { container, job, access, other, other_access } => write!(
                f,
                "A0001: job `{job}` {access} {container}, which job `{other}` {other_access} and which was not \
                 completed; pass the handle of `{other}` as a dependency, complete it first, for example with `wait`, \
                 or use `in_turn`, which waits for earlier users"
            ),
            Self::Aliased { container, job } => write!(
                f,
                "A0002: job `{job}` uses {container} twice and writes it; use it once, or only read it"
            ),
            Self::ForeignHandle { job } => write!(
                f,
                "A0004: job `{job}` depends on a job of another scheduler; complete that job there, \
                 or schedule both on one scheduler"
            ),
            Self::ForeignContainer { container, job, other } => write!(
                f,
                "A0005: job `{job}` uses {container}, which job `{other}` of another scheduler also uses; complete \
                 `{other}` there first"
            ),
            Self::InsideJob { inside, job } => write!(
                f,
                "A0006: job `{inside}` tried to schedule job `{job}`; jobs are scheduled and completed by \
                 the scheduler's owner, outside of jobs"
            ),
            Self::ZeroBatch { job } => write!(
                f,
                "A0007: the batch size of job `{job}` is zero; pass the number of indices per batch, 1 or more"
            ),
            Self::TooManyJobs { job, limit } => write!(
                f,
                "A0008: job `{job}` cannot be scheduled: the pool is full, with {limit} uncompleted jobs; complete \
                 some, or raise `JobPoolBuilder::max_jobs`"
            ),
            Self::TooManyBatches { job, count, batch } => write!(
                f,
                "A0009: job `{job}` has {count} indices in batches of {batch}, more than 4294967295 \
                 batches; pass a larger batch size"
            ),
            Self::TooShort { container, job, length, count } => write!(
                f,
                "A0010: job `{job}` has {count} indices, but {container} has {length} elements; pass a \
                 smaller count"
            ),
            Self::Expired { container, job, memory } => write!(
                f,
                "A0013: job `{job}` takes {container}, which can no longer be used, because {memory} has been rewound; \
                 make a new one"
            ),
            Self::ForeignFence { job, what } => write!(
                f,
                "A0074: job `{job}` uses {what}, which belongs to another scheduler; schedule the job there, for data \
                 of a world on the world's own scheduler"
            ),
        }
    }
}

impl std::error::Error for ScheduleError {}

/// The reason why a container could not be accessed by its owner.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{Access, AccessError, JobCell, JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut score = JobCell::new(0);
/// let add = jobs.named("Add").schedule(&[], score.write(), |score| *score += 1).unwrap();
/// let refused = score.get().unwrap_err();
/// assert!(matches!(refused, AccessError::InUse { job: "Add", job_access: Access::Write, .. }));
/// jobs.complete(add);
/// assert_eq!(score.get(), Ok(&1));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccessError {
    /// A0003: a job that was not completed uses the container.
    InUse {
        /// The container that the job uses.
        container: ContainerLabel,
        /// The access that the owner requested.
        access: Access,
        /// The uncompleted job that uses the container.
        job: &'static str,
        /// The access of the job that uses the container.
        job_access: Access,
    },
    /// A0013: the memory of the container was rewound.
    Expired {
        /// The container whose memory was rewound.
        container: ContainerLabel,
        /// The name of the memory that was rewound.
        memory: &'static str,
    },
    /// A0169: a job that writes the container failed.
    JobFailed {
        /// The container that the job writes.
        container: ContainerLabel,
        /// The failure of the job.
        failed: JobFailed,
    },
}

impl AccessError {
    /// Returns a short form of the error, as used in the `Debug` output of a container.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut score = JobCell::new(0);
    /// let add = jobs.named("Add").schedule(&[], score.write(), |score| *score += 1).unwrap();
    /// assert_eq!(score.get().unwrap_err().summary().to_string(), "in use by job `Add`");
    /// assert_eq!(format!("{score:?}"), "JobCell(in use by job `Add`)");
    /// # jobs.complete(add);
    /// ```
    pub fn summary(&self) -> impl fmt::Display {
        fmt::from_fn(move |f| match self {
            Self::InUse { job, .. } => write!(f, "in use by job `{job}`"),
            Self::Expired { memory, .. } => write!(f, "expired with {memory}"),
            Self::JobFailed { failed, .. } => {
                write!(f, "incomplete, because job `{}` failed", failed.job)
            }
        })
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { container, access, job, job_access } => {
                let uses = match job_access {
                    Access::Read => "reads it",
                    Access::Write => "writes it",
                    Access::Concurrent => "writes it concurrently",
                };
                let (wanted, wait) = match access {
                    Access::Read => ("read", "wait"),
                    Access::Write | Access::Concurrent => ("written", "wait_mut"),
                };
                write!(
                    f,
                    "A0003: {container} cannot be {wanted} now, because job `{job}` {uses} and was not \
                     completed; complete `{job}` first, by its handle or, for containers, by `{wait}`"
                )
            }
            Self::Expired { container, memory } => write!(
                f,
                "A0013: {container} can no longer be used, because {memory} has been rewound; make a new one"
            ),
            Self::JobFailed { container, failed } => write!(
                f,
                "A0169: {container} may be incomplete, because a job that uses it failed: {failed}; call `get` to \
                 use it as it is"
            ),
        }
    }
}

impl std::error::Error for AccessError {}

/// The maximum number of workers of a pool.
pub(crate) const MAX_WORKERS: usize = 1024;

/// The reason why a pool could not be created. Either the system refused a thread (code A0012), or more than 1,024 workers were
/// requested (code A0147).
///
/// The workers that were already running have ended. If the pool was built inside a job, they end on their own,
/// possibly later.
///
/// # Examples
///
/// ```
/// use ancho_jobs::JobPool;
///
/// // No system has room for such a stack.
/// let refused = JobPool::builder().workers(1).stack_size(1 << 60).build().unwrap_err();
/// assert!(refused.to_string().starts_with("A0012: the system refused worker thread 1 of 1 "));
/// ```
pub struct PoolError {
    pub(crate) wanted: usize,
    /// The number of threads that were created before the system refused one, and the error of the system. `None` if the system
    /// refused none.
    pub(crate) refused: Option<(usize, io::Error)>,
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wanted, refused } = self;
        match refused {
            Some((spawned, source)) => write!(
                f,
                "A0012: the system refused worker thread {} of {wanted} ({source}); ask for fewer workers, or a \
                 smaller stack",
                spawned + 1
            ),
            None => write!(
                f,
                "A0147: a pool cannot have {wanted} workers; the maximum is {MAX_WORKERS}"
            ),
        }
    }
}

impl std::error::Error for PoolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.refused.as_ref().map(|(_, source)| source as _)
    }
}

/// An error, together with the container that the failed call would have consumed.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobCell, JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut total = JobCell::new(0);
/// let job = jobs.schedule(&[], total.write(), |total| *total = 7).unwrap();
/// let kept = total.into_inner().unwrap_err();
/// assert!(kept.to_string().starts_with("A0003: "));
/// jobs.complete(job);
/// assert_eq!(kept.container.into_inner().unwrap(), 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kept<C, E> {
    /// The container, unchanged.
    pub container: C,
    /// The reason why the container was not consumed.
    pub error: E,
}

impl<C, E> Kept<C, E> {
    /// Converts the container. Use it for containers that wrap other containers.
    ///
    /// # Examples
    ///
    /// ```
    /// let kept = ancho_jobs::Kept { container: 5, error: "in use" };
    /// assert_eq!(kept.map(Some).container, Some(5));
    /// ```
    pub fn map<D>(self, convert: impl FnOnce(C) -> D) -> Kept<D, E> {
        Kept { container: convert(self.container), error: self.error }
    }
}

impl<C, E: fmt::Display> fmt::Display for Kept<C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<C, E: fmt::Debug> fmt::Debug for Kept<C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<C, E: std::error::Error> std::error::Error for Kept<C, E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// Implements `Debug` as `Display`, so that `unwrap` shows the message with its code and remedy.
macro_rules! debug_as_display {
    ($($error:ident),+) => {$(
        impl fmt::Debug for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )+};
}

debug_as_display!(ScheduleError, AccessError, PoolError);

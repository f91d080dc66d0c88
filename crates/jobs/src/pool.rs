//! The worker threads that schedulers share.

use std::fmt;
use std::num::NonZero;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use crate::context::current_job;
use crate::deque::Deque;
use crate::error::{MAX_WORKERS, PoolError};
use crate::injector::Injector;
use crate::parker::Parker;
use crate::participant;
use crate::primitive::{AtomicU32, Ordering};
use crate::profile::{JobEvent, Profiler};
use crate::sleep::Sleep;
use crate::table::NodeTable;

/// The capacity of a worker's own queue, in tickets. Further tickets go to the shared queue.
const LOCAL_TICKETS: usize = 1024;

/// The worker threads that run jobs. Cloning is cheap, and all clones refer to the same pool.
///
/// Jobs are scheduled through a [`JobScheduler`](crate::JobScheduler) of the pool. A pool can have many schedulers, on many
/// threads. The worker threads end when the last clone of the pool and its last scheduler are dropped. Dropping a scheduler
/// completes its jobs, so no job is lost.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let pool = JobPool::new();
/// let jobs = JobScheduler::new(&pool);
/// jobs.complete(jobs.schedule(&[], (), |()| {}).unwrap());
/// ```
#[derive(Clone)]
#[doc(alias = "TaskPool")]
#[doc(alias = "ComputeTaskPool")]
#[doc(alias = "ThreadPool")]
pub struct JobPool {
    threads: Arc<PoolThreads>,
}

/// Settings for a new pool. See [`JobPool::builder`].
///
/// # Examples
///
/// ```
/// use ancho_jobs::JobPool;
///
/// let builder = JobPool::builder().workers(2);
/// let pools = [builder.clone().build().unwrap(), builder.spin(0).build().unwrap()];
/// assert!(pools.iter().all(|pool| pool.workers() == 2));
/// ```
#[derive(Clone, Debug)]
#[must_use = "call `build` to make the pool"]
pub struct JobPoolBuilder {
    workers: Option<usize>,
    spin: u32,
    max_jobs: usize,
    stack_size: Option<usize>,
}

/// The threads, which end when the last handle on the pool is dropped.
struct PoolThreads {
    shared: Arc<PoolShared>,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

/// State shared by the threads. Containers that jobs have used keep the nodes alive too.
pub(crate) struct PoolShared {
    pub(crate) nodes: Arc<NodeTable>,
    pub(crate) injector: Injector,
    /// The workers' own queues.
    pub(crate) workers: Box<[Deque]>,
    pub(crate) sleep: Sleep,
    pub(crate) spin: u32,
    pub(crate) shutdown: AtomicU32,
    /// One if a job has ever panicked. Until then, the search for failures is skipped.
    pub(crate) panics: AtomicU32,
    pub(crate) profiler: Profiler,
    owners: Mutex<Owners>,
}

/// The parkers of the schedulers' owners. A parker that a scheduler has returned is reused by the next scheduler. A late wake-up
/// for the previous owner only causes one extra check.
#[derive(Default)]
struct Owners {
    parkers: Vec<Arc<Parker>>,
    free: Vec<u32>,
}

impl JobPool {
    /// Creates a pool with one worker fewer than there are cores. The remaining core is for the owner.
    ///
    /// # Panics
    ///
    /// Panics if the system refuses a thread. [`builder`](Self::builder) returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::JobPool;
    ///
    /// let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    /// assert_eq!(JobPool::new().workers(), cores - 1);
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        match Self::builder().build() {
            Ok(pool) => pool,
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the process-wide pool. The first call creates it [with default settings](Self::new). It is never dropped.
    ///
    /// Libraries without their own pool share it, so that there are no more threads than cores.
    ///
    /// # Panics
    ///
    /// Panics like [`new`](Self::new) if the shared pool has to be created. The next call tries again.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::shared());
    /// assert_eq!(jobs.run((), |()| 1 + 1), Ok(2));
    /// ```
    #[must_use = "a handle does nothing by itself"]
    #[track_caller]
    pub fn shared() -> Self {
        static SHARED: OnceLock<JobPool> = OnceLock::new();
        static CREATION: Mutex<()> = Mutex::new(());
        if let Some(pool) = SHARED.get() {
            return pool.clone();
        }
        // Not in the closure of `get_or_init`, which would hide the caller's location from the panic.
        let creation = lock(&CREATION);
        let pool = match SHARED.get() {
            Some(pool) => pool.clone(),
            None => Self::new(),
        };
        SHARED.get_or_init(|| pool.clone());
        drop(creation);
        pool
    }

    /// Returns a builder with settings for a new pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::JobPool;
    ///
    /// let pool = JobPool::builder().workers(3).spin(500).build().unwrap();
    /// assert_eq!(pool.workers(), 3);
    /// ```
    pub fn builder() -> JobPoolBuilder {
        JobPoolBuilder { workers: None, spin: 2000, max_jobs: 1 << 20, stack_size: None }
    }

    /// Returns the number of worker threads.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = ancho_jobs::JobPool::builder().workers(3).build().unwrap();
    /// assert_eq!(pool.workers(), 3);
    /// ```
    pub fn workers(&self) -> usize {
        self.inner().workers.len()
    }

    /// Enables or disables profiling, which records the thread and the times of each job. It is disabled by default, and has no
    /// cost when disabled. On `wasm32-unknown-unknown`, which has no clock, it stays disabled.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let pool = JobPool::new();
    /// let jobs = JobScheduler::new(&pool);
    /// pool.set_profiling(true);
    /// jobs.complete(jobs.named("Steer").schedule(&[], (), |()| {}).unwrap());
    /// pool.set_profiling(false);
    /// assert_eq!(pool.take_events()[0].job, "Steer");
    /// ```
    pub fn set_profiling(&self, enabled: bool) {
        self.inner().profiler.enable(enabled);
    }

    /// Takes the events recorded since the last call, ordered by start time.
    ///
    /// Each thread keeps its latest 16,384 events. See [`write_chrome_trace`](crate::write_chrome_trace).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let pool = JobPool::new();
    /// let jobs = JobScheduler::new(&pool);
    /// pool.set_profiling(true);
    /// jobs.complete(jobs.schedule(&[], (), |()| {}).unwrap());
    /// assert_eq!(pool.take_events().len(), 1);
    /// assert!(pool.take_events().is_empty(), "the first call took them");
    /// ```
    pub fn take_events(&self) -> Vec<JobEvent> {
        self.inner().profiler.take()
    }

    pub(crate) fn inner(&self) -> &Arc<PoolShared> {
        &self.threads.shared
    }
}

impl Default for JobPool {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for JobPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobPool").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

/// True if the platform has threads.
const HAS_THREADS: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

impl JobPoolBuilder {
    /// Sets the number of worker threads, which is at most 1,024. The default is one fewer than there are cores. With zero workers,
    /// all jobs run on the owners' threads, with the same results. On `wasm32-unknown-unknown`, which has no threads, a pool never
    /// has workers.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, thread_index};
    ///
    /// let jobs = JobScheduler::new(&JobPool::builder().workers(0).build().unwrap());
    /// let job = jobs.schedule(&[], (), |()| assert_eq!(thread_index(), Some(0))).unwrap();
    /// jobs.complete(job);
    /// ```
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets the number of rounds in which an idle worker looks for work before it sleeps. The default is 2,000, about ten
    /// microseconds. More rounds reduce the latency of the next parallel job, and use more of an idle core. With zero rounds, a
    /// worker sleeps immediately. An owner that waits for a job spins for the same number of rounds.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// // For a program that is idle most of the time.
    /// let jobs = JobScheduler::new(&JobPool::builder().spin(0).build().unwrap());
    /// let job = jobs.schedule(&[], (), |()| {}).unwrap();
    /// jobs.complete(job);
    /// assert!(jobs.is_completed(job));
    /// ```
    pub fn spin(mut self, rounds: u32) -> Self {
        self.spin = rounds;
        self
    }

    /// Sets the maximum number of uncompleted jobs of all schedulers together. The default is 1,048,576, and the upper limit is
    /// 268,435,456. Jobs are stored in blocks of 64, and a scheduler keeps its blocks until it is dropped. So allow at least 64
    /// jobs for each scheduler. Memory is allocated as needed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, ScheduleError};
    ///
    /// let jobs = JobScheduler::new(&JobPool::builder().max_jobs(64).build().unwrap());
    /// for _ in 0..64 {
    ///     jobs.schedule(&[], (), |()| {}).unwrap();
    /// }
    /// let refused = jobs.schedule(&[], (), |()| {}).unwrap_err();
    /// assert!(matches!(refused, ScheduleError::TooManyJobs { limit: 64, .. }));
    /// ```
    pub fn max_jobs(mut self, jobs: usize) -> Self {
        self.max_jobs = jobs.min(1 << 28);
        self
    }

    /// Sets the stack size of the worker threads, in bytes. The default is that of the standard library.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::JobPool;
    ///
    /// // For jobs with deep recursion.
    /// let pool = JobPool::builder().workers(1).stack_size(8 * 1024 * 1024).build().unwrap();
    /// assert_eq!(pool.workers(), 1);
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Builds the pool.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses a thread, or if more than 1,024 workers were requested. Threads that were already
    /// created have ended when this method returns. Inside a job, they end on their own, possibly later.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::JobPool;
    ///
    /// let pool = JobPool::builder().workers(2).build()?;
    /// assert_eq!(pool.workers(), 2);
    /// # Ok::<(), ancho_jobs::PoolError>(())
    /// ```
    pub fn build(self) -> Result<JobPool, PoolError> {
        let cores = || thread::available_parallelism().map_or(1, NonZero::get);
        let wanted = self.workers.unwrap_or_else(|| (cores() - 1).min(MAX_WORKERS));
        if wanted > MAX_WORKERS {
            return Err(PoolError { wanted, refused: None });
        }
        let workers = if HAS_THREADS { wanted } else { 0 };
        let shared = Arc::new(PoolShared {
            nodes: Arc::new(NodeTable::new(self.max_jobs)),
            injector: Injector::new(),
            workers: (0..workers).map(|_| Deque::new(LOCAL_TICKETS)).collect(),
            sleep: Sleep::new(workers),
            spin: self.spin,
            shutdown: AtomicU32::new(0),
            panics: AtomicU32::new(0),
            profiler: Profiler::new(workers + 1),
            owners: Mutex::default(),
        });
        let threads = PoolThreads { shared, handles: Mutex::default() };
        for worker in 0..workers {
            let shared = Arc::clone(&threads.shared);
            let mut builder = thread::Builder::new().name(format!("ancho worker {}", worker + 1));
            if let Some(bytes) = self.stack_size {
                builder = builder.stack_size(bytes);
            }
            match builder.spawn(move || participant::work(&shared, worker)) {
                Ok(handle) => lock(&threads.handles).push(handle),
                // Dropping `threads` ends the threads that are running.
                Err(source) => {
                    return Err(PoolError { wanted: workers, refused: Some((worker, source)) });
                }
            }
        }
        Ok(JobPool { threads: Arc::new(threads) })
    }
}

impl Drop for PoolThreads {
    fn drop(&mut self) {
        // Release pairs with the workers' acquire. No work is left, since every scheduler completes its jobs before
        // it releases the pool.
        self.shared.shutdown.store(1, Ordering::Release);
        self.shared.sleep.wake_all();
        // A job may own the last handle to a pool. It cannot wait for its own worker. Nor can it wait for a worker whose job waits
        // for it, for example if two pools are each dropped by a job of the other. Workers end on their own after their jobs.
        if current_job().is_some() {
            return;
        }
        let here = thread::current().id();
        for handle in lock(&self.handles).drain(..) {
            // A worker may have the last handle in a thread-local variable.
            if handle.thread().id() != here {
                // Workers do not panic, because panics of jobs are caught. If a worker did panic, the panic was reported then.
                let _ = handle.join();
            }
        }
    }
}

impl PoolShared {
    /// Returns whether there may be a ticket in any queue.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.injector.is_empty() || self.workers.iter().any(|local| !local.is_empty())
    }

    /// Passes tickets to the workers, and wakes one if none is searching.
    pub(crate) fn inject(&self, tickets: impl ExactSizeIterator<Item = u32>, urgent: bool) {
        self.injector.push(tickets, urgent, |ticket| self.is_open(ticket));
        self.sleep.notify();
    }

    /// Removes the urgent tickets that are stale.
    pub(crate) fn take_back_tickets(&self) {
        if !self.injector.is_empty() {
            self.injector.take_back(|ticket| self.is_open(ticket));
        }
    }

    fn is_open(&self, ticket: u32) -> bool {
        self.nodes.node(ticket).gate.is_open()
    }

    /// Assigns a parker to a scheduler's owner.
    pub(crate) fn admit_owner(&self) -> (u32, Arc<Parker>) {
        let mut owners = lock(&self.owners);
        let place = owners.free.pop().unwrap_or_else(|| {
            owners.parkers.push(Arc::new(Parker::new()));
            owners.parkers.len() as u32 - 1
        });
        (place, Arc::clone(&owners.parkers[place as usize]))
    }

    /// Returns the parker of a scheduler's owner to the pool, for the next scheduler.
    pub(crate) fn dismiss_owner(&self, place: u32) {
        lock(&self.owners).free.push(place);
    }

    /// Wakes the owner that sleeps on the parker.
    #[cold]
    pub(crate) fn wake_owner(&self, place: u32) {
        let parker = Arc::clone(&lock(&self.owners).parkers[place as usize]);
        parker.unpark();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

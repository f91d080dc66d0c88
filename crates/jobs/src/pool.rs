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
use crate::primitive::{AtomicU32, Ordering};
use crate::profile::{JobEvent, Profiler};
use crate::sleep::Sleep;
use crate::table::NodeTable;
use crate::worker;

/// How many tickets a worker's own queue holds; what does not fit goes to the common one.
const LOCAL_TICKETS: usize = 1024;

/// The worker threads that run jobs. Cheap to clone; all clones are one pool.
///
/// Jobs are scheduled through a [`JobScheduler`](crate::JobScheduler) of the pool, of which there may
/// be many, on many threads. The threads end when the last clone of the pool and the last scheduler
/// are gone; a scheduler completes its jobs before it goes, so none is lost.
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
pub struct JobPool {
    threads: Arc<PoolThreads>,
}

/// How a pool is to be made. See [`JobPool::builder`].
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

/// The threads, ended with the last handle on the pool.
struct PoolThreads {
    shared: Arc<PoolShared>,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

/// What the threads share. Containers that jobs have used hold on to the nodes too.
pub(crate) struct PoolShared {
    pub(crate) nodes: Arc<NodeTable>,
    pub(crate) injector: Injector,
    /// The workers' own queues.
    pub(crate) workers: Box<[Deque]>,
    pub(crate) sleep: Sleep,
    pub(crate) spin: u32,
    pub(crate) shutdown: AtomicU32,
    /// One when a job has ever panicked: as long as none has, nobody looks for failures.
    pub(crate) panics: AtomicU32,
    pub(crate) profiler: Profiler,
    owners: Mutex<Owners>,
}

/// Where the schedulers' owners sleep. A place that a scheduler gave back serves the next one; a late
/// wake-up that finds another owner there only makes that one look around once more.
#[derive(Default)]
struct Owners {
    parkers: Vec<Arc<Parker>>,
    free: Vec<u32>,
}

impl JobPool {
    /// Makes a pool with a worker for each core but one, which is the owner's.
    ///
    /// # Panics
    ///
    /// Panics if the system refuses a thread; [`builder`](Self::builder) returns an error instead.
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

    /// Returns the pool of the process, which is made [as by default](Self::new) when it is first asked for, and stays.
    ///
    /// Whoever has no pool of its own shares it, so that there are not more threads than cores.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new), if there is no shared pool yet. The next call tries again.
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
    pub fn shared() -> Self {
        static SHARED: OnceLock<JobPool> = OnceLock::new();
        SHARED.get_or_init(Self::new).clone()
    }

    /// Returns a builder, to choose how the pool is made.
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

    /// Switches on or off the recording of who ran what, and when. It is off at first, and costs
    /// nothing then. On `wasm32-unknown-unknown`, which has no clock, it stays off.
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

    /// Takes the events recorded since the last call, in the order they began.
    ///
    /// Each thread keeps its latest 16,384. See [`write_chrome_trace`](crate::write_chrome_trace).
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
    /// assert!(pool.take_events().is_empty(), "they were taken");
    /// ```
    pub fn take_events(&self) -> Vec<JobEvent> {
        self.inner().profiler.take()
    }

    pub(crate) fn inner(&self) -> &Arc<PoolShared> {
        &self.threads.shared
    }
}

impl Default for JobPool {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for JobPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobPool").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

/// Whether the platform has threads.
const HAS_THREADS: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

impl JobPoolBuilder {
    /// Sets the number of worker threads, 1,024 at most. With none, everything runs on the owners' threads, with
    /// the same results. By default there is one for each core but one. On `wasm32-unknown-unknown`, which has
    /// no threads, a pool has no workers, whatever the number set here.
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

    /// Sets how many rounds an idle worker looks for work before it sleeps: 2,000 by default, some ten
    /// microseconds. More shortens the way to the next parallel job and burns more of an idle core;
    /// zero sleeps at once. An owner that waits for a job is as patient.
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

    /// Sets how many jobs of all schedulers together may be uncompleted at a time: 1,048,576 by default,
    /// 268,435,456 at most. There is room for 64 jobs at a time, and a scheduler keeps the room that it ever
    /// needed; so allow 64 for each scheduler at least. Memory for jobs is taken as needed, not ahead.
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

    /// Sets the stack size of the worker threads, in bytes. By default it is the standard library's.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::JobPool;
    ///
    /// // For jobs that call themselves very often.
    /// let pool = JobPool::builder().workers(1).stack_size(8 * 1024 * 1024).build().unwrap();
    /// assert_eq!(pool.workers(), 1);
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Makes the pool.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses a thread, or if there would be more than 1,024 workers. The threads made
    /// before have ended by then; inside a job they end on their own, perhaps later.
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
            match builder.spawn(move || worker::work(&shared, worker)) {
                Ok(handle) => lock(&threads.handles).push(handle),
                // Dropping `threads` ends those that run.
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
        // Release pairs with the workers' acquire; there is no work left, since every scheduler
        // completes its jobs before it lets go of the pool.
        self.shared.shutdown.store(1, Ordering::Release);
        self.shared.sleep.wake_all();
        // A job may own the last handle on a pool. It cannot wait for its own worker, nor for one whose job
        // waits for it: two pools, each of them dropped by a job of the other. Workers end on their own
        // after their jobs.
        if current_job().is_some() {
            return;
        }
        let here = thread::current().id();
        for handle in lock(&self.handles).drain(..) {
            // A worker may have the last handle in a thread local.
            if handle.thread().id() != here {
                // A worker does not panic: jobs are caught. If it did, the panic was reported then.
                let _ = handle.join();
            }
        }
    }
}

impl PoolShared {
    /// Says whether there may be a ticket somewhere.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.injector.is_empty() || self.workers.iter().any(|local| !local.is_empty())
    }

    /// Hands tickets to the workers, and wakes one if none is looking.
    pub(crate) fn inject(&self, tickets: impl ExactSizeIterator<Item = u32>, urgent: bool) {
        self.injector.push(tickets, urgent, |ticket| self.is_open(ticket));
        self.sleep.notify();
    }

    /// Takes back the urgent tickets that went stale.
    pub(crate) fn take_back_tickets(&self) {
        if !self.injector.is_empty() {
            self.injector.take_back(|ticket| self.is_open(ticket));
        }
    }

    fn is_open(&self, ticket: u32) -> bool {
        self.nodes.node(ticket).gate.is_open()
    }

    /// Gives a scheduler's owner a place to sleep.
    pub(crate) fn admit_owner(&self) -> (u32, Arc<Parker>) {
        let mut owners = lock(&self.owners);
        let place = owners.free.pop().unwrap_or_else(|| {
            owners.parkers.push(Arc::new(Parker::new()));
            owners.parkers.len() as u32 - 1
        });
        (place, Arc::clone(&owners.parkers[place as usize]))
    }

    /// Takes the place back.
    pub(crate) fn dismiss_owner(&self, place: u32) {
        lock(&self.owners).free.push(place);
    }

    /// Wakes the owner that sleeps in the place.
    #[cold]
    pub(crate) fn wake_owner(&self, place: u32) {
        let parker = Arc::clone(&lock(&self.owners).parkers[place as usize]);
        parker.unpark();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The owner's side: scheduling, flushing, completing.
//!
//! All of it is plain single-threaded code on the owner's thread. What other threads see of it is
//! what [`publish`](JobScheduler::publish_held) hands over.
#![expect(unsafe_code, reason = "keeps the owner's notes in nodes, and places jobs in them")]

mod builder;
mod complete;
mod ending;
mod erase;
mod finish;
mod graph;
mod index_list;
mod retire;
mod schedule;
mod submit;
mod untold;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub use builder::JobBuilder;
pub use index_list::IndexList;

use crate::context::{current_job, is_inside_job_of};
use crate::handle::JobId;
use crate::mode::{ExecutionMode, Random};
use crate::node::Node;
use crate::parker::Parker;
use crate::participant::Participant;
use crate::pool::{JobPool, PoolShared};
use crate::ranges::Ranges;
use crate::safety::{AccessList, ContainerLabel, Fence};
use crate::table::{BLOCK, NodeTable};
use untold::Untold;

/// Schedules jobs on a pool, waits for them, and checks that they do not conflict.
///
/// A scheduler belongs to one owner: it is `Send` and not `Sync`, so that jobs are scheduled and
/// completed on one thread at a time, and never from inside a job. A pool may have many schedulers; a
/// job can depend only on jobs of its own.
///
/// A job does not start when it is scheduled, but at the next [`flush`](Self::flush), or when it, or a
/// job that depends on it, is [completed](Self::complete). So the workers are woken once for many jobs,
/// and a job that is completed at once runs where it is, without waking anyone.
///
/// Dropping a scheduler completes its jobs. Only one that is dropped by a job of its own, perhaps with jobs of
/// other schedulers in between, or by a job that its own jobs wait for, cannot wait for them: they run on the
/// workers, but are never completed, so that their containers stay in use.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobCell, JobPool, JobScheduler, JobSlice};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut values = JobSlice::from(vec![1_u32; 1000]);
/// let mut sum = JobCell::new(0);
///
/// let double = jobs.schedule_for_each(&[], values.write(), 1000, 64, |value, _| *value *= 2).unwrap();
/// let add_up = jobs
///     .schedule(&[double], (values.read(), sum.write()), |(values, sum)| *sum = values.iter().sum())
///     .unwrap();
/// jobs.complete(add_up);
/// assert_eq!(*sum.get().unwrap(), 2000);
/// ```
pub struct JobScheduler {
    pool: JobPool,
    shared: Arc<PoolShared>,
    nodes: Arc<NodeTable>,
    id: u32,
    /// Where the owner sleeps while it waits, and the number of that place.
    parker: Arc<Parker>,
    place: u32,
    /// What the job that is being scheduled declares; between two of them, memory to keep.
    accesses: RefCell<AccessList>,
    state: RefCell<State>,
}

/// What the owner knows. Borrowed for moments only, never while a job runs.
struct State {
    mode: ExecutionMode,
    random: Random,
    next_sequence: u64,
    /// The number of the last walk over the graph.
    mark: u64,
    /// Leased blocks of nodes, and the nodes in them that are free, the next on top.
    blocks: Vec<u32>,
    free: Vec<u32>,
    /// The jobs that are held, in the order they were scheduled, among others that were until lately.
    held: Vec<JobId>,
    held_count: usize,
    /// How many of the latest held jobs are a chain: each depends on the one before, and on no other.
    chain: usize,
    /// Lanes for parallel jobs, between two of them.
    ranges: Vec<Arc<Ranges>>,
    /// Failures that nobody was told of.
    untold: Untold,
    /// Whether the owner has begun to drop the scheduler, and could wait for its jobs.
    is_ending: bool,
    /// Buffers that keep their memory from one call to the next.
    walk: Vec<(u32, u32)>,
    order: Vec<u32>,
    todo: Vec<u32>,
    targets: Vec<u32>,
    ready: Vec<u32>,
}

static NEXT_ID: AtomicU32 = AtomicU32::new(1);

impl JobScheduler {
    /// Makes a scheduler on a pool.
    ///
    /// # Panics
    ///
    /// Panics when 4,294,967,294 schedulers were made by the process before.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let pool = JobPool::new();
    /// let (game, sound) = (JobScheduler::new(&pool), JobScheduler::new(&pool));
    /// let job = game.schedule(&[], (), |()| {}).unwrap();
    /// assert!(sound.schedule(&[job], (), |()| {}).is_err(), "a job of another scheduler");
    /// ```
    pub fn new(pool: &JobPool) -> Self {
        let (place, parker) = pool.inner().admit_owner();
        let state = State {
            mode: ExecutionMode::Parallel,
            random: Random::new(0),
            next_sequence: 1,
            mark: 0,
            blocks: Vec::new(),
            free: Vec::new(),
            held: Vec::new(),
            held_count: 0,
            chain: 0,
            ranges: Vec::new(),
            untold: Untold::default(),
            is_ending: false,
            walk: Vec::new(),
            order: Vec::new(),
            todo: Vec::new(),
            targets: Vec::new(),
            ready: Vec::new(),
        };
        // Relaxed: the number only has to be unique. It is never used again, since handles may be kept
        // for ever; zero is for handles of no job.
        let id = NEXT_ID.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |id| id.checked_add(1));
        let id = id.expect("a process makes less than 4294967295 schedulers");
        Self {
            pool: pool.clone(),
            shared: Arc::clone(pool.inner()),
            nodes: Arc::clone(&pool.inner().nodes),
            id,
            parker,
            place,
            accesses: RefCell::default(),
            state: RefCell::new(state),
        }
    }

    /// Returns the pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::builder().workers(2).build().unwrap());
    /// assert_eq!(jobs.pool().workers(), 2);
    /// ```
    pub fn pool(&self) -> &JobPool {
        &self.pool
    }

    /// Returns how many threads may work for this scheduler at the same time: the pool's workers and
    /// the owner. [`thread_index`](crate::thread_index) is below this.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::builder().workers(2).build().unwrap());
    /// assert_eq!(jobs.thread_count(), 3);
    /// ```
    pub fn thread_count(&self) -> usize {
        self.pool.workers() + 1
    }

    /// Returns the order in which jobs and batches are started where the graph leaves that open.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ExecutionMode, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// assert_eq!(jobs.mode(), ExecutionMode::Parallel);
    /// jobs.set_mode(ExecutionMode::Serial);
    /// assert_eq!(jobs.mode(), ExecutionMode::Serial);
    /// ```
    pub fn mode(&self) -> ExecutionMode {
        self.state.borrow().mode
    }

    /// Sets the order in which jobs and batches are started where the graph leaves that open, for
    /// jobs that are scheduled from now on.
    ///
    /// See [`ExecutionMode`] for an example.
    pub fn set_mode(&self, mode: ExecutionMode) {
        let state = &mut *self.state.borrow_mut();
        state.mode = mode;
        if let ExecutionMode::Shuffle { seed } = mode {
            state.random = Random::new(seed);
        }
    }

    /// Returns a builder for a job with a name. Without one, a job is called by its type.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut score = JobCell::new(0).named("score");
    /// let _first = jobs.named("First").schedule(&[], score.write(), |score| *score = 1).unwrap();
    /// let refused = jobs.named("Second").schedule(&[], score.read(), |_| {}).unwrap_err();
    /// assert!(refused.to_string().starts_with("A0001: job `Second` reads `score` "));
    /// ```
    pub fn named(&self, name: &'static str) -> JobBuilder<'_> {
        JobBuilder::new(self, Some(name))
    }

    /// Says whether the calling thread is inside of a job of this scheduler, perhaps with jobs of others in between.
    ///
    /// It is for owners of memory that jobs use. Who drops the scheduler first can free the memory then, since dropping it
    /// completes its jobs; but not if this is true, since then dropping waits for nobody.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// assert!(!jobs.is_inside_own_job());
    /// assert!(jobs.run((), |()| jobs.is_inside_own_job()).unwrap());
    /// ```
    pub fn is_inside_own_job(&self) -> bool {
        is_inside_job_of(self.id)
    }

    /// Returns a fence for something that jobs of this scheduler use. See [`Fence`] for an example.
    pub fn fence(&self, label: ContainerLabel) -> Fence {
        Fence::new(label, self.id, &self.nodes)
    }

    /// Starts everything that was scheduled (Unity's `ScheduleBatchedJobs`).
    ///
    /// On a pool without workers, and in [`ExecutionMode::Serial`], the jobs run here and now.
    ///
    /// # Panics
    ///
    /// Panics when called from inside a job, with code A0006.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let job = jobs.schedule(&[], (), |()| {}).unwrap();
    /// assert!(!jobs.is_completed(job));
    /// jobs.flush();
    /// while !jobs.is_completed(job) {
    ///     std::thread::yield_now();
    /// }
    /// ```
    #[track_caller]
    pub fn flush(&self) {
        self.refuse_inside_job("flush jobs");
        if self.works_alone() {
            self.run_held();
        } else {
            self.publish_held();
        }
    }

    #[inline]
    fn node(&self, index: u32) -> &Node {
        self.nodes.node(index)
    }

    /// Says whether everything runs on the owner's thread.
    fn works_alone(&self) -> bool {
        self.pool.workers() == 0 || self.state.borrow().mode == ExecutionMode::Serial
    }

    /// The owner as a thread that works on jobs: those that the walk came by.
    fn participant(&self, walk: u64) -> Participant<'_> {
        Participant { pool: &self.shared, thread: 0, local: None, walk: Some(walk) }
    }

    /// Returns the job's node, if it was scheduled here and not completed.
    #[inline]
    fn find(&self, job: JobId) -> Option<&Node> {
        if job.sequence == 0 {
            return None;
        }
        let node = self.node(job.node);
        node.sequence.is(job.sequence).then_some(node)
    }

    #[inline]
    #[track_caller]
    fn refuse_inside_job(&self, what: &str) {
        if let Some(inside) = current_job()
            && !self.can_wait_inside_job()
        {
            panic!(
                "A0006: job `{inside}` tried to {what}; jobs are scheduled and completed by the \
                 scheduler's owner, outside of jobs"
            );
        }
    }
}

impl Drop for JobScheduler {
    fn drop(&mut self) {
        if !self.begin_drop() {
            // One of its own jobs got hold of the scheduler, or one that they wait for. That cannot wait for
            // itself: what is left is handed to the workers, and the nodes stay with it for good.
            self.end_drop();
            self.publish_held();
            return;
        }
        // A panicking job was reported when it panicked; there is nobody left to tell again.
        let _ = self.complete_live();
        self.end_drop();
        let state = self.state.get_mut();
        self.nodes.give_back(&state.blocks, state.next_sequence);
        self.shared.dismiss_owner(self.place);
    }
}

impl fmt::Debug for JobScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobScheduler")
            .field("id", &self.id)
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}

impl State {
    /// Takes a free node, leasing more if there is none.
    #[inline]
    fn allocate(&mut self, nodes: &NodeTable, owner: u32, scheduler: u32) -> Option<u32> {
        match self.free.pop() {
            Some(index) => Some(index),
            None => self.lease(nodes, owner, scheduler),
        }
    }

    #[cold]
    fn lease(&mut self, nodes: &NodeTable, owner: u32, scheduler: u32) -> Option<u32> {
        let (block, next_sequence) = nodes.lease()?;
        self.next_sequence = self.next_sequence.max(next_sequence);
        self.blocks.push(block);
        let first = block * BLOCK as u32;
        let indices = first..first + BLOCK as u32;
        for index in indices.clone() {
            let node = nodes.node(index);
            // SAFETY: a node of a block that was just leased is free, and ours.
            unsafe {
                node.task_mut().owner = owner;
                node.task_mut().scheduler = scheduler;
                // A mark of the scheduler that had the block before could pass for one of ours.
                node.notes().set_mark(0);
            }
        }
        self.free.extend(indices.rev());
        self.free.pop()
    }

    /// Notes that a job is held.
    #[inline]
    fn hold(&mut self, job: JobId, node: &Node, nodes: &NodeTable) {
        // SAFETY: this is the owner.
        let notes = unsafe { node.notes() };
        notes.set_held(true);
        // In a chain the job scheduled last is its end, so the number tells whether this one goes on.
        let previous = job.sequence - 1;
        self.chain = match notes.dependency_count() {
            0 => 1,
            1 if self.chain > 0 && notes.first_sequence() == previous => self.chain + 1,
            _ => 0,
        };
        if self.held.len() == self.held.capacity() {
            self.make_room(nodes);
        }
        self.held.push(job);
        self.held_count += 1;
    }

    /// Forgets the jobs that are held no more, before the list of those that are grows.
    #[cold]
    fn make_room(&mut self, nodes: &NodeTable) {
        self.held.retain(|&job| is_held(nodes, job).is_some());
        self.held.reserve(1);
    }

    /// Says whether the job is the one that was scheduled last, and is held.
    #[inline]
    fn is_latest(&self, job: JobId) -> bool {
        self.chain > 0 && job.sequence + 1 == self.next_sequence
    }

    /// Says whether the job is the last of a chain of held ones: such a one has nothing else to wait for.
    #[inline]
    fn ends_chain(&self, job: JobId) -> bool {
        self.chain > 0 && self.held.last() == Some(&job)
    }

    /// Notes that a job is held no more.
    #[inline]
    fn unhold(&mut self, node: &Node) {
        // SAFETY: this is the owner.
        unsafe { node.notes() }.set_held(false);
        self.chain = 0;
        self.held_count -= 1;
        if self.held_count == 0 {
            self.held.clear();
        }
    }
}

/// Returns the job's node, if it is held.
fn is_held(nodes: &NodeTable, job: JobId) -> Option<&Node> {
    let node = nodes.node(job.node);
    // SAFETY: this is the owner.
    (node.sequence.is(job.sequence) && unsafe { node.notes() }.is_held()).then_some(node)
}

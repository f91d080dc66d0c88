//! The owner's side: scheduling, flushing, completing.
//!
//! All code here is single-threaded, on the owner's thread. Other threads see a job only after
//! [`publish`](JobScheduler::publish_held).
#![expect(unsafe_code, reason = "keeps the owner's notes in nodes")]

mod builder;
mod complete;
mod ending;
mod erase;
mod finish;
mod graph;
mod schedule;
mod submit;
mod unreported;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub use builder::{IndexList, JobBuilder};

use crate::context::{current_job, is_inside_job_of};
use crate::handle::JobId;
use crate::mode::{ExecutionMode, Random};
use crate::node::Node;
use crate::notes::Notes;
use crate::parker::Parker;
use crate::participant::Participant;
use crate::pool::{JobPool, PoolShared};
use crate::ranges::Ranges;
use crate::safety::{AccessList, ContainerLabel, Fence};
use crate::table::{BLOCK, NodeTable};
use unreported::Unreported;

/// A scheduler of jobs on a pool. It checks that jobs do not conflict, and waits for jobs.
///
/// A scheduler belongs to one owner. It is `Send` and not `Sync`, so jobs are scheduled and completed on one thread
/// at a time, and never from inside a job. A pool may have many schedulers; a job can depend only on jobs of the same
/// scheduler.
///
/// A job does not start when it is scheduled. It starts at the next [`flush`](Self::flush), or when it, or a job that depends on
/// it, is [completed](Self::complete). So the workers are woken once for many jobs, and a job that is completed immediately runs on
/// the calling thread without waking a worker.
///
/// Dropping a scheduler completes its jobs, with one exception: a scheduler that is dropped inside one of its own jobs, directly or
/// through nested jobs, or by a job for which its own jobs wait. Such a scheduler cannot wait for its jobs. They run on the
/// workers, but are never completed, so their containers stay in use.
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
#[doc(alias = "IJob")]
pub struct JobScheduler {
    pool: JobPool,
    shared: Arc<PoolShared>,
    nodes: Arc<NodeTable>,
    id: u32,
    /// The parker on which the owner waits. `place` is the number of the parker.
    parker: Arc<Parker>,
    place: u32,
    /// The accesses that the job that is being scheduled declares. The list is kept between jobs to reuse its memory.
    accesses: RefCell<AccessList>,
    state: RefCell<State>,
}

/// The owner's mutable state. It is borrowed briefly, and never while a job runs.
struct State {
    mode: ExecutionMode,
    random: Random,
    next_sequence: u64,
    /// The number of the last walk over the graph.
    mark: u64,
    /// The leased blocks of nodes. `free` lists the free nodes of these blocks. Its last node is used next.
    blocks: Vec<u32>,
    free: Vec<u32>,
    /// The number of blocks from which on finished jobs are recycled before another block is leased.
    blocks_to_recycle: usize,
    /// The held jobs, in the order in which they were scheduled. The list may contain jobs that are no longer held.
    held: Vec<JobId>,
    held_count: usize,
    /// The number of latest held jobs that form a chain. In a chain, each job depends only on the job before.
    chain: usize,
    /// Unused lanes for parallel jobs.
    ranges: Vec<Arc<Ranges>>,
    /// Failures that were not reported yet.
    unreported: Unreported,
    /// Set if the owner has begun to drop the scheduler, and can wait for its jobs.
    is_ending: bool,
    /// Buffers that keep their memory from one call to the next.
    walk: Vec<(u32, u32)>,
    order: Vec<u32>,
    todo: Vec<u32>,
    targets: Vec<u32>,
    ready: Vec<u32>,
}

/// The number of blocks below which no search for finished jobs takes place. They have room for 1,024 jobs.
const FEW_BLOCKS: usize = 16;

static NEXT_ID: AtomicU32 = AtomicU32::new(1);

impl JobScheduler {
    /// Creates a scheduler on a pool.
    ///
    /// # Panics
    ///
    /// Panics if the process has already created 4,294,967,294 schedulers.
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
    #[track_caller]
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
            blocks_to_recycle: FEW_BLOCKS,
            unreported: Unreported::default(),
            is_ending: false,
            walk: Vec::new(),
            order: Vec::new(),
            todo: Vec::new(),
            targets: Vec::new(),
            ready: Vec::new(),
        };
        // `Relaxed` is enough, because the number only has to be unique. Numbers are never reused, because handles may be kept
        // forever. Zero is for handles of no job.
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

    /// Returns the maximum number of threads that work for this scheduler at the same time: the pool's workers and
    /// the owner. [`thread_index`](crate::thread_index) is below this number.
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

    /// Returns the order in which jobs and batches are started where the graph leaves it open.
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

    /// Sets the order in which jobs and batches are started where the graph leaves it open. Applies to jobs that are
    /// scheduled from now on.
    ///
    /// See [`ExecutionMode`] for an example.
    pub fn set_mode(&self, mode: ExecutionMode) {
        let state = &mut *self.state.borrow_mut();
        state.mode = mode;
        if let ExecutionMode::Shuffle { seed } = mode {
            state.random = Random::new(seed);
        }
    }

    /// Returns a builder for a job with a name. The default name of a job is its type name.
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

    /// Returns whether the calling thread is inside a job of this scheduler, directly or through nested jobs.
    ///
    /// This method is for owners of memory that jobs use. Such an owner can free the memory after dropping the scheduler, because
    /// dropping completes the jobs. If this method returns true, dropping does not wait, and the memory must not be freed.
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

    /// Returns a fence for data that jobs of this scheduler use. See [`Fence`] for an example.
    pub fn fence(&self, label: ContainerLabel) -> Fence {
        Fence::new(label, self.id, &self.nodes)
    }

    /// Starts all scheduled jobs (Unity's `ScheduleBatchedJobs`).
    ///
    /// On a pool without workers, and in [`ExecutionMode::Serial`], the jobs run immediately on this thread.
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
    #[doc(alias = "ScheduleBatchedJobs")]
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

    /// Returns whether all jobs run on the owner's thread.
    fn works_alone(&self) -> bool {
        self.pool.workers() == 0 || self.state.borrow().mode == ExecutionMode::Serial
    }

    /// Returns the owner as a participant that works on the jobs that the walk has marked.
    fn participant(&self, walk: u64) -> Participant<'_> {
        Participant { pool: &self.shared, thread: 0, local: None, walk: Some(walk) }
    }

    /// Returns the job's node, if the job was scheduled here and is uncompleted.
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
            // The scheduler is dropped by one of its own jobs, or by a job for which they wait. That job cannot wait for itself, so
            // the remaining jobs are published to the workers, and their nodes are never returned.
            self.end_drop();
            self.publish_held();
            return;
        }
        // A panic was reported when the job panicked, and there is no caller to which it could be returned.
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
    /// Leases a block of nodes, and returns one of them.
    fn lease(&mut self, nodes: &NodeTable, owner: u32, scheduler: u32) -> Option<u32> {
        let (block, next_sequence) = nodes.lease()?;
        self.next_sequence = self.next_sequence.max(next_sequence);
        self.blocks.push(block);
        let first = block * BLOCK as u32;
        let indices = first..first + BLOCK as u32;
        for index in indices.clone() {
            let node = nodes.node(index);
            // SAFETY: a node of a block that was just leased is free, this thread is its owner, and no other reference
            // to the task is in use.
            unsafe {
                node.task_mut().owner = owner;
                node.task_mut().scheduler = scheduler;
            }
            // A mark of the block's previous scheduler could equal a mark of this scheduler.
            notes_of(node).set_mark(0);
        }
        self.free.extend(indices.rev());
        self.free.pop()
    }

    /// Adds a job to the held jobs.
    #[inline]
    fn hold(&mut self, job: JobId, node: &Node, nodes: &NodeTable) {
        let notes = notes_of(node);
        notes.set_held(true);
        // If there is a chain, the job that was scheduled last is its end. So the number shows whether this job continues the
        // chain.
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

    /// Removes jobs that are no longer held, before the list grows.
    #[cold]
    fn make_room(&mut self, nodes: &NodeTable) {
        self.held.retain(|&job| is_held(nodes, job).is_some());
        self.held.reserve(1);
    }

    /// Returns whether the job is held and was scheduled last.
    #[inline]
    fn is_latest(&self, job: JobId) -> bool {
        self.chain > 0 && job.sequence + 1 == self.next_sequence
    }

    /// Returns whether the job is the last of a chain of held jobs. Such a job has no dependencies outside of the chain.
    #[inline]
    fn ends_chain(&self, job: JobId) -> bool {
        self.chain > 0 && self.held.last() == Some(&job)
    }

    /// Marks a job as no longer held.
    #[inline]
    fn unhold(&mut self, node: &Node) {
        notes_of(node).set_held(false);
        self.chain = 0;
        self.held_count -= 1;
        if self.held_count == 0 {
            self.held.clear();
        }
    }
}

/// Returns the job's node, if the job is held.
fn is_held(nodes: &NodeTable, job: JobId) -> Option<&Node> {
    let node = nodes.node(job.node);
    (node.sequence.is(job.sequence) && notes_of(node).is_held()).then_some(node)
}

/// Returns the owner's notes in a node. The node has to be in a block that the calling scheduler has leased: this module and its
/// submodules access no others.
#[inline(always)]
fn notes_of(node: &Node) -> Notes<'_> {
    // SAFETY: the scheduler that has leased the node is its owner. A scheduler is not `Sync`, so only the calling thread uses the
    // notes of its nodes during the borrow.
    unsafe { node.notes() }
}

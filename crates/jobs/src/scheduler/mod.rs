//! The owner's side: scheduling, flushing, completing.
//!
//! All of it is plain single-threaded code on the owner's thread. What other threads see of it is
//! what [`publish`](JobScheduler::publish_held) hands over.
#![expect(
    unsafe_code,
    reason = "keeps the owner's notes in nodes, and places jobs in them"
)]

mod builder;
mod complete;
mod graph;
mod kinds;
mod submit;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub use builder::JobBuilder;
pub use kinds::IndexList;

use crate::handle::JobId;
use crate::mode::{ExecutionMode, Random};
use crate::node::{Links, NO_NODE, Node};
use crate::parker::Parker;
use crate::participant::Participant;
use crate::pool::{JobPool, PoolShared};
use crate::ranges::Ranges;
use crate::safety::AccessList;
use crate::table::BLOCK;

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
/// Dropping a scheduler completes its jobs.
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
    id: u32,
    /// Where the owner sleeps while it waits, and the number of that place.
    parker: Arc<Parker>,
    place: u32,
    state: RefCell<State>,
}

/// What the owner knows. Borrowed for moments only, never while a job runs.
struct State {
    mode: ExecutionMode,
    random: Random,
    next_sequence: u64,
    /// Leased blocks of nodes, and the nodes in them that are free, the next on top.
    blocks: Vec<u32>,
    free: Vec<u32>,
    /// All uncompleted jobs, and those not published yet, each in the order they were scheduled.
    live: List,
    held: List,
    /// Lanes for parallel jobs, between two of them.
    ranges: Vec<Arc<Ranges>>,
    /// The number of the last walk over the graph.
    mark: u64,
    /// Buffers that keep their memory from one call to the next.
    accesses: AccessList,
    walk: Vec<(u32, u32)>,
    order: Vec<u32>,
    todo: Vec<u32>,
    ready: Vec<u32>,
}

/// The ends of a list of nodes.
#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

static NEXT_ID: AtomicU32 = AtomicU32::new(1);

impl JobScheduler {
    /// Makes a scheduler on a pool.
    pub fn new(pool: &JobPool) -> Self {
        let (place, parker) = pool.shared().admit_owner();
        let state = State {
            mode: ExecutionMode::Parallel,
            random: Random::new(0),
            next_sequence: 1,
            blocks: Vec::new(),
            free: Vec::new(),
            live: List::EMPTY,
            held: List::EMPTY,
            ranges: Vec::new(),
            mark: 0,
            accesses: AccessList::default(),
            walk: Vec::new(),
            order: Vec::new(),
            todo: Vec::new(),
            ready: Vec::new(),
        };
        // Relaxed: the number only has to be unique. Zero is for handles of no job.
        let id = loop {
            match NEXT_ID.fetch_add(1, Ordering::Relaxed) {
                0 => {}
                id => break id,
            }
        };
        Self {
            pool: pool.clone(),
            id,
            parker,
            place,
            state: RefCell::new(state),
        }
    }

    /// Returns the pool.
    pub fn pool(&self) -> &JobPool {
        &self.pool
    }

    /// Returns how many threads may work for this scheduler at the same time: the pool's workers and
    /// the owner. [`thread_index`](crate::thread_index) is below this.
    pub fn thread_count(&self) -> usize {
        self.pool.workers() + 1
    }

    /// Returns the order in which jobs and batches are started where the graph leaves that open.
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

    fn shared(&self) -> &Arc<PoolShared> {
        self.pool.shared()
    }

    fn node(&self, index: u32) -> &Node {
        self.shared().nodes.node(index)
    }

    /// Says whether everything runs on the owner's thread.
    fn works_alone(&self) -> bool {
        self.pool.workers() == 0 || self.state.borrow().mode == ExecutionMode::Serial
    }

    /// The owner as a thread that works on jobs: those that the walk came by.
    fn participant(&self, walk: u64) -> Participant<'_> {
        Participant {
            pool: self.shared(),
            thread: 0,
            local: None,
            walk: Some(walk),
        }
    }

    /// Says whether the job was scheduled here and not completed.
    fn is_uncompleted(&self, job: JobId) -> bool {
        job.sequence != 0 && self.node(job.node).holds(job.sequence)
    }

    #[track_caller]
    fn refuse_inside_job(&self, what: &str) {
        if let Some(inside) = crate::context::current_job() {
            panic!(
                "A0006: job `{inside}` tried to {what}; jobs are scheduled and completed by the \
                 scheduler's owner, outside of jobs"
            );
        }
    }
}

impl Drop for JobScheduler {
    fn drop(&mut self) {
        // A panicking job was reported when it panicked; there is nobody left to tell again.
        let _ = self.complete_live();
        let shared = self.pool.shared();
        let state = self.state.get_mut();
        shared.nodes.give_back(&state.blocks, state.next_sequence);
        shared.dismiss_owner(self.place);
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
    fn allocate(&mut self, shared: &PoolShared, owner: u32) -> Option<u32> {
        if let Some(index) = self.free.pop() {
            return Some(index);
        }
        let (block, next_sequence) = shared.nodes.lease()?;
        self.next_sequence = self.next_sequence.max(next_sequence);
        self.blocks.push(block);
        let first = block * BLOCK as u32;
        let nodes = first..first + BLOCK as u32;
        for index in nodes.clone() {
            let node = shared.nodes.node(index);
            // SAFETY: a node of a block that was just leased is free, and ours.
            unsafe {
                node.task_mut().owner = owner;
                // A mark of the scheduler that had the block before could pass for one of ours.
                node.notes_mut().mark = 0;
            }
        }
        self.free.extend(nodes.rev());
        self.free.pop()
    }
}

impl List {
    const EMPTY: Self = Self {
        first: NO_NODE,
        last: NO_NODE,
    };

    /// Adds a node at the end. `links` finds the node's links in this list.
    ///
    /// # Safety
    ///
    /// The caller is the owner of the list's nodes, and has no reference to their notes.
    unsafe fn push(&mut self, index: u32, shared: &PoolShared, links: fn(&Node) -> *mut Links) {
        let link = |index: u32| links(shared.nodes.node(index));
        // SAFETY: the links are in the owner's notes, which nobody else reaches, by the contract.
        unsafe {
            *link(index) = Links {
                previous: self.last,
                next: NO_NODE,
            };
            match self.last {
                NO_NODE => self.first = index,
                last => (*link(last)).next = index,
            }
        }
        self.last = index;
    }

    /// Takes a node out.
    ///
    /// # Safety
    ///
    /// As for `push`, and the node is in the list.
    unsafe fn remove(&mut self, index: u32, shared: &PoolShared, links: fn(&Node) -> *mut Links) {
        let link = |index: u32| links(shared.nodes.node(index));
        // SAFETY: as in `push`.
        unsafe {
            let Links { previous, next } = *link(index);
            match previous {
                NO_NODE => self.first = next,
                previous => (*link(previous)).next = next,
            }
            match next {
                NO_NODE => self.last = previous,
                next => (*link(next)).previous = previous,
            }
        }
    }
}

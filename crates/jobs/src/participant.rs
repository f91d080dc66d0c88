//! A thread that works on jobs: starting, joining and finishing them, and the main loop of a worker.
#![expect(unsafe_code, reason = "runs the type-erased functions of jobs, as the gate admits")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use crate::claims::Claims;
use crate::context::InJob;
use crate::deque::Deque;
use crate::failure::JobPanic;
use crate::gate::Entry;
use crate::node::{Node, Parallel, Task, TaskKind};
use crate::pool::PoolShared;
use crate::primitive::{Ordering, relax};

/// A thread that works on jobs: a worker of the pool, or the owner of a scheduler.
#[derive(Clone, Copy)]
pub(crate) struct Participant<'p> {
    pub(crate) pool: &'p PoolShared,
    /// The index of the thread: zero for owners, one and up for workers.
    pub(crate) thread: usize,
    /// A worker's own queue.
    pub(crate) local: Option<&'p Deque>,
    /// The mark of the walk that found the jobs for which an owner waits. The owner works only on these jobs. `None` for workers.
    pub(crate) walk: Option<u64>,
}

impl Participant<'_> {
    /// Works on the node's job if its gate is open, and on jobs that become ready by this. Returns whether the gate was open.
    pub(crate) fn try_run(self, index: u32) -> bool {
        let node = self.pool.nodes.node(index);
        let Some(entry) = node.gate.enter() else { return false };
        let mut next = match entry {
            Entry::First => self.start(index, node),
            Entry::Joined => self.join(node),
        };
        // A job whose last dependency has just finished is run here immediately, because its data is in the cache.
        while let Some(index) = next {
            next = self.start(index, self.pool.nodes.node(index));
        }
        true
    }

    /// Runs a job that is visible only to the caller, its owner. No other job has an edge to it, because edges are created when
    /// jobs are published. A parallel job with enough work is shared with other threads, and may still be running when this method
    /// returns. In this case it returns false. `in_job` marks the thread as inside a job.
    #[inline(always)]
    pub(crate) fn run_private(&self, index: u32, node: &Node, in_job: &InJob) -> bool {
        // SAFETY: the caller is the owner of the node, which is held.
        let task = unsafe { node.task() };
        if node.has_failed() {
            self.drop_payload(node, task);
        } else {
            match task.functions.kind {
                TaskKind::Join => {}
                TaskKind::Single(run) => {
                    in_job.rename(task.name);
                    self.run_single(node, task, run);
                }
                TaskKind::Parallel(_) | TaskKind::Deferred(..) => {
                    self.start(index, node);
                    return false;
                }
            }
        }
        node.dependents.close_private();
        true
    }

    /// Starts the job of a node that the caller has claimed. If the job has finished and released a dependent, returns the
    /// dependent, which the caller has claimed.
    fn start(self, index: u32, node: &Node) -> Option<u32> {
        // SAFETY: the gate admitted this thread, or this thread claimed a node that no other thread could enter. The list of
        // dependents is not closed.
        let task = unsafe { node.task() };
        if node.has_failed() {
            self.drop_payload(node, task);
            return self.finish(node);
        }
        match task.functions.kind {
            TaskKind::Join => {}
            TaskKind::Single(run) => {
                let _in_job = InJob::enter(self.thread, task.scheduler, task.name);
                self.run_single(node, task, run);
            }
            TaskKind::Parallel(_) => return self.start_parallel(index, node, task),
            TaskKind::Deferred(count, _) => {
                self.ask_count(node, task, count);
                return self.start_parallel(index, node, task);
            }
        }
        self.finish(node)
    }

    fn start_parallel(self, index: u32, node: &Node, task: &Task) -> Option<u32> {
        // SAFETY: this thread is inside the gate, or claimed a node that no other thread could enter. The list of dependents is not
        // closed.
        let Parallel { count, batch, batches, shuffle, ranges } = unsafe { node.parallel() };
        let batches = batches.load(Ordering::Relaxed);
        let helpers = self.pool.workers.len().min(batches.saturating_sub(1) as usize);
        if let Some(ranges) = ranges
            && helpers > 0
        {
            ranges.start(self.thread, batches);
            node.gate.widen();
            self.publish(index, helpers, true);
            return self.join(node);
        }
        if batches > 0 {
            let count = count.load(Ordering::Relaxed) as usize;
            let claims = Claims::alone(self.thread, count, *batch, batches, *shuffle);
            self.run_parallel(node, task, claims);
        }
        self.settle(node, task);
        self.finish(node)
    }

    /// Joins a parallel job that is running.
    fn join(self, node: &Node) -> Option<u32> {
        // SAFETY: the gate admitted this thread, which has not left, so the list of dependents is not closed.
        let task = unsafe { node.task() };
        // SAFETY: the gate admitted this thread, which has not left, so the list of dependents is not closed.
        let Parallel { count, batch, batches, shuffle, ranges } = unsafe { node.parallel() };
        let ranges = ranges.as_ref().expect("a job that can be joined has ranges");
        let count = count.load(Ordering::Relaxed) as usize;
        let batches = batches.load(Ordering::Relaxed);
        let claims = Claims::shared(ranges, self.thread, count, *batch, batches, *shuffle);
        self.run_parallel(node, task, claims);
        if !node.gate.leave() {
            return None;
        }
        self.settle(node, task);
        self.finish(node)
    }

    /// Runs a single job on a thread that is already marked as inside it. Records a panic in the node.
    #[inline(always)]
    fn run_single(&self, node: &Node, task: &Task, run: unsafe fn(*mut u8)) {
        let start = self.pool.profiler.start();
        // SAFETY: the payload was stored together with the functions. A single job runs here once, since its gate
        // admits one thread. The scheduler made the safety check, and all dependencies of the job have finished.
        let run = || unsafe { run(node.payload()) };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
            self.note_panic(node, task, 0, payload);
        }
        self.record(node, task, start);
    }

    /// Runs a participant's share of a parallel job. Records a panic in the node. The other batches still run.
    fn run_parallel(self, node: &Node, task: &Task, mut claims: Claims) {
        let (TaskKind::Parallel(run) | TaskKind::Deferred(_, run)) = task.functions.kind else {
            unreachable!("only parallel jobs have shares");
        };
        let _in_job = InJob::enter(self.thread, task.scheduler, task.name);
        let start = self.pool.profiler.start();
        loop {
            let started = claims.started();
            // SAFETY: the payload was stored together with the functions, and the claims assign each batch to one
            // participant. The scheduler made the safety check, and all dependencies of the job have finished.
            let run = || unsafe { run(node.payload(), &mut claims) };
            let Err(payload) = catch_unwind(AssertUnwindSafe(run)) else { break };
            self.note_panic(node, task, claims.current(), payload);
            if claims.started() == started {
                // The panic occurred before the first batch. Retrying would never end.
                claims.abandon();
                break;
            }
        }
        self.record(node, task, start);
    }

    #[inline]
    fn record(self, node: &Node, task: &Task, start: Option<Instant>) {
        if let Some(start) = start {
            let sequence = node.sequence.get();
            self.pool.profiler.record(self.thread, task.name, sequence, start);
        }
    }

    /// Computes the number of indices of a deferred job.
    fn ask_count(self, node: &Node, task: &Task, count: unsafe fn(*mut u8) -> usize) {
        let _in_job = InJob::enter(self.thread, task.scheduler, task.name);
        // SAFETY: this thread is inside the gate, and the list of dependents is not closed.
        let parallel = unsafe { node.parallel() };
        // SAFETY: the payload was stored together with the functions, and nothing of it is in use, since the gate
        // admits no other thread yet. The scheduler made the safety check, and all dependencies of the job have
        // finished.
        let ask = || unsafe { count(node.payload()) };
        let asked = catch_unwind(AssertUnwindSafe(|| {
            let (count, batch) = (ask(), parallel.batch);
            let Ok(batches) = u32::try_from(count.div_ceil(batch)) else {
                panic!(
                    "A0009: {count} indices in batches of {batch} are more than 4294967295 batches; \
                     pass a larger batch size"
                );
            };
            (count, batches)
        }));
        let (count, batches) = match asked {
            Ok(answer) => answer,
            Err(payload) => {
                self.note_panic(node, task, 0, payload);
                (0, 0)
            }
        };
        parallel.count.store(count as u64, Ordering::Relaxed);
        parallel.batches.store(batches, Ordering::Relaxed);
    }

    /// Settles the writes of a parallel job after all participants have left, and drops its payload.
    #[inline]
    fn settle(self, node: &Node, task: &Task) {
        let Some(settle) = task.functions.settle else { return self.drop_payload(node, task) };
        let _in_job = InJob::enter(self.thread, task.scheduler, task.name);
        let failed = node.has_failed();
        // SAFETY: the payload was stored together with the functions. The caller is the only thread
        // inside, the others have left, and the payload was not consumed and is not used after this.
        let settle = || unsafe { settle(node.payload(), failed) };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(settle)) {
            // The panic is ordered after all batches, so that a panic in a batch is reported first.
            self.note_panic(node, task, usize::MAX, payload);
        }
    }

    /// Drops the data and closure of a job that no thread works on any more.
    fn drop_payload(self, node: &Node, task: &Task) {
        let _in_job = InJob::enter(self.thread, task.scheduler, task.name);
        // SAFETY: the payload was stored together with the functions. The caller is the only thread inside, so
        // nothing uses the payload. It was not consumed: a single job reaches this call only if it did not run.
        let drop = || unsafe { (task.functions.drop)(node.payload()) };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(drop)) {
            self.note_panic(node, task, 0, payload);
        }
    }

    /// Closes the node and releases its dependents. Claims one of the dependents that became ready, for the caller to start. The
    /// others are published.
    fn finish(self, node: &Node) -> Option<u32> {
        // SAFETY: this thread is the last inside the gate, or claimed a node that no other thread could enter. The list
        // of dependents is not closed yet.
        let owner = unsafe { node.task() }.owner;
        let failure = node.failure();
        let mut released = node.dependents.close();
        // From here on the node may be recycled, so it is not accessed.
        if released.owner_waits {
            self.pool.wake_owner(owner);
        }
        let mut claimed = None;
        while let Some((index, passes_failure)) = released.next() {
            let dependent = self.pool.nodes.node(index);
            if passes_failure && let Some(panic) = &failure {
                dependent.fail(Arc::clone(panic));
            }
            // Release: the thread that decreases the count last sees the writes of this job, and the failure that was just
            // recorded. Acquire: if this thread is the last, it sees the writes of the other jobs, and passes them through the gate
            // to the thread that starts the job.
            if dependent.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                let awaited = self.awaits(dependent);
                if awaited && claimed.is_none() {
                    claimed = Some(index);
                } else {
                    dependent.gate.open();
                    self.publish(index, 1, awaited);
                }
            }
        }
        claimed
    }

    /// Returns whether this thread may work on the job. A worker may work on any job, an owner on jobs for which it waits.
    fn awaits(self, node: &Node) -> bool {
        // SAFETY: `walk` is set only for owners, and a job's dependents have the same owner, so no other thread uses
        // the notes.
        self.walk.is_none_or(|mark| unsafe { node.notes() }.mark() == mark)
    }

    /// Offers a ready job to the other threads, with several tickets if it is parallel.
    fn publish(self, index: u32, tickets: usize, urgent: bool) {
        let mut left = tickets;
        while left > 0 && self.local.is_some_and(|local| local.push(index).is_ok()) {
            left -= 1;
        }
        if left > 0 {
            self.pool.inject(std::iter::repeat_n(index, left), urgent);
        } else {
            self.pool.sleep.notify();
        }
    }

    #[cold]
    fn note_panic(self, node: &Node, task: &Task, batch: usize, payload: Box<dyn Any + Send>) {
        let panic = JobPanic::new(task.name, node.sequence.get(), batch, payload);
        node.fail(Arc::new(panic));
        // `Relaxed` is enough: a thread that sees that the job has finished also sees this store.
        self.pool.panics.store(1, Ordering::Relaxed);
    }
}

/// Runs jobs until the pool is shut down. `worker` is the index of the worker, counted from zero.
pub(crate) fn work(pool: &Arc<PoolShared>, worker: usize) {
    let local = &pool.workers[worker];
    let participant = Participant { pool, thread: worker + 1, local: Some(local), walk: None };
    loop {
        // Every worker is in the searching state when it starts and when it wakes.
        match search(pool, worker) {
            Some(ticket) => {
                pool.sleep.found(|| pool.has_work());
                participant.try_run(ticket);
                while let Some(ticket) = find(pool, worker) {
                    participant.try_run(ticket);
                }
                pool.sleep.search();
            }
            None => {
                if pool.shutdown.load(Ordering::Acquire) != 0 {
                    return;
                }
                pool.sleep.sleep(worker, || {
                    pool.has_work() || pool.shutdown.load(Ordering::Acquire) != 0
                });
            }
        }
    }
}

/// Searches for a ticket until one is found or the spin limit is reached.
fn search(pool: &PoolShared, worker: usize) -> Option<u32> {
    for _ in 0..pool.spin {
        if pool.has_work()
            && let Some(ticket) = find(pool, worker)
        {
            return Some(ticket);
        }
        relax();
    }
    find(pool, worker)
}

/// Searches once for a ticket in the worker's own queue, the shared queue, and the queues of other workers.
fn find(pool: &PoolShared, worker: usize) -> Option<u32> {
    let local = &pool.workers[worker];
    if let Some(ticket) = local.pop() {
        return Some(ticket);
    }
    if let Some(ticket) = pool.injector.take(local) {
        return Some(ticket);
    }
    let others = pool.workers.len();
    (1..others).find_map(|step| pool.workers[(worker + step) % others].steal())
}

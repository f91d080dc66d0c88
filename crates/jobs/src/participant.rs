//! A thread at work: how a job is started, joined and finished.
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
use crate::primitive::Ordering;

/// A thread that works on jobs: a worker of the pool, or the owner of a scheduler.
#[derive(Clone, Copy)]
pub(crate) struct Participant<'p> {
    pub(crate) pool: &'p PoolShared,
    /// Zero for owners, one and up for workers.
    pub(crate) thread: usize,
    /// A worker's own queue.
    pub(crate) local: Option<&'p Deque>,
    /// For an owner: the mark of the walk that found what it waits for. It works on nothing else.
    pub(crate) walk: Option<u64>,
}

impl Participant<'_> {
    /// Works on the node's job if its gate is open, and on what that releases. Returns whether it was.
    pub(crate) fn try_run(self, index: u32) -> bool {
        let node = self.pool.nodes.node(index);
        let Some(entry) = node.gate.enter() else { return false };
        let mut next = match entry {
            Entry::First => self.start(index, node),
            Entry::Joined => self.join(node),
        };
        // A job that this one was the last to wait for runs here and now: its data is in the cache.
        while let Some(index) = next {
            next = self.start(index, self.pool.nodes.node(index));
        }
        true
    }

    /// Runs a job that only the owner, who is the caller, knows of. Nothing waits for it in a list:
    /// links are made when jobs are published. A parallel job with work for others is shared with
    /// them, and may still be under way when this returns: then the result is false. `in_job` marks the
    /// thread as inside of one.
    #[inline(always)]
    pub(crate) fn run_private(&self, index: u32, node: &Node, in_job: &InJob) -> bool {
        // SAFETY: the caller is the owner of a node that is not published.
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

    /// Starts the job of a node that the caller has claimed. Returns a claimed dependant, if the job
    /// has finished and released one.
    fn start(self, index: u32, node: &Node) -> Option<u32> {
        // SAFETY: the gate let this thread in, or it claimed a node that nobody else could enter.
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
        // SAFETY: as for the task: this thread is inside.
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

    /// Takes part in a parallel job that is under way.
    fn join(self, node: &Node) -> Option<u32> {
        // SAFETY: the gate let this thread in, and it has not left.
        let task = unsafe { node.task() };
        // SAFETY: as for the task: this thread is inside.
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

    /// Runs a single job, inside of which the thread is marked to be. A panic is noted in the node.
    #[inline(always)]
    fn run_single(&self, node: &Node, task: &Task, run: unsafe fn(*mut u8)) {
        let start = self.pool.profiler.start();
        // SAFETY: the payload was stored together with the functions. A single job comes here once,
        // since its gate admits one thread. The scheduler made the safety check, and the job is ready,
        // or all it depends on was seen to have finished.
        let run = || unsafe { run(node.payload()) };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
            self.note_panic(node, task, 0, payload);
        }
        self.record(node, task, start);
    }

    /// Runs a participant's share of a parallel job. A panic is noted in the node; the other batches
    /// run all the same.
    fn run_parallel(self, node: &Node, task: &Task, mut claims: Claims) {
        let (TaskKind::Parallel(run) | TaskKind::Deferred(_, run)) = task.functions.kind else {
            unreachable!("only parallel jobs have shares");
        };
        let _in_job = InJob::enter(self.thread, task.scheduler, task.name);
        let start = self.pool.profiler.start();
        loop {
            let started = claims.started();
            // SAFETY: as in `run_single`; the claims give each batch to one participant.
            let run = || unsafe { run(node.payload(), &mut claims) };
            let Err(payload) = catch_unwind(AssertUnwindSafe(run)) else { break };
            self.note_panic(node, task, claims.current(), payload);
            if claims.started() == started {
                // It does not even get to its first batch: trying again would not end.
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

    /// Asks a deferred job how many indices it has.
    fn ask_count(self, node: &Node, task: &Task, count: unsafe fn(*mut u8) -> usize) {
        let _in_job = InJob::enter(self.thread, task.scheduler, task.name);
        // SAFETY: as for the task: this thread is inside.
        let parallel = unsafe { node.parallel() };
        // SAFETY: the payload was stored together with the functions, and nothing of it is in use,
        // since the gate admits no other thread yet.
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

    /// Settles what a parallel job wrote, when nobody works on it any more, and drops its payload.
    #[inline]
    fn settle(self, node: &Node, task: &Task) {
        let Some(settle) = task.functions.settle else { return self.drop_payload(node, task) };
        let _in_job = InJob::enter(self.thread, task.scheduler, task.name);
        let failed = node.has_failed();
        // SAFETY: the payload was stored together with the functions. The caller is the only thread
        // inside, the others have left, and the payload was not consumed and is not used after this.
        let settle = || unsafe { settle(node.payload(), failed) };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(settle)) {
            // After all batches: a panic in one of those is told first.
            self.note_panic(node, task, usize::MAX, payload);
        }
    }

    /// Drops the data and closure of a job that nobody works on any more.
    fn drop_payload(self, node: &Node, task: &Task) {
        let _in_job = InJob::enter(self.thread, task.scheduler, task.name);
        // SAFETY: the caller is the only thread inside, so nobody uses the payload, and it was not
        // consumed: a single job comes here only if it did not run.
        let drop = || unsafe { (task.functions.drop)(node.payload()) };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(drop)) {
            self.note_panic(node, task, 0, payload);
        }
    }

    /// Closes the node and releases what waits for it. Claims one of those that became ready for the
    /// caller to start; the others are published.
    fn finish(self, node: &Node) -> Option<u32> {
        // SAFETY: the list of dependents is not closed yet.
        let owner = unsafe { node.task() }.owner;
        let failure = node.failure();
        let mut released = node.dependents.close();
        // From here on the node may be recycled, and is not touched.
        if released.owner_waits {
            self.pool.wake_owner(owner);
        }
        let mut claimed = None;
        while let Some((index, passes_failure)) = released.next() {
            let dependent = self.pool.nodes.node(index);
            if passes_failure && let Some(panic) = &failure {
                dependent.fail(Arc::clone(panic));
            }
            // Release: what this job did, and the failure just noted, is visible to whoever lowers
            // the count last. Acquire: what the others did is visible to us, if that is us, and then
            // through the gate to whoever starts the job.
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

    /// Says whether this thread may work on the job: a worker on any, an owner on what it waits for.
    fn awaits(self, node: &Node) -> bool {
        // SAFETY: `walk` is set for owners alone, and a job's dependants have the same owner.
        self.walk.is_none_or(|mark| unsafe { node.notes() }.mark() == mark)
    }

    /// Offers a job that is ready to the other threads, with room for several if it is parallel.
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
        // Relaxed: who finds the job finished finds this done.
        self.pool.panics.store(1, Ordering::Relaxed);
    }
}

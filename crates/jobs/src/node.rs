//! A node: the place of one job, from the moment it is scheduled until it is completed.
//!
//! ```text
//!            schedule            flush, or a complete that wants help       last dependency finished
//!   free ---------------> held ------------------------------> published ------------------------> ready
//!    ^                      |                                                                        |
//!    |                      | a complete runs it on the owner's thread, in private                   | a thread enters
//!    |                      v                                                                        v
//!    +------------------ finished <--------------------------------------------------------------- running
//!         complete                      the last thread inside leaves
//! ```
//!
//! *Who touches what.* The sequence number is written by the owner and read by anyone. A held node
//! belongs to the owner whole. Publishing hands the task over: from then on it is read by the
//! threads that passed the gate, until the last of them closes the list of dependents; then all of
//! the node is the owner's again. The owner's notes are never touched by anyone else.
//!
//! *Recycling.* Nodes are never freed while the pool lives, so a stale ticket leads to a node, if not
//! to the job it was made for; the gate turns it away or lets it do useful work.
#![expect(
    unsafe_code,
    reason = "shares one job's data between the threads that the protocol admits"
)]

use std::cell::UnsafeCell;
use std::sync::{Arc, Mutex, PoisonError};

use crate::claims::Claims;
use crate::dependents::Dependents;
use crate::failure::JobPanic;
use crate::gate::Gate;
use crate::notes::{Notes, OwnerMore, OwnerSide};
use crate::payload::Payload;
use crate::primitive::{AtomicU32, AtomicU64, Ordering};
use crate::ranges::Ranges;
use crate::sequence::Sequence;

/// The place of one job.
///
/// A small job is in the first two cache lines: what others look at and what is run in the one, the
/// owner's notes and the payload in the other.
#[repr(C, align(64))]
pub(crate) struct Node {
    /// The sequence number of the job that is here; zero in a free node.
    pub(crate) sequence: Sequence,
    pub(crate) dependents: Dependents,
    /// How many jobs this one still waits for, and one more while it is being published. Zero at all
    /// other times, also in the next job's.
    pub(crate) pending: AtomicU32,
    pub(crate) gate: Gate,
    /// One when `panic` is set. Read by the threads of the protocol, whose edges order it.
    failed: AtomicU32,
    /// Whether the payload was spilled. Goes with the payload, but is not beside it: that would be one
    /// more cache line for a small job.
    spilled: UnsafeCell<bool>,
    task: UnsafeCell<Task>,
    side: OwnerSide,
    payload: UnsafeCell<Payload>,
    parallel: UnsafeCell<Parallel>,
    more: OwnerMore,
    panic: Mutex<Option<Arc<JobPanic>>>,
}

// With shorter pointers more of a job is in the first line.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(std::mem::offset_of!(Node, side) == 64);
    assert!(std::mem::offset_of!(Node, payload) == 96);
};

// SAFETY: `sequence`, `pending`, `gate`, `dependents`, `failed` and `panic` are made for sharing.
// The cells are reached only through the unsafe functions below, whose contracts are the protocol
// above. What a payload holds is `Send` (and `Sync` where batches share it): that is asked
// of it where it is stored.
unsafe impl Sync for Node {}
// SAFETY: as above; nothing in a node is bound to a thread.
unsafe impl Send for Node {}

/// What there is to do.
#[repr(C)]
pub(crate) struct Task {
    /// Which of the pool's owners sleeps until this job has finished, if one does.
    pub(crate) owner: u32,
    /// The number of the scheduler.
    pub(crate) scheduler: u32,
    pub(crate) functions: &'static TaskFunctions,
    pub(crate) name: &'static str,
}

/// What there is to know of a parallel job.
pub(crate) struct Parallel {
    /// How many indices, how many of them to a batch, and how many batches that makes. Atomics for
    /// the sake of deferred jobs, whose first participant sets the count; ordered by the gate.
    pub(crate) count: AtomicU64,
    pub(crate) batch: usize,
    pub(crate) batches: AtomicU32,
    /// The seed of the batch order, when shuffling.
    pub(crate) shuffle: Option<u64>,
    /// The lanes, if it is to be shared.
    pub(crate) ranges: Option<Arc<Ranges>>,
}

/// What a job's payload can do. One for each kind of job and type of data and closure.
pub(crate) struct TaskFunctions {
    pub(crate) kind: TaskKind,
    /// Drops the payload of a parallel job that has finished, or of any job that does not run.
    ///
    /// # Safety
    ///
    /// - The payload holds what the functions are for, and nobody uses it.
    /// - It was not consumed, and is not used again.
    pub(crate) drop: unsafe fn(payload: *mut u8),
    /// Settles what a parallel job wrote, and drops its payload. Keeps or discards it, by whether the job failed.
    ///
    /// # Safety
    ///
    /// - The payload holds what the functions are for, and nobody uses it.
    /// - All participants have left, and the payload was not dropped. It is not used again.
    pub(crate) settle: Option<unsafe fn(payload: *mut u8, failed: bool)>,
}

/// How a job is run.
///
/// # Safety
///
/// All the functions ask the same of who calls them:
///
/// - The payload holds what the functions are for.
/// - A single job is run once, which consumes the payload. A parallel job is run once for each
///   participant, with claims that give each batch to one of them.
/// - The safety check has passed, and what the job depends on has finished.
#[derive(Clone, Copy)]
pub(crate) enum TaskKind {
    /// Nothing to run: it only waits for others.
    Join,
    /// One call.
    Single(unsafe fn(payload: *mut u8)),
    /// One call for each participant.
    Parallel(unsafe fn(payload: *mut u8, claims: &mut Claims)),
    /// The same, with a count that is asked for when everything before it has finished, while nobody
    /// uses the payload.
    Deferred(
        unsafe fn(payload: *mut u8) -> usize,
        unsafe fn(payload: *mut u8, claims: &mut Claims),
    ),
}

impl Node {
    pub(crate) fn new() -> Self {
        Self {
            sequence: Sequence::new(),
            pending: AtomicU32::new(0),
            gate: Gate::new(),
            dependents: Dependents::new(),
            failed: AtomicU32::new(0),
            spilled: UnsafeCell::new(false),
            task: UnsafeCell::new(Task {
                owner: 0,
                scheduler: 0,
                functions: &TaskFunctions::JOIN,
                name: "",
            }),
            side: OwnerSide::default(),
            payload: UnsafeCell::new(Payload::new()),
            parallel: UnsafeCell::new(Parallel {
                count: AtomicU64::new(0),
                batch: 1,
                batches: AtomicU32::new(0),
                shuffle: None,
                ranges: None,
            }),
            more: OwnerMore::default(),
            panic: Mutex::new(None),
        }
    }

    /// Returns the task.
    ///
    /// # Safety
    ///
    /// The caller is the owner of a node that is held or finished, or passed the gate of a published
    /// one and the list of dependents was not closed since.
    #[inline]
    pub(crate) unsafe fn task(&self) -> &Task {
        // SAFETY: by this function's contract nobody changes the task meanwhile.
        unsafe { &*self.task.get() }
    }

    /// Returns the task, to change it.
    ///
    /// # Safety
    ///
    /// The caller is the owner of a node that is free, held or finished, and has no other reference
    /// to the task.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "exclusive by the function's contract")]
    pub(crate) unsafe fn task_mut(&self) -> &mut Task {
        // SAFETY: by this function's contract nobody else reads the task meanwhile.
        unsafe { &mut *self.task.get() }
    }

    /// Returns where the payload is.
    ///
    /// # Safety
    ///
    /// As for `task`.
    #[inline]
    pub(crate) unsafe fn payload(&self) -> *mut u8 {
        // SAFETY: by this function's contract nobody stores another payload meanwhile.
        unsafe { (*self.payload.get()).get(*self.spilled.get()) }
    }

    /// Stores the payload.
    ///
    /// # Safety
    ///
    /// As for `task_mut`.
    #[inline]
    pub(crate) unsafe fn store_payload<P>(&self, payload: P) {
        // SAFETY: by this function's contract nobody else uses the payload.
        unsafe { *self.spilled.get() = (*self.payload.get()).store(payload) };
    }

    /// Returns what there is to know of a parallel job.
    ///
    /// # Safety
    ///
    /// As for `task`.
    #[inline]
    pub(crate) unsafe fn parallel(&self) -> &Parallel {
        // SAFETY: by this function's contract nobody changes it meanwhile, but for the atomics in it.
        unsafe { &*self.parallel.get() }
    }

    /// Returns what there is to know of a parallel job, to change it.
    ///
    /// # Safety
    ///
    /// As for `task_mut`.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "exclusive by the function's contract")]
    pub(crate) unsafe fn parallel_mut(&self) -> &mut Parallel {
        // SAFETY: by this function's contract nobody else reads it meanwhile.
        unsafe { &mut *self.parallel.get() }
    }

    /// Returns the owner's notes.
    ///
    /// # Safety
    ///
    /// The caller is the owner: no other thread uses the notes meanwhile.
    #[inline]
    pub(crate) unsafe fn notes(&self) -> Notes<'_> {
        Notes { side: &self.side, more: &self.more }
    }

    /// Notes that the job panicked, or must not run because another did. Of several panics the
    /// earliest stays.
    #[cold]
    pub(crate) fn fail(&self, panic: Arc<JobPanic>) {
        let mut kept = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|kept| panic.precedes(kept)) {
            *kept = Some(panic);
        }
        // Relaxed: read after the gate was left, the list closed or the pending count lowered.
        self.failed.store(1, Ordering::Relaxed);
    }

    /// Returns why the job failed, if it did.
    #[inline]
    pub(crate) fn failure(&self) -> Option<Arc<JobPanic>> {
        if !self.has_failed() {
            return None;
        }
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says whether the job failed.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed) != 0
    }

    /// Forgets why the job failed. Owner only.
    #[cold]
    pub(crate) fn forget_failure(&self) {
        self.failed.store(0, Ordering::Relaxed);
        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl TaskFunctions {
    /// Those of a job that only waits for others.
    pub(crate) const JOIN: Self = Self { kind: TaskKind::Join, drop: |_| {}, settle: None };
}

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
//! the node is the owner's again. The owner's part (`OwnerSide`) is never touched by anyone else.
//!
//! *Recycling.* Nodes are never freed while the pool lives, so a stale ticket leads to a node, if not
//! to the job it was made for; the gate turns it away or lets it do useful work.
#![expect(
    unsafe_code,
    reason = "shares one job's data between the threads that the protocol admits"
)]

use std::cell::UnsafeCell;
use std::sync::{Arc, Mutex, PoisonError};

use crate::dependents::{Dependents, Edge};
use crate::failure::JobPanic;
use crate::gate::Gate;
use crate::handle::JobId;
use crate::payload::Payload;
use crate::primitive::{AtomicU32, AtomicU64, Ordering};
use crate::ranges::Ranges;
use crate::work::Claims;

/// No node, in links.
pub(crate) const NO_NODE: u32 = u32::MAX;

/// The place of one job.
#[repr(align(128))]
pub(crate) struct Node {
    /// The sequence number of the job that is here; zero in a free node.
    pub(crate) sequence: AtomicU64,
    /// How many jobs this one still waits for, and one more while it is being published.
    pub(crate) pending: AtomicU32,
    pub(crate) gate: Gate,
    pub(crate) dependents: Dependents,
    /// One when `panic` is set. Read by the threads of the protocol, whose edges order it.
    failed: AtomicU32,
    panic: Mutex<Option<Arc<JobPanic>>>,
    task: UnsafeCell<Task>,
    owner: UnsafeCell<OwnerSide>,
}

// SAFETY: `sequence`, `pending`, `gate`, `dependents`, `failed` and `panic` are made for sharing.
// `task` and `owner` are reached only through the unsafe functions below, whose contracts are the
// protocol above. What a payload holds is `Send` (and `Sync` where batches share it): that is asked
// of it where it is stored.
unsafe impl Sync for Node {}
// SAFETY: as above; nothing in a node is bound to a thread.
unsafe impl Send for Node {}

/// What there is to do.
pub(crate) struct Task {
    pub(crate) functions: &'static TaskFunctions,
    pub(crate) name: &'static str,
    /// How many indices, how many of them to a batch, and how many batches that makes. Atomics for
    /// the sake of deferred jobs, whose first participant sets the count; ordered by the gate.
    pub(crate) count: AtomicU64,
    pub(crate) batch: usize,
    pub(crate) batches: AtomicU32,
    /// The seed of the batch order, when shuffling.
    pub(crate) shuffle: Option<u64>,
    /// The lanes of a parallel job.
    pub(crate) ranges: Option<Arc<Ranges>>,
    /// Which of the pool's owners sleeps until this job has finished, if one does.
    pub(crate) owner: u32,
    pub(crate) payload: Payload,
}

/// What a job's payload can do. One for each kind of job and type of data and closure.
pub(crate) struct TaskFunctions {
    pub(crate) kind: TaskKind,
    /// Runs the job: a single job once, which consumes the payload; a parallel one once for every
    /// participant, with its claims.
    ///
    /// # Safety
    ///
    /// - The payload holds what the functions are for.
    /// - A single job is run once. A parallel job is run with claims that give each batch to one
    ///   participant.
    /// - The safety check has passed, and what the job depends on has finished.
    pub(crate) run: unsafe fn(payload: *mut u8, claims: &mut Claims),
    /// Drops the payload of a parallel job that has finished, or of any job that does not run.
    ///
    /// # Safety
    ///
    /// - The payload holds what the functions are for, and nobody uses it.
    /// - It was not consumed, and is not used again.
    pub(crate) drop: unsafe fn(payload: *mut u8),
}

/// How a job is run.
#[derive(Clone, Copy)]
pub(crate) enum TaskKind {
    /// Nothing to run: it only waits for others.
    Join,
    /// One call.
    Single,
    /// One call for each participant.
    Parallel,
    /// The same, with a count that is asked for when everything before it has finished. The safety
    /// contract of the function is that of `TaskFunctions::run`.
    Deferred(unsafe fn(payload: *mut u8) -> usize),
}

/// The owner's notes on a node.
pub(crate) struct OwnerSide {
    /// The jobs this one depends on, finished or not, as they were when it was scheduled.
    pub(crate) dependencies: Vec<Dependency>,
    /// A link for each of them, once published. On the heap, so that a link that others can see is
    /// never covered by a reference to this struct.
    pub(crate) edges: Vec<Edge>,
    /// Neighbours in the list of all uncompleted jobs, and in the list of held ones.
    pub(crate) live: Links,
    pub(crate) held: Links,
    /// Whether it is in that second list: scheduled, and known to the owner alone.
    pub(crate) is_held: bool,
    /// The last walk over the graph that came by.
    pub(crate) mark: u64,
    /// How many of the dependencies had not finished, as that walk found.
    pub(crate) unfinished: u32,
}

/// A job that another depends on.
#[derive(Clone, Copy)]
pub(crate) struct Dependency {
    pub(crate) job: JobId,
    /// Whether the other must not run if this one fails, or is only ordered after it.
    pub(crate) passes_failure: bool,
}

/// Neighbours in a list of nodes.
#[derive(Clone, Copy)]
pub(crate) struct Links {
    pub(crate) previous: u32,
    pub(crate) next: u32,
}

impl Links {
    pub(crate) const NONE: Self = Self {
        previous: NO_NODE,
        next: NO_NODE,
    };
}

impl Node {
    pub(crate) fn new() -> Self {
        Self {
            sequence: AtomicU64::new(0),
            pending: AtomicU32::new(0),
            gate: Gate::new(),
            dependents: Dependents::new(),
            failed: AtomicU32::new(0),
            panic: Mutex::new(None),
            task: UnsafeCell::new(Task {
                functions: &TaskFunctions::JOIN,
                name: "",
                count: AtomicU64::new(0),
                batch: 1,
                batches: AtomicU32::new(0),
                shuffle: None,
                ranges: None,
                owner: 0,
                payload: Payload::new(),
            }),
            owner: UnsafeCell::new(OwnerSide {
                dependencies: Vec::new(),
                edges: Vec::new(),
                live: Links::NONE,
                held: Links::NONE,
                is_held: false,
                mark: 0,
                unfinished: 0,
            }),
        }
    }

    /// Says whether the job with this number is here still, that is, was not completed. If not, all
    /// that it did is visible to the caller.
    #[inline]
    pub(crate) fn holds(&self, sequence: u64) -> bool {
        // Acquire pairs with the release in `clear_sequence`.
        self.sequence.load(Ordering::Acquire) == sequence
    }

    /// Ends the job's stay: its handle is complete from now on. Owner only.
    #[inline]
    pub(crate) fn clear_sequence(&self) {
        // Release pairs with `holds`: a container that was moved to another thread sees what the job
        // did as soon as it sees that the job was completed.
        self.sequence.store(0, Ordering::Release);
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

    /// Returns the owner's notes.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and has no mutable reference to the notes.
    #[inline]
    pub(crate) unsafe fn notes(&self) -> &OwnerSide {
        // SAFETY: by this function's contract.
        unsafe { &*self.owner.get() }
    }

    /// Returns the owner's notes, to change them.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and has no other reference to the notes.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "exclusive by the function's contract")]
    pub(crate) unsafe fn notes_mut(&self) -> &mut OwnerSide {
        // SAFETY: by this function's contract.
        unsafe { &mut *self.owner.get() }
    }

    /// Returns where the links in the list of all uncompleted jobs are. They are the owner's.
    pub(crate) fn live_links(&self) -> *mut Links {
        // SAFETY: computes an address in the node, and reads nothing.
        unsafe { &raw mut (*self.owner.get()).live }
    }

    /// Returns where the links in the list of held jobs are. They are the owner's.
    pub(crate) fn held_links(&self) -> *mut Links {
        // SAFETY: as above.
        unsafe { &raw mut (*self.owner.get()).held }
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
        self.panic
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
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
    pub(crate) const JOIN: Self = Self {
        kind: TaskKind::Join,
        run: |_, _| {},
        drop: |_| {},
    };
}

//! A node: the storage of one job, from scheduling to completion.
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
//! *Access.* The sequence number is written by the owner and read by any thread. While a node is held, all of it belongs to the
//! owner. Publishing the node makes the task available to the threads that passed the gate, until the last of them closes the list
//! of dependents. Then all of the node belongs to the owner again. Other threads never access the owner's notes.
//!
//! *Recycling.* Nodes are never freed while the pool exists. So a stale ticket always leads to a node, although perhaps to a later
//! job of that node. The gate refuses the thread with that ticket, or lets it work on the later job.
#![expect(
    unsafe_code,
    reason = "shares one job's data between the threads that the protocol admits"
)]

use std::alloc::{self, Layout};
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, offset_of};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, PoisonError};

use crate::claims::Claims;
use crate::dependents::Dependents;
use crate::failure::JobPanic;
use crate::gate::Gate;
use crate::notes::{Notes, OwnerMore, OwnerSide};
use crate::primitive::{AtomicU32, AtomicU64, Ordering};
use crate::ranges::Ranges;
use crate::sequence::Sequence;

/// The storage of one job.
///
/// A small job fits in the first two cache lines. The first line has the task and the state that other threads read. The second
/// line has the owner's notes and the payload.
#[repr(C, align(64))]
pub(crate) struct Node {
    /// The sequence number of the current job, or zero in a free node.
    pub(crate) sequence: Sequence,
    pub(crate) dependents: Dependents,
    /// The number of jobs for which this job still waits, plus one while it is being published. Zero at all other times, including
    /// when the next job reuses the node.
    pub(crate) pending: AtomicU32,
    pub(crate) gate: Gate,
    /// One if `panic` is set. It is read by threads that synchronise through the gate, the list of dependents or the pending count.
    failed: AtomicU32,
    /// Set if the payload was spilled. It is stored apart from the payload, so that a small job needs one cache line less.
    spilled: UnsafeCell<bool>,
    task: UnsafeCell<Task>,
    side: OwnerSide,
    payload: UnsafeCell<Payload>,
    parallel: UnsafeCell<Parallel>,
    more: OwnerMore,
    panic: Mutex<Option<Arc<JobPanic>>>,
}

// If pointers are smaller, more of a job fits in the first cache line.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(offset_of!(Node, side) == 64);
    assert!(offset_of!(Node, payload) == 96);
};

// SAFETY: `sequence`, `pending`, `gate`, `dependents`, `failed` and `panic` are `Sync`. The cells are accessed only through the
// unsafe functions of this file, whose contracts are the protocol in its header. A payload is `Send` (and `Sync` if batches share
// it), which is required where it is stored.
unsafe impl Sync for Node {}
// SAFETY: no field of a node is bound to a thread, and a payload is `Send`, which is required where it is stored.
unsafe impl Send for Node {}

/// The work of a node: the job's functions, name and owner.
#[repr(C)]
pub(crate) struct Task {
    /// The number of the owner in the pool. This owner may sleep until the job has finished.
    pub(crate) owner: u32,
    /// The number of the scheduler.
    pub(crate) scheduler: u32,
    pub(crate) functions: &'static TaskFunctions,
    pub(crate) name: &'static str,
}

/// The state of a parallel job.
pub(crate) struct Parallel {
    /// The number of indices, the number of indices per batch, and the number of batches. They are atomic, because the first
    /// participant of a deferred job sets the count. The gate orders the accesses.
    pub(crate) count: AtomicU64,
    pub(crate) batch: usize,
    pub(crate) batches: AtomicU32,
    /// The seed of the order of batches, when shuffling.
    pub(crate) shuffle: Option<u64>,
    /// The lanes, if several threads share the job.
    pub(crate) ranges: Option<Arc<Ranges>>,
}

/// The functions of a job's type-erased payload. There is one instance for each combination of job kind, data type and closure
/// type.
pub(crate) struct TaskFunctions {
    pub(crate) kind: TaskKind,
    /// Drops the payload of a parallel job that has finished, or of any job that does not run.
    ///
    /// # Safety
    ///
    /// - The payload has the type that the functions are for, and no thread uses it.
    /// - The payload was not consumed, and is not used again.
    pub(crate) drop: unsafe fn(payload: *mut u8),
    /// Settles the writes of a parallel job, keeps or discards them by `failed`, and drops the payload.
    ///
    /// # Safety
    ///
    /// - The payload has the type that the functions are for, and no thread uses it.
    /// - All participants have left, and the payload was not dropped. The payload is not used again.
    pub(crate) settle: Option<unsafe fn(payload: *mut u8, failed: bool)>,
}

/// The function that runs a job, by the kind of job.
///
/// # Safety
///
/// All functions have the same contract:
///
/// - The payload has the type that the functions are for.
/// - A single job is run once, which consumes the payload. A parallel job is run once for each participant, with
///   claims that assign each batch to one participant.
/// - The safety check has passed, and the job's dependencies have finished.
#[derive(Clone, Copy)]
pub(crate) enum TaskKind {
    /// Runs nothing: the job only waits for other jobs.
    Join,
    /// Calls the function once.
    Single(unsafe fn(payload: *mut u8)),
    /// Calls the function once for each participant.
    Parallel(unsafe fn(payload: *mut u8, claims: &mut Claims)),
    /// Calls the second function once for each participant. The first function computes the count, when all dependencies have
    /// finished and no thread uses the payload.
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
        // SAFETY: the caller says that no thread changes the task during the borrow.
        unsafe { &*self.task.get() }
    }

    /// Returns the task for writing.
    ///
    /// # Safety
    ///
    /// The caller is the owner of a node that is free, held or finished, and has no other reference
    /// to the task.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "exclusive by the function's contract")]
    pub(crate) unsafe fn task_mut(&self) -> &mut Task {
        // SAFETY: the caller says that no other reference to the task is in use.
        unsafe { &mut *self.task.get() }
    }

    /// Returns the address of the payload.
    ///
    /// # Safety
    ///
    /// The caller is the owner of a node that is held or finished, or passed the gate of a published one and the list
    /// of dependents was not closed since.
    #[inline]
    pub(crate) unsafe fn payload(&self) -> *mut u8 {
        // SAFETY: the caller says that no thread stores another payload during the call.
        unsafe { (*self.payload.get()).get(*self.spilled.get()) }
    }

    /// Stores the payload.
    ///
    /// # Safety
    ///
    /// The caller is the owner of a node that is free, held or finished, and has no other reference to the payload.
    #[inline]
    pub(crate) unsafe fn store_payload<P>(&self, payload: P) {
        // SAFETY: the caller says that no other reference to the payload is in use.
        unsafe { *self.spilled.get() = (*self.payload.get()).store(payload) };
    }

    /// Returns the state of a parallel job.
    ///
    /// # Safety
    ///
    /// The caller is the owner of a node that is held or finished, or passed the gate of a published one and the list
    /// of dependents was not closed since.
    #[inline]
    pub(crate) unsafe fn parallel(&self) -> &Parallel {
        // SAFETY: the caller says that no thread changes the state during the borrow, except for its atomics.
        unsafe { &*self.parallel.get() }
    }

    /// Returns the state of a parallel job for writing.
    ///
    /// # Safety
    ///
    /// The caller is the owner of a node that is free, held or finished, and has no other reference to the state.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "exclusive by the function's contract")]
    pub(crate) unsafe fn parallel_mut(&self) -> &mut Parallel {
        // SAFETY: the caller says that no other reference to the state is in use.
        unsafe { &mut *self.parallel.get() }
    }

    /// Returns the owner's notes.
    ///
    /// # Safety
    ///
    /// The caller is the owner, so no other thread uses the notes.
    #[inline]
    pub(crate) unsafe fn notes(&self) -> Notes<'_> {
        Notes { side: &self.side, more: &self.more }
    }

    /// Records that the job panicked, or that it must not run because another job panicked. If there are several panics, the
    /// earliest is kept.
    #[cold]
    pub(crate) fn fail(&self, panic: Arc<JobPanic>) {
        let mut kept = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|kept| panic.precedes(kept)) {
            *kept = Some(panic);
        }
        // `Relaxed` is enough: it is read after the gate was left, the list was closed or the pending count was decreased.
        self.failed.store(1, Ordering::Relaxed);
    }

    /// Returns the panic that made the job fail, if it failed.
    #[inline]
    pub(crate) fn failure(&self) -> Option<Arc<JobPanic>> {
        if !self.has_failed() {
            return None;
        }
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether the job failed.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed) != 0
    }

    /// Clears the failure of the job. Only the owner calls this method.
    #[cold]
    pub(crate) fn forget_failure(&self) {
        self.failed.store(0, Ordering::Relaxed);
        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl TaskFunctions {
    /// The functions of a job that only waits for others.
    pub(crate) const JOIN: Self = Self { kind: TaskKind::Join, drop: |_| {}, settle: None };
}

/// Inline capacity in bytes. The data and the closure of most jobs fit: a few container references and captures.
const INLINE_BYTES: usize = 160;

#[repr(align(16))]
struct Inline(UnsafeCell<MaybeUninit<[u8; INLINE_BYTES]>>);

/// Untyped storage for one value. Code that stores a value also has to run or drop it, and to keep the flag that says whether it
/// was spilled.
#[repr(C)]
struct Payload {
    inline: Inline,
    /// Memory for a value that does not fit inline. It is kept for the node's next large job, so a program that schedules the same
    /// jobs in every frame does not allocate.
    spill: Option<(NonNull<u8>, Layout)>,
}

impl Payload {
    fn new() -> Self {
        let inline = Inline(UnsafeCell::new(MaybeUninit::uninit()));
        Self { inline, spill: None }
    }

    /// Stores a value. Returns whether the value was spilled. The previous value is overwritten without being dropped.
    fn store<T>(&mut self, value: T) -> bool {
        let layout = Layout::new::<T>();
        let spilled = layout.size() > INLINE_BYTES || layout.align() > align_of::<Inline>();
        if spilled {
            self.reserve(layout);
        }
        // SAFETY: the address was chosen for the size and alignment of `T`, and `&mut self` excludes other accesses.
        unsafe { ptr::write(self.get(spilled).cast::<T>(), value) };
        spilled
    }

    /// Returns the address of the value, inline or spilled.
    #[inline]
    fn get(&self, spilled: bool) -> *mut u8 {
        if spilled && let Some((memory, _)) = self.spill {
            return memory.as_ptr();
        }
        self.inline.0.get().cast()
    }

    #[cold]
    fn reserve(&mut self, layout: Layout) {
        if let Some((_, kept)) = self.spill
            && kept.size() >= layout.size()
            && kept.align() >= layout.align()
        {
            return;
        }
        self.release();
        // A zero-sized type with a large alignment spills too, and an allocation must not have size zero.
        let layout = Layout::from_size_align(layout.size().max(layout.align()), layout.align())
            .expect("a type's size rounded up to its alignment fits in memory");
        // SAFETY: the size is at least the alignment, which is at least one.
        let memory = unsafe { alloc::alloc(layout) };
        let Some(memory) = NonNull::new(memory) else { alloc::handle_alloc_error(layout) };
        self.spill = Some((memory, layout));
    }

    fn release(&mut self) {
        if let Some((memory, layout)) = self.spill.take() {
            // SAFETY: the memory was allocated by `reserve` with this layout. It was taken out of `spill`, so it is freed once.
            unsafe { alloc::dealloc(memory.as_ptr(), layout) };
        }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.release();
    }
}

//! The list of jobs that wait for a job, closed when the job has finished.
//!
//! The list is a Treiber stack with one pusher. Only the scheduler's owner adds edges. Only the thread that finishes the job takes
//! them, once, by closing the list, and then releases the jobs of these edges. After that, adding an edge fails, which shows the
//! owner that the job has finished. The edges are stored in the nodes of the waiting jobs, which cannot be recycled before their
//! edges were released.
//!
//! A closed list also marks the job as finished. After closing, only the owner accesses the node of the finished job, so the owner
//! may recycle the node immediately.
//!
//! ```text
//! head   null             no edge yet
//!        edge             the newest edge; `Edge::next` leads on
//!        either, bit 0    the owner sleeps until this job has finished
//!        CLOSED (bit 1)   finished
//! ```
#![expect(unsafe_code, reason = "follows the pointers of an intrusive list")]

use std::ptr;

use crate::primitive::{AtomicPtr, Ordering};

/// An edge of the graph: the wait of one job for another. It is linked into the list of the awaited job.
#[derive(Debug)]
#[repr(align(8))]
pub(crate) struct Edge {
    /// The node of the job that waits.
    pub(crate) dependent: u32,
    /// Set if the waiting job does not run when the awaited job fails.
    pub(crate) passes_failure: bool,
    next: *const Edge,
}

impl Edge {
    /// Creates an edge that is in no list.
    pub(crate) const fn new(dependent: u32, passes_failure: bool) -> Self {
        Self { dependent, passes_failure, next: ptr::null() }
    }
}

const WAITING: usize = 0b01;
const CLOSED: usize = 0b10;

/// The list of dependents of one job.
#[derive(Debug)]
pub(crate) struct Dependents {
    head: AtomicPtr<Edge>,
}

/// The edges of a closed list, which the thread that finished the job takes.
#[derive(Debug)]
pub(crate) struct Released {
    next: *const Edge,
    /// Set if the owner sleeps until this job has finished.
    pub(crate) owner_waits: bool,
}

impl Dependents {
    /// Creates an open, empty list.
    pub(crate) fn new() -> Self {
        Self { head: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Opens the list again for the node's next job. Only the owner calls this method, while no other thread can reach the node.
    pub(crate) fn reopen(&self) {
        self.head.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Adds an edge. Returns false if the job has finished. Only the owner calls this method.
    ///
    /// # Safety
    ///
    /// - `edge` is valid, in no other list, and does not move until it was released.
    /// - No reference to `edge` is in use until it was released.
    pub(crate) unsafe fn push(&self, edge: *mut Edge) -> bool {
        let head = self.head.load(Ordering::Acquire);
        if is_closed(head) {
            return false;
        }
        // SAFETY: the caller says that the edge is valid, and that no other code uses it.
        unsafe { (*edge).next = head };
        // Release pairs with the swap of `close`: the finishing thread sees the edge and the waiting node. The finishing thread is
        // the only other writer, so a failure means that the list was closed. Acquire then pairs with that swap, so that the owner
        // sees the writes of the job.
        self.head.compare_exchange(head, edge, Ordering::Release, Ordering::Acquire).is_ok()
    }

    /// Requests that the thread that finishes the job wakes the owner. Returns false if the job has finished. Only the owner calls
    /// this method.
    pub(crate) fn wait_for(&self) -> bool {
        let head = self.head.load(Ordering::Acquire);
        if is_closed(head) {
            return false;
        }
        let marked = head.map_addr(|address| address | WAITING);
        // Release keeps the edges below this head published. Acquire pairs with the swap of `close`, so that the owner sees the
        // writes of the job.
        self.head.compare_exchange(head, marked, Ordering::Release, Ordering::Acquire).is_ok()
    }

    /// Returns whether the job has finished. If so, all its writes are visible to the caller.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // Acquire pairs with the swap of `close`.
        is_closed(self.head.load(Ordering::Acquire))
    }

    /// Finishes a job whose node was never published. Only the owner calls this method, while no other thread can reach the node.
    #[inline]
    pub(crate) fn close_private(&self) {
        self.head.store(ptr::without_provenance_mut(CLOSED), Ordering::Relaxed);
    }

    /// Finishes the job and takes the edges. The thread that finished the job calls this method once, and must not access the node
    /// afterwards.
    pub(crate) fn close(&self) -> Released {
        // Release: the writes of the job are visible to a thread that sees the closed list. Acquire pairs with `push`: the edges
        // are visible here.
        let head = self.head.swap(ptr::without_provenance_mut(CLOSED), Ordering::AcqRel);
        Released { next: untagged(head), owner_waits: head.addr() & WAITING != 0 }
    }
}

impl Released {
    /// Returns the waiting node of the next edge, and whether a failure is passed to it.
    ///
    /// The edge is read before this method returns. When the caller has released the waiting node, the edge may be freed.
    pub(crate) fn next(&mut self) -> Option<(u32, bool)> {
        // SAFETY: the contract of `push` says that edges in a list are valid until they are released. This edge was not released
        // yet, and the swap in `close` made its contents visible.
        let edge = unsafe { self.next.as_ref() }?;
        let (dependent, passes_failure) = (edge.dependent, edge.passes_failure);
        self.next = untagged(edge.next.cast_mut());
        Some((dependent, passes_failure))
    }
}

fn is_closed(head: *mut Edge) -> bool {
    head.addr() & CLOSED != 0
}

fn untagged(head: *mut Edge) -> *const Edge {
    head.map_addr(|address| address & !WAITING)
}

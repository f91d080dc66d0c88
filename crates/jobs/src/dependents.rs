//! The list of jobs that wait for a job, closed when the job has finished.
//!
//! A Treiber stack with one pusher: only the scheduler's owner adds edges, and only the thread that
//! finishes the job takes them, once, by closing the list. An edge added before the close is
//! released by the finisher; an edge that comes too late is refused, and the owner knows that the
//! job is done. The edges live in the waiting jobs' own nodes, which cannot be recycled before they
//! were released.
//!
//! The closed list is also how a job is known to be finished: nobody but the owner touches the
//! finished job's node after the close, so the owner may recycle it at once.
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

/// One job's wait for another: a link of the other's list.
#[derive(Debug)]
#[repr(align(8))]
pub(crate) struct Edge {
    /// The node of the job that waits.
    pub(crate) dependent: u32,
    /// Whether the failure of the job that is waited for keeps the waiting one from running.
    pub(crate) passes_failure: bool,
    next: *const Edge,
}

impl Edge {
    /// Makes an edge that is in no list.
    pub(crate) const fn new(dependent: u32, passes_failure: bool) -> Self {
        Self { dependent, passes_failure, next: ptr::null() }
    }
}

const WAITING: usize = 0b01;
const CLOSED: usize = 0b10;

/// The list.
#[derive(Debug)]
pub(crate) struct Dependents {
    head: AtomicPtr<Edge>,
}

/// What the finisher finds when it closes the list.
#[derive(Debug)]
pub(crate) struct Released {
    next: *const Edge,
    /// Whether the owner sleeps until this job has finished.
    pub(crate) owner_waits: bool,
}

impl Dependents {
    /// Makes an open, empty list.
    pub(crate) fn new() -> Self {
        Self { head: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Opens the list again for the node's next job. Owner only, when nobody else knows the node.
    pub(crate) fn reopen(&self) {
        self.head.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Adds an edge, or returns false when the job has finished. Owner only.
    ///
    /// # Safety
    ///
    /// - `edge` is valid, in no other list, and stays in place until it was released.
    /// - No reference to it is in use until then.
    pub(crate) unsafe fn push(&self, edge: *mut Edge) -> bool {
        let head = self.head.load(Ordering::Acquire);
        if is_closed(head) {
            return false;
        }
        // SAFETY: the edge is valid and not shared yet, by this function's contract.
        unsafe { (*edge).next = head };
        // Release pairs with the swap of `close`: the finisher sees the edge and the waiting node.
        // The only other writer is the finisher, so a failure means that the list was closed.
        // Acquire then pairs with that swap, so that the owner sees what the job did.
        self.head.compare_exchange(head, edge, Ordering::Release, Ordering::Acquire).is_ok()
    }

    /// Asks the finisher to wake the owner; returns false when the job has finished. Owner only.
    pub(crate) fn wait_for(&self) -> bool {
        let head = self.head.load(Ordering::Acquire);
        if is_closed(head) {
            return false;
        }
        let marked = head.map_addr(|address| address | WAITING);
        // Release keeps the edges below this head published; Acquire as in `push`.
        self.head.compare_exchange(head, marked, Ordering::Release, Ordering::Acquire).is_ok()
    }

    /// Says whether the job has finished; if so, all it did is visible to the caller.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // Acquire pairs with the swap of `close`.
        is_closed(self.head.load(Ordering::Acquire))
    }

    /// Finishes a job that no other thread knows of. Owner only, for nodes that were never published.
    #[inline]
    pub(crate) fn close_private(&self) {
        self.head.store(ptr::without_provenance_mut(CLOSED), Ordering::Relaxed);
    }

    /// Finishes the job and takes the edges. Once, by the thread that finished it, which must not
    /// touch the node afterwards.
    pub(crate) fn close(&self) -> Released {
        // Release: all the job did is visible to whoever finds the list closed. Acquire pairs with
        // `push`: the edges are visible to us.
        let head = self.head.swap(ptr::without_provenance_mut(CLOSED), Ordering::AcqRel);
        Released { next: untagged(head), owner_waits: head.addr() & WAITING != 0 }
    }
}

impl Released {
    /// Returns the next edge's waiting node and whether failure passes to it.
    ///
    /// The edge is read before it is returned: as soon as the caller has released the waiting node,
    /// the edge may be gone.
    pub(crate) fn next(&mut self) -> Option<(u32, bool)> {
        // SAFETY: edges in a list are valid until released (contract of `push`), this one was not
        // released yet, and the swap in `close` made its contents visible.
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

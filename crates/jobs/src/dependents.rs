//! The list of jobs that wait for a job, closed when the job has finished.
//!
//! A Treiber stack with one pusher. Only the scheduler's owner adds edges. Only the thread that finishes the job
//! takes them, once, by closing the list. An edge added before the close is released by the finisher. An edge that
//! comes too late is refused, which tells the owner that the job is done. The edges are stored in the waiting jobs'
//! own nodes, which cannot be recycled before the edges were released.
//!
//! The closed list also marks a job as finished. After the close only the owner touches the finished job's node, so
//! the owner may recycle it at once.
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

/// An edge of the graph: one job's wait for another, linked into the other job's list.
#[derive(Debug)]
#[repr(align(8))]
pub(crate) struct Edge {
    /// The node of the job that waits.
    pub(crate) dependent: u32,
    /// Set if a failure of the awaited job keeps the waiting job from running.
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

/// The list of dependents of one job.
#[derive(Debug)]
pub(crate) struct Dependents {
    head: AtomicPtr<Edge>,
}

/// The contents of a list that was closed, as the finisher takes them.
#[derive(Debug)]
pub(crate) struct Released {
    next: *const Edge,
    /// Set if the owner sleeps until this job has finished.
    pub(crate) owner_waits: bool,
}

impl Dependents {
    /// Makes an open, empty list.
    pub(crate) fn new() -> Self {
        Self { head: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Opens the list again for the node's next job. Owner only, while no other thread can reach the node.
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

    /// Requests that the finisher wake the owner; returns false when the job has finished. Owner only.
    pub(crate) fn wait_for(&self) -> bool {
        let head = self.head.load(Ordering::Acquire);
        if is_closed(head) {
            return false;
        }
        let marked = head.map_addr(|address| address | WAITING);
        // Release keeps the edges below this head published. Acquire pairs with the swap of `close`, so that the
        // owner sees what the job did.
        self.head.compare_exchange(head, marked, Ordering::Release, Ordering::Acquire).is_ok()
    }

    /// Returns whether the job has finished. If so, all its writes are visible to the caller.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // Acquire pairs with the swap of `close`.
        is_closed(self.head.load(Ordering::Acquire))
    }

    /// Finishes a job that no other thread can reach. Owner only, for nodes that were never published.
    #[inline]
    pub(crate) fn close_private(&self) {
        self.head.store(ptr::without_provenance_mut(CLOSED), Ordering::Relaxed);
    }

    /// Finishes the job and takes the edges. Called once, by the thread that finished the job. That thread must not
    /// touch the node afterwards.
    pub(crate) fn close(&self) -> Released {
        // Release: everything the job did is visible to a thread that sees the list closed. Acquire pairs with
        // `push`: the edges are visible here.
        let head = self.head.swap(ptr::without_provenance_mut(CLOSED), Ordering::AcqRel);
        Released { next: untagged(head), owner_waits: head.addr() & WAITING != 0 }
    }
}

impl Released {
    /// Returns the waiting node of the next edge, and whether failure passes to it.
    ///
    /// The edge is read before this returns: once the caller has released the waiting node, the edge may be freed.
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

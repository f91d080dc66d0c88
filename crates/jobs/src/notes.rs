//! The owner's notes in a node: the job's dependencies, and its state.
//!
//! All fields are cells, because the owner is one thread, and no reference into the notes outlives a call.

use std::cell::{Cell, RefCell};

use crate::dependents::Edge;
use crate::handle::JobId;

/// The notes that every job needs.
#[repr(C)]
#[derive(Default)]
pub(crate) struct OwnerSide {
    /// The number of the last walk over the graph that visited the node.
    mark: Cell<u64>,
    /// The first dependency. Most jobs have at most one.
    first: Cell<Dependency>,
    count: Cell<u32>,
    /// Set if the job is scheduled, but not yet visible to other threads.
    is_held: Cell<bool>,
    /// The number of containers whose slots contain the job. At the maximum, the number is unknown.
    container_count: Cell<u16>,
}

/// The notes that only published jobs and jobs with several dependencies need.
#[derive(Default)]
pub(crate) struct OwnerMore {
    others: RefCell<Vec<Dependency>>,
    /// An edge for each dependency of a published job. The edges are on the heap, and the owner does not access them while other
    /// threads can see them.
    edges: RefCell<Vec<Edge>>,
}

/// A job on which another job depends.
#[derive(Clone, Copy, Default)]
pub(crate) struct Dependency {
    sequence: u64,
    node: u32,
    /// Set if the other job does not run when this job fails. If not set, the other job is only ordered after this one.
    pub(crate) passes_failure: bool,
}

/// The owner's notes in one node.
#[derive(Clone, Copy)]
pub(crate) struct Notes<'n> {
    pub(crate) side: &'n OwnerSide,
    pub(crate) more: &'n OwnerMore,
}

impl Dependency {
    #[inline]
    pub(crate) fn new(job: JobId, passes_failure: bool) -> Self {
        Self { sequence: job.sequence, node: job.node, passes_failure }
    }

    #[inline]
    pub(crate) fn job(&self) -> JobId {
        JobId { sequence: self.sequence, node: self.node }
    }
}

impl<'n> Notes<'n> {
    /// Returns the number of the last walk that visited the node.
    #[inline]
    pub(crate) fn mark(self) -> u64 {
        self.side.mark.get()
    }

    #[inline]
    pub(crate) fn set_mark(self, mark: u64) {
        self.side.mark.set(mark);
    }

    /// Returns whether the job is scheduled, but not yet visible to other threads.
    #[inline]
    pub(crate) fn is_held(self) -> bool {
        self.side.is_held.get()
    }

    #[inline]
    pub(crate) fn set_held(self, is_held: bool) {
        self.side.is_held.set(is_held);
    }

    /// Returns whether the slot of a container contains the job, so that it is visible whether the job is completed.
    pub(crate) fn is_in_slots(self) -> bool {
        self.side.container_count.get() > 0
    }

    #[inline]
    pub(crate) fn set_container_count(self, count: usize) {
        self.side.container_count.set(u16::try_from(count).unwrap_or(u16::MAX));
    }

    /// Records that another job has replaced this one in the slot of a container.
    #[inline]
    pub(crate) fn leave_slot(self) {
        let count = self.side.container_count.get();
        if count != u16::MAX {
            self.side.container_count.set(count.saturating_sub(1));
        }
    }

    /// Returns the number of dependencies when the job was scheduled, including those that have finished since.
    #[inline]
    pub(crate) fn dependency_count(self) -> usize {
        self.side.count.get() as usize
    }

    #[inline]
    pub(crate) fn dependency(self, place: usize) -> Option<Dependency> {
        if place >= self.dependency_count() {
            return None;
        }
        if place == 0 {
            return Some(self.side.first.get());
        }
        self.more.others.borrow().get(place - 1).copied()
    }

    /// Returns the sequence number of the first dependency, if there is one.
    #[inline]
    pub(crate) fn first_sequence(self) -> u64 {
        self.side.first.get().sequence
    }

    #[inline]
    pub(crate) fn dependencies(self) -> impl Iterator<Item = Dependency> + use<'n> {
        (0..self.dependency_count()).filter_map(move |place| self.dependency(place))
    }

    #[inline]
    pub(crate) fn clear_dependencies(self) {
        self.side.count.set(0);
    }

    #[inline]
    pub(crate) fn add_dependency(self, dependency: Dependency) {
        let count = self.side.count.get();
        if count == 0 {
            self.side.first.set(dependency);
        } else {
            let mut others = self.more.others.borrow_mut();
            others.truncate(count as usize - 1);
            others.push(dependency);
        }
        self.side.count.set(count + 1);
    }

    /// Reserves capacity for `count` edges, and removes those of the previous job.
    pub(crate) fn reserve_edges(self, count: usize) {
        let mut edges = self.more.edges.borrow_mut();
        edges.clear();
        edges.reserve(count);
    }

    /// Adds an edge within the reserved capacity, and returns its address. The address is valid until edges are reserved again.
    pub(crate) fn add_edge(self, edge: Edge) -> *mut Edge {
        let mut edges = self.more.edges.borrow_mut();
        debug_assert!(edges.len() < edges.capacity());
        let place = edges.len();
        edges.push(edge);
        edges.as_mut_ptr().wrapping_add(place)
    }
}

//! The work of systems, the moved entities, and the expected results: the same for every subject.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use super::types::{A, B, C, D, E, Value};

pub(super) use super::super::work::{body, in_any_order, two_threads};
pub(super) use crate::parts::storage::work::{body_row, row};

/// Entities of each of the four archetypes that the systems iterate over.
pub(super) const EACH: usize = 10_000;
/// Entities that move to another world.
pub(super) const MOVED: usize = 50_000;

/// Returns an entity of ecs_bench_suite's `schedule`, with a value that depends on the index.
pub(super) fn ab(index: usize) -> (A, B) {
    let index = index as f32;
    (A(index), B(-index))
}

pub(super) fn abc(index: usize) -> (A, B, C) {
    let (a, b) = ab(index);
    (a, b, C(1.0))
}

pub(super) fn abcd(index: usize) -> (A, B, C, D) {
    let (a, b) = ab(index);
    (a, b, C(2.0), D(index as f32))
}

pub(super) fn abce(index: usize) -> (A, B, C, E) {
    let (a, b) = ab(index);
    (a, b, C(3.0), E(index as f32))
}

/// A system without work.
pub(super) fn nothing() {}

/// The number of calls of [`counted`].
static RAN: AtomicU64 = AtomicU64::new(0);

/// A system that counts its runs.
pub(super) fn counted() {
    RAN.fetch_add(1, Ordering::Relaxed);
}

/// Counts the systems that run, with a schedule of [`counted`] in place of [`nothing`]. The timed schedule does not count,
/// because counting costs as much as running.
pub(super) fn count_runs<S>(mut state: S, mut run: impl FnMut(&mut S)) -> u64 {
    let mut ran = || {
        run(&mut state);
        RAN.swap(0, Ordering::Relaxed)
    };
    let first = ran();
    assert_eq!(ran(), first, "the same run each time");
    first
}

/// Swaps two components of one entity, which is the work of a system.
#[inline]
pub(super) fn swap<X: Value, Y: Value>(x: &mut X, y: &mut Y) {
    mem::swap(x.value(), y.value());
}

/// Swaps two components of all entities of slices, like [`swap`].
#[inline]
pub(super) fn swap_all<X: Value, Y: Value>(xs: &mut [X], ys: &mut [Y]) {
    xs.iter_mut().zip(ys).for_each(|(x, y)| swap(x, y));
}

/// Condenses an entity, to the bit, including missing components.
pub(super) fn swapped_row(a: &A, b: &B, c: Option<&C>, d: Option<&D>, e: Option<&E>) -> u64 {
    let [c, d, e] = [c.map(|c| c.0), d.map(|d| d.0), e.map(|e| e.0)];
    row([a.0, b.0].into_iter().chain([c, d, e].map(|value| value.unwrap_or(f32::NAN))))
}

/// Condenses a world that all entities moved to, if none stayed behind.
pub(super) fn moved(left_behind: usize, arrived: u64) -> u64 {
    assert_eq!(left_behind, 0, "all entities move");
    arrived
}

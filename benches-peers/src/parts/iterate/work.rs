//! The operations on entities, and the expected results: the same for every subject.

use std::hint::black_box;

use glam::{Mat4, Vec3};
use rayon::ThreadPoolBuilder;

use super::types::*;
use crate::parts::storage::work::mixed;

pub(super) use crate::parts::storage::work::{
    FEW, MILLION, body, body_row, in_any_order, others, row, shuffled, simple, simple_row,
};

/// Entities in each archetype of the cases of fragments, and of `query_20` and `query_20_of_2000`.
pub(super) const FRAGMENT: usize = 20;
/// Number of passes over all fragments in one operation.
const PASSES: usize = 1_000;
/// Number of entities of the case of heavy work.
pub(super) const HEAVY: usize = 1_000;
/// Number of times that the case of heavy work inverts each entity's matrix.
const INVERSIONS: usize = 100;
/// Length of the runs of enabled and of disabled entities in `enabled_runs_1m`.
pub(super) const RUN: usize = 1_000;
/// Entities that change in the cases of changes.
const CHANGED: usize = MILLION / 100;
/// Rows per batch where a subject takes a batch size: 64 batches of a million.
pub(super) const BATCH: usize = MILLION / 64;

/// Sets up rayon's pool of the process with two threads, one of which is the calling thread. Calls that this thread waits for are
/// faster with this pool than with two other threads.
pub(super) fn two_threads() {
    let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
    pool.build_global().expect("it is the only pool of the process");
}

/// Advances one entity, which is the step of most cases.
#[inline]
pub(super) fn advance(position: &mut Position, velocity: &Velocity) {
    position.0 += velocity.0;
}

/// Advances all entities of slices, like [`advance`].
#[inline]
pub(super) fn advance_all(positions: &mut [Position], velocities: &[Velocity]) {
    for (position, velocity) in positions.iter_mut().zip(velocities) {
        advance(position, velocity);
    }
}

/// Runs a thousand passes over all fragments. The passes double and halve the data in turn, so that it never overflows.
#[inline]
pub(super) fn passes(mut pass: impl FnMut(f32)) {
    for _ in 0..PASSES / 2 {
        pass(black_box(2.0));
        pass(black_box(0.5));
    }
}

/// The factor of an additional pass before a check, which would otherwise see the initial data.
pub(super) const LAST_PASS: f32 = 3.0;

/// Returns the data of an entity of a fragment.
pub(super) fn data(index: usize) -> Data {
    Data(1.0 + index as f32)
}

/// Returns the entity of ecs_bench_suite's `heavy_compute`.
pub(super) fn heavy(_: usize) -> (Transform, Position, Rotation, Velocity) {
    let rotation = Transform(Mat4::from_rotation_x(1.2));
    (rotation, Position(Vec3::X), Rotation(Vec3::X), Velocity(Vec3::X))
}

/// Processes one entity of `heavy_compute`.
#[inline]
pub(super) fn invert(transform: &mut Transform, position: &mut Position) {
    for _ in 0..INVERSIONS {
        transform.0 = transform.0.inverse();
    }
    position.0 = transform.0.transform_vector3(position.0);
}

pub(super) fn heavy_row(transform: &Transform, position: &Position) -> u64 {
    row(transform.0.to_cols_array().into_iter().chain(position.0.to_array()))
}

/// Adds the value that an entity of `lookup_job_1m` and `lookup_job_get_1m` takes from its target.
#[inline]
pub(super) fn take(sum: &mut A, position: &Position) {
    sum.0 += position.0.x;
}

pub(super) fn taken_row(position: &Position, sum: &A) -> u64 {
    row([position.0.x, sum.0])
}

/// Returns an entity of `two_jobs`.
pub(super) fn four(index: usize) -> (A, B, C, D) {
    let index = index as f32;
    (A(index), B(1.0), C(-index), D(2.0))
}

pub(super) fn four_row(a: &A, b: &B, c: &C, d: &D) -> u64 {
    row([a.0, b.0, c.0, d.0])
}

/// Condenses an entity to which a component was added.
pub(super) fn added_row(position: &Position, velocity: &Velocity, added: f32) -> u64 {
    row([position.0.x, position.0.y, velocity.0.x, velocity.0.y, added])
}

/// A pattern of enabled entities.
pub(super) type Pattern = fn(usize) -> bool;

/// Enables a thousand entities, then disables a thousand, and so on.
pub(super) fn in_runs(index: usize) -> bool {
    (index / RUN).is_multiple_of(2)
}

/// Enables half of the entities, unpredictably.
pub(super) fn at_random(index: usize) -> bool {
    mixed(index as u64) & 1 == 0
}

/// Returns the indices of the entities that change, which are contiguous.
pub(super) fn cluster() -> Vec<usize> {
    let first = (MILLION - CHANGED) / 2;
    (first..first + CHANGED).collect()
}

/// Returns the indices of the entities that change, which are scattered.
pub(super) fn scattered() -> Vec<usize> {
    let mut all = shuffled((0..MILLION).collect());
    all.truncate(CHANGED);
    all
}

/// Returns the new value of a changed entity. Other entities hold zero, so that a subject which visits more than the changed ones
/// has the same sum. All sums are exact, in any order.
pub(super) fn changed_value(index: usize, turn: usize) -> A {
    A((1 + index % 4 + turn % 2) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_entities_are_enabled() {
        let enabled = |pattern: Pattern| (0..MILLION).filter(|&index| pattern(index)).count();
        assert_eq!(enabled(in_runs), MILLION / 2);
        assert!(enabled(at_random).abs_diff(MILLION / 2) < MILLION / 100);
    }

    #[test]
    fn one_in_a_hundred_changes_to_another_value_each_turn() {
        for mut changed in [cluster(), scattered()] {
            changed.sort_unstable();
            changed.dedup();
            assert_eq!(changed.len(), CHANGED);
            assert!(changed.iter().all(|&index| index < MILLION));
        }
        assert_ne!(changed_value(7, 0), changed_value(7, 1));
    }
}

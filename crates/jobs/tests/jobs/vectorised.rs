//! The loops of parallel jobs are vectorised around the user's closure.
//!
//! The assertions do nothing in debug builds; `cargo xtask testrelease` runs them.
#![cfg(all(feature = "inspect", feature = "dispatch"))]

use crate::common;

use ancho_burst::inspect::{self, Verdict};
use ancho_burst::{CpuLevel, assert_vectorized};
use ancho_jobs::{JobScheduler, JobSlice};
use common::scheduler;

const COUNT: usize = 1000;

/// By index: the closure sees one element of each slice.
fn advance_each(jobs: &JobScheduler, positions: &mut JobSlice<f32>, velocities: &JobSlice<f32>) {
    let data = (positions.write(), velocities.read());
    let job = jobs.schedule_for_each(&[], data, COUNT, 64, |(position, velocities), index| {
        *position += velocities[index] * 0.5;
    });
    jobs.complete(job.unwrap());
}

/// By batch: the closure gets slices, and has its own loop.
fn advance_batches(jobs: &JobScheduler, positions: &mut JobSlice<f32>, velocities: &JobSlice<f32>) {
    let data = (positions.write(), velocities.read());
    let job = jobs.schedule_parallel(&[], data, COUNT, 64, |(positions, velocities), range| {
        for (position, velocity) in positions.iter_mut().zip(&velocities[range]) {
            *position += velocity * 0.5;
        }
    });
    jobs.complete(job.unwrap());
}

/// With a call that is not inlined.
fn call_each(jobs: &JobScheduler, positions: &mut JobSlice<f32>) {
    let job = jobs.schedule_for_each(&[], positions.write(), COUNT, 64, |position, _| {
        *position = stays_a_call(*position);
    });
    jobs.complete(job.unwrap());
}

#[inline(never)]
fn stays_a_call(value: f32) -> f32 {
    value * 2.0 + 1.0
}

fn run_all() {
    let jobs = scheduler(1);
    let mut positions = JobSlice::new(COUNT, 1.0);
    let velocities = JobSlice::new(COUNT, 2.0);
    advance_each(&jobs, &mut positions, &velocities);
    advance_batches(&jobs, &mut positions, &velocities);
    assert_eq!(positions.as_slice().unwrap(), [3.0; COUNT]);
    call_each(&jobs, &mut positions);
}

#[test]
fn loops_over_indices_and_in_batches_are_vectorised() {
    run_all();
    for level in CpuLevel::ALL {
        assert_vectorized!("advance_each", level);
        assert_vectorized!("advance_batches", level);
    }
}

#[test]
fn only_calls_for_each_element_count() {
    run_all();
    if cfg!(debug_assertions) || !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return;
    }
    let report = inspect::kernel("advance_each").expect("it was run above");
    let instance = report.at(CpuLevel::V3).next().expect("there is an instance at v3");
    let refill = instance.calls.iter().find(|call| call.name.ends_with("Claims::refill"));
    assert!(!refill.expect("more batches are had by a call").in_loop, "{report}");
    let report = inspect::kernel("call_each").expect("it was run above");
    let Verdict::Scalar(reason) = inspect::verdict(&report, CpuLevel::V3) else {
        panic!("it makes a call for each element");
    };
    assert!(reason.contains("vectorised::stays_a_call (in a loop)"), "{reason}");
}

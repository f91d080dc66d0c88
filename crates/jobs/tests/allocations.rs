//! In a steady state, scheduling and running jobs allocates nothing.
//!
//! One test in its own process: it counts the allocations of every thread except the test runner's.

#[path = "jobs/common/mod.rs"]
mod common;
#[path = "common/counting_allocator.rs"]
mod counting_allocator;

use std::sync::atomic::Ordering;

use ancho_jobs::{JobCell, JobHandle, JobScheduler, JobSlice};
use common::{Door, occupy_workers, scheduler};
use counting_allocator::ALLOCATIONS;

/// The number of frames in which allocations are counted. A debug build takes ten times as long for each.
const FRAMES: usize = if cfg!(debug_assertions) { 200 } else { 1000 };

struct Containers {
    positions: JobSlice<f32>,
    velocities: JobSlice<f32>,
    list: JobCell<Vec<u32>>,
    total: JobCell<f64>,
}

/// A hundred jobs: single ones, a chain, parallel ones of three kinds, filters and combinations.
fn frame(jobs: &JobScheduler, data: &mut Containers) {
    let mut handles = [JobHandle::COMPLETED; 100];
    // 40 independent jobs, with captures too large for a few words.
    let large = [1_u64; 16];
    for handle in &mut handles[..40] {
        *handle = jobs.schedule(&[], (), move |()| assert_eq!(large[15], 1)).unwrap();
    }
    // A chain of 20 on one container, in parallel with readers of another.
    let mut last = JobHandle::COMPLETED;
    for handle in &mut handles[40..60] {
        let access = (data.total.write(), data.velocities.read());
        last = jobs
            .schedule(&[last], access, |(total, velocities)| {
                *total += f64::from(velocities[0]);
            })
            .unwrap();
        *handle = last;
    }
    // 20 parallel jobs, each after the one before.
    let mut last = JobHandle::COMPLETED;
    for handle in &mut handles[60..80] {
        let access = (data.positions.write(), data.velocities.read());
        last = jobs
            .schedule_for_each(&[last], access, 1000, 64, |(position, velocities), i| {
                *position += velocities[i];
            })
            .unwrap();
        *handle = last;
    }
    let access = (data.positions.read(), data.list.read());
    handles[80] = jobs
        .named("Deferred")
        .schedule_deferred(&[last], access, |(positions, _)| positions.len(), 128, |_, _| {})
        .unwrap();
    handles[81] = jobs.combine(&[handles[80], last]).unwrap();
    let before = [handles[81]];
    handles[82] = jobs
        .named("Fill")
        .after(&before)
        .schedule_append(&[], data.list.write(), (), 10, |(), i| i % 2 == 0)
        .unwrap();
    handles[83] = jobs
        .named("Filter")
        .schedule_filter(&[handles[82]], data.list.write(), (), |(), _| false)
        .unwrap();
    for i in 84..100 {
        handles[i] = jobs.schedule(&[handles[i - 84], handles[83]], (), |()| {}).unwrap();
    }
    jobs.flush();
    let all = jobs.combine(&handles).unwrap();
    jobs.run((), |()| {}).unwrap();
    jobs.run_parallel((), 100, 10, |(), _| {}).unwrap();
    jobs.complete(all);
    data.positions.as_mut_slice().unwrap()[0] = 0.0;
    *data.total.get_mut().unwrap() = 0.0;
}

/// Counts the allocations of [`FRAMES`] frames, repeatedly until there are zero, for 10,000 frames at most.
///
/// A node allocates memory for its edges when a job with dependencies is first published there, and keeps it. The
/// choice of node depends on the workers, so this may happen late, but once for each node. A frame that allocates
/// each time never counts zero.
fn count_frames(jobs: &JobScheduler) -> Vec<usize> {
    let mut data = Containers {
        positions: JobSlice::new(1000, 0.0),
        velocities: JobSlice::new(1000, 1.0),
        list: JobCell::new(Vec::with_capacity(16)),
        total: JobCell::new(0.0),
    };
    for _ in 0..300 {
        frame(jobs, &mut data);
    }
    let most = 10_000 / FRAMES;
    let mut counts = Vec::with_capacity(most);
    while counts.last() != Some(&0) && counts.len() < most {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..FRAMES {
            frame(jobs, &mut data);
        }
        counts.push(ALLOCATIONS.load(Ordering::Relaxed) - before);
    }
    counts
}

#[test]
fn frames_of_a_hundred_jobs_allocate_nothing() {
    counting_allocator::exclude_test_runner();
    assert_eq!(count_frames(&scheduler(0)), [0], "without workers");
    for workers in [1, 2] {
        let counts = count_frames(&scheduler(workers));
        assert_eq!(counts.last(), Some(&0), "{workers} workers: {counts:?}");
    }

    // Also while the workers are busy with a long job, and take none of the published jobs.
    let jobs = scheduler(1);
    let door = Door::default();
    let _ = occupy_workers(&jobs, &door);
    let counts = count_frames(&jobs);
    assert_eq!(counts.last(), Some(&0), "a busy worker: {counts:?}");
}

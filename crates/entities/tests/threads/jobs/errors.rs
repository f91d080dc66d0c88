//! Refused jobs, and their error messages.

use std::any::type_name;
use std::sync::{Arc, Mutex};

use ancho_entities::{EntityAt, EntityJob, Lookup, Query, World};
use ancho_jobs::{JobCell, JobScheduler, JobSlice, ParallelJobStruct, SliceRead, SliceWrite};

use crate::jobs::common::*;

fn small() -> Checked {
    let mut world = world_of(2, 10);
    world.spawn_batch((0..30).map(|at| (A(at), B(1))));
    world
}

/// Returns the message of a refused job, and checks that nothing has changed.
#[track_caller]
fn refused<T>(world: &World, uncompleted: usize, schedule: impl FnOnce() -> T) -> String {
    let message = panic_message(|| _ = schedule());
    assert_eq!(world.jobs().uncompleted(), uncompleted);
    message
}

#[test]
fn a0001_containers_are_not_ordered_by_themselves() {
    let mut world = small();
    let mut total = JobCell::new(0);
    let first = world.query::<&A>().job().named("First").with(total.write());
    let first = first.schedule(|a, total| **total += a.0);
    let second = world.query::<&A>().job().named("Second").with(total.write());
    let message = refused(&world, 1, || second.schedule(|a, total| **total += a.0));
    assert!(
        message.starts_with("A0001: job `Second` writes the JobCell<u32> made at "),
        "{message}"
    );
    assert!(
        message.ends_with(
            ", which job `First` writes and which was not completed; pass the handle of `First` as a dependency, \
             complete it first, for example with `wait`, or use `in_turn`, which waits for earlier users"
        ),
        "{message}"
    );
    let order = [first];
    let second = world.query::<&A>().job().depends_on(&order).with(total.write());
    let second = second.schedule(|a, total| **total += a.0);
    world.jobs().complete(second);
    assert_eq!(*total.get().unwrap(), 2 * 435);
    // Waiting for a job by its access to the world completes its containers as well.
    let third = world.query_mut::<&mut A>().job().with(total.write());
    let _ = third.schedule(|a, total| a.0 = **total);
    assert_eq!(world.query::<&A>().iter().next(), Some(&A(870)));
    assert_eq!(*total.get().unwrap(), 870);
}

#[test]
fn in_turn_containers_order_jobs_as_components_do() {
    for (workers, mode) in WORKERS.into_iter().flat_map(|workers| MODES.map(|mode| (workers, mode)))
    {
        let mut world = world_of(workers, 10);
        world.jobs().set_mode(mode);
        world.spawn_batch((0..30).map(|at| (A(at), B(1))));
        let mut total = JobCell::new(0_u64);
        // The container alone orders the jobs: they only read the world.
        for _ in 0..3 {
            let sum = world.query::<&A>().job().wait_for_containers().with(total.write());
            let _ = sum.schedule(|a, total| **total = (**total * 2 + u64::from(a.0)) % 1_000_003);
        }
        let give = world.query_mut::<&mut B>().job().wait_for_containers().with(total.read());
        let given = give.schedule_parallel(|b, total| b.0 = *total);
        world.jobs().complete(given);
        let expected = (0..3).flat_map(|_| 0..30).fold(0, |sum, at| (sum * 2 + at) % 1_000_003);
        assert!(world.query::<&B>().iter().all(|b| b.0 == expected), "{workers} workers");
        assert_eq!(*total.get().unwrap(), expected);
    }
}

#[test]
fn in_turn_a_job_does_not_run_after_one_that_failed() {
    let mut world = small();
    let mut total = JobCell::new(7);
    let fails = world.query::<&A>().job().named("Fails").with(total.write());
    let _ = fails.schedule(|_, _| panic!("no total"));
    let give = world.query_mut::<&mut B>().job().wait_for_containers().with(total.read());
    let given = give.schedule(|b, total| b.0 = **total);
    let failed = world.jobs().try_complete(given).unwrap_err().to_string();
    assert!(failed.contains("`Fails`") && failed.contains("no total"), "{failed}");
    assert!(world.query::<&B>().iter().all(|b| b.0 == 1));
}

#[test]
fn a0006_jobs_do_not_schedule() {
    let world = small();
    let message = Arc::new(Mutex::new(String::new()));
    let (kept, other) = (Arc::clone(&message), Mutex::new(small()));
    let outer = world.jobs().named("Outer").schedule(&[], (), move |()| {
        let mut other = other.lock().unwrap();
        *kept.lock().unwrap() = panic_message(|| {
            other.query_mut::<&mut A>().job().named("Inner").schedule(|a| a.0 = 0);
        });
        assert_eq!(other.jobs().uncompleted(), 0);
        // Calls that do not wait succeed.
        other.query_mut::<&mut A>().for_each(|a| a.0 += 1);
        let inner = panic_message(|| {
            other.query_mut::<&mut A>().job().named("Inner").schedule_parallel(|a| a.0 = 0);
        });
        assert!(inner.starts_with("A0006: "), "{inner}");
        assert_eq!(other.query::<&A>().iter().map(|a| a.0).sum::<u32>(), 435 + 30);
    });
    world.jobs().complete(outer.unwrap());
    assert_eq!(
        *message.lock().unwrap(),
        "A0006: job `Outer` tried to schedule job `Inner`; jobs are scheduled and completed by the scheduler's owner, \
         outside of jobs"
    );
}

#[test]
fn a0006_jobs_do_not_wait_for_jobs_of_a_world() {
    let mut other = small();
    let _ = other.query_mut::<&mut A>().job().named("Early").schedule(|a| a.0 += 1);
    let world = small();
    let other = Arc::new(Mutex::new(Some(other)));
    let held = Arc::clone(&other);
    let outer = world.jobs().named("Outer").schedule(&[], (), move |()| {
        let other = held.lock().unwrap();
        _ = other.as_ref().unwrap().query::<&A>().iter().count();
    });
    let failed = world.jobs().try_complete(outer.unwrap()).unwrap_err();
    let told = "A0006: job `Outer` tried to complete a job";
    assert!(failed.message().starts_with(told), "{failed}");
    // The world is unchanged, and its job runs when its owner waits.
    let mut other = other.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take().unwrap();
    assert_eq!(other.query::<&A>().iter().map(|a| a.0).sum::<u32>(), 435 + 30);
    other.spawn(A(1));
}

#[test]
fn a0004_handles_of_other_worlds_are_refused() {
    let (mut world, other) = (small(), small());
    let foreign = [other.query::<&A>().schedule(|_| {})];
    let said = "A0004: job `Mine` depends on a job of another scheduler; complete that job there, or schedule both on one \
                scheduler";
    let message = panic_message(|| {
        world.query_mut::<&mut A>().job().named("Mine").depends_on(&foreign).schedule(|_| {});
    });
    assert_eq!((message.as_str(), world.jobs().uncompleted()), (said, 0));
    let message = panic_message(|| {
        world.query_mut::<&mut A>().job().named("Mine").after(&foreign).schedule_parallel(|_| {});
    });
    assert_eq!((message.as_str(), world.jobs().uncompleted()), (said, 0));
    let message = panic_message(|| world.jobs().complete(foreign[0]));
    assert!(message.starts_with("A0004: "), "{message}");
    // Also after the job is completed.
    other.jobs().complete(foreign[0]);
    let late = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        world.query_mut::<&mut A>().job().named("Mine").after(&foreign).schedule(|_| {})
    }));
    _ = late.inspect_err(|message| assert_eq!(message.downcast_ref::<String>().unwrap(), said));
    world.spawn(A(1));
}

#[derive(ParallelJobStruct)]
struct Write<'a> {
    to: SliceWrite<'a, u32>,
    from: SliceRead<'a, u32>,
}

impl EntityJob for Write<'_> {
    type Query = &'static A;

    fn execute(job: &mut WriteBatch<'_>, a: &A, at: EntityAt) {
        job.to[at.in_batch] = a.0 + job.from[0];
    }
}

#[test]
fn a0010_containers_are_long_enough_for_all_entities() {
    let world = small();
    let mut short = JobSlice::new(29, 0);
    let one = JobSlice::new(1, 7);
    let check = |message: String| {
        let start = "A0010: job `Write` has 30 indices, but the JobSlice<u32> made at ";
        assert!(message.starts_with(start), "{message}");
        assert!(message.ends_with(" has 29 elements; pass a smaller count"), "{message}");
    };
    let job = world.query::<&A>().job().named("Write").with(short.write());
    check(refused(&world, 0, || job.schedule_parallel(|a, to| *to = a.0)));
    let job = || world.query::<&A>().job().named("Write");
    let write = Write { to: short.write(), from: one.read() };
    check(refused(&world, 0, || job().schedule_job_parallel(write)));
    let write = Write { to: short.write(), from: one.read() };
    check(refused(&world, 0, || job().schedule_job(write)));
    let write = Write { to: short.write(), from: one.read() };
    check(refused(&world, 0, || job().run_job(write)));
    assert!(short.as_slice().unwrap().iter().all(|&number| number == 0));
    // A job on one thread gets the whole container, and may use it freely.
    let job = job().with(short.write()).schedule(|a, short| short[0] += a.0);
    world.jobs().complete(job);
    assert_eq!(short.as_slice().unwrap()[0], 435);
}

#[test]
fn a0074_data_of_a_world_is_scheduled_in_that_world() {
    let (mut world, other) = (small(), small());
    let elsewhere = JobScheduler::new(&pool(1));
    for jobs in [&elsewhere, other.jobs()] {
        let array = world.query_mut::<&mut A>().job().into_array();
        let job = jobs.named("Lost").schedule_for_each(&[], array, 30, 8, |a, _| a.0 = 0);
        let message = job.unwrap_err().to_string();
        assert_eq!(world.jobs().uncompleted(), 0);
        assert!(message.starts_with("A0074: job `Lost` uses "), "{message}");
        let end = ", which belongs to another scheduler; schedule the job there, for data of a world on the world's \
                   own scheduler";
        assert!(message.ends_with(end), "{message}");
        assert_eq!(jobs.uncompleted(), 0);
    }
    // A lookup of one world does not work with a query of another.
    let lookup = world.split::<(Lookup<&B>,)>().0.into_job();
    let job = other.query::<&A>().job().named("Lost").with(lookup);
    let message = refused(&other, 0, || job.schedule_parallel(|_, _| {}));
    assert!(message.starts_with("A0074: job `Lost` uses "), "{message}");
    assert_eq!(world.query::<&A>().iter().map(|a| a.0).sum::<u32>(), 435);
    world.spawn(A(3));
}

#[test]
fn a0092_a_lookup_of_data_that_the_query_writes_is_refused() {
    let mut world = small();
    let (mut_a, a) = (type_name::<&mut A>(), type_name::<&A>());
    let message = panic_message(|| {
        let (query, lookup) = world.split::<(Query<&mut A>, Lookup<&A>)>();
        let _ = query.job().with(lookup.into_job()).schedule_parallel(|_, _| {});
    });
    let told = format!(
        "A0092: the world cannot be split this way: part 1, `Query<{mut_a}, ()>`, changes and part 2, `Lookup<{a}, \
         ()>`, reads the values of `game::A`, possibly of the same entity; "
    );
    assert!(message.starts_with(&told), "{message}");
    let message = panic_message(|| {
        let (query, lookup) = world.split::<(Query<&A>, Lookup<&mut A>)>();
        let _ = query.job().with(lookup.into_job()).schedule(|_, _| {});
    });
    assert!(message.starts_with("A0092: "), "{message}");
    // Both may read.
    let first = world.query::<&A>().to_entities()[0];
    let (query, lookup) = world.split::<(Query<(&A, &mut B)>, Lookup<&A>)>();
    let job = query.job().with(lookup.into_job()).schedule_parallel(move |(_, b), a| {
        b.0 = u64::from(a.get(first).unwrap().0) + 5;
    });
    world.jobs().complete(job);
    assert!(world.query::<&B>().iter().all(|b| b.0 == 5));
}

#[test]
fn a0008_a_pool_that_is_full_says_so() {
    let pool = ancho_jobs::JobPool::builder().workers(0).max_jobs(64).build().unwrap();
    let settings = ancho_entities::WorldSettings::new().job_pool(&pool);
    let mut world = Checked(World::with_settings("Simulation", settings));
    let entity = world.spawn(A(0));
    let mut scheduled = 0;
    // Jobs that capture containers are not removed automatically.
    let mut cells: Vec<_> = (0..100).map(JobCell::new).collect();
    let message = cells
        .iter_mut()
        .find_map(|cell| {
            let job = world.query_mut::<&mut A>().job().named("More").with(cell.write());
            let schedule = || _ = job.schedule(|a, _: &mut &mut i32| a.0 += 1);
            let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(schedule)).err();
            scheduled += u32::from(refused.is_none());
            Some(*refused?.downcast::<String>().unwrap())
        })
        .expect("there was room for all");
    assert!(
        message.starts_with("A0008: job `More` cannot be scheduled: the pool is full, with 64 "),
        "{message}"
    );
    assert_eq!(world.get::<A>(entity), Ok(&A(scheduled)));
    let again = world.query_mut::<&mut A>().schedule(|a| a.0 = 0);
    world.jobs().complete(again);
}

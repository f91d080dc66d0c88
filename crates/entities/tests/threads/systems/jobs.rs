//! Jobs scheduled by systems.

use ancho_entities::{IntoSystem, Local, Query, ResMut, SystemFault, World, WorldSettings};
use ancho_jobs::{JobCell, JobHandle, JobPool, JobScheduler, ScheduleError};

use crate::fixtures::Wrapped;
use crate::systems::common::{A, B, Log, take, world};

#[test]
fn a0107_reports_a_failed_job_with_its_system_in_the_next_update() {
    fn schedule(mut all: Query<&mut A>, mut frame: Local<u32>) {
        *frame += 1;
        if *frame == 1 {
            let _ = all.reborrow().job().named("Divide").schedule(|_| panic!("by zero"));
        }
        all.schedule(|a| a.0 += 1);
    }

    let mut world = world();
    world.spawn(A(0));
    world.add_system(schedule.named("scheduler"));
    world.add_system(
        (|mut log: ResMut<Log>, all: Query<&A>| log.0.push(all.single().unwrap().0.to_string()))
            .named("reader"),
    );
    world.try_update(0.1).unwrap();
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        message.starts_with(
            "A0107: a job of system `scheduler` failed: A0011: job `Divide` panicked: by zero"
        ),
        "{message}"
    );
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1", "2", "3"]);
}

#[test]
fn a_panic_of_a_job_is_reported_once_by_an_update_or_by_its_handle() {
    for by_handle in [false, true] {
        let mut world = world();
        world.spawn(A(0));
        let job = world.query_mut::<&mut A>().job().schedule(|_| panic!("by zero"));
        if by_handle {
            // Reading completes the job, and leaves the panic to its handle.
            assert_eq!(world.query::<&A>().iter().count(), 1);
            assert!(world.jobs().is_completed(job));
            let failed = world.jobs().try_complete(job).unwrap_err();
            assert!(failed.message().starts_with("by zero"), "{failed}");
        } else {
            world.complete_jobs();
            assert!(world.jobs().try_complete(job).is_ok());
        }
        assert_eq!(world.try_update(0.1).is_ok(), by_handle);
        assert!(world.jobs().is_completed(job));
        assert!(world.jobs().try_complete(job).is_ok());
        world.try_update(0.1).unwrap();
    }
}

#[test]
fn a0107_reports_a_failed_job_of_a_system_that_is_updated_alone() {
    let mut world = world();
    world.spawn(A(0));
    let mut runs = 0;
    let system = move |all: Query<&mut A>| {
        runs += 1;
        let _ = all.job().named("Divide").schedule(move |_| panic!("run {runs}"));
    };
    let id = world.add_system(system.named("scheduler"));
    // The first update starts the system, and the second continues.
    world.update_system(id).unwrap();
    world.update_system(id).unwrap();
    world.set_system_enabled(id, false).unwrap();
    let errors = world.try_update(0.1).unwrap_err();
    for (error, run) in errors.iter().zip(1..) {
        let expected = format!(
            "A0107: a job of system `scheduler` failed: A0011: job `Divide` panicked: run {run} "
        );
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    assert_eq!(errors.iter().len(), 2);
}

#[test]
fn a0107_reports_a_failed_job_without_a_system_with_the_world() {
    for has_systems in [false, true] {
        let mut world = World::new("test");
        world.spawn(A(0));
        if has_systems {
            world.add_system(
                (|mut all: Query<&mut A>| _ = all.schedule(|a| a.0 += 1)).named("adds"),
            );
        }
        world.try_update(0.1).unwrap();
        let job = world.query_mut::<&mut A>().job().named("Divide");
        let _ = job.schedule(|_| panic!("by zero"));
        let errors = world.try_update(0.1).unwrap_err();
        let expected = "A0107: a job of world `test` failed: A0011: job `Divide` panicked: by zero";
        assert!(errors.to_string().starts_with(expected), "{errors}");
        assert_eq!(errors.iter().map(|error| error.system()).collect::<Vec<_>>(), ["test"]);
        let fault = errors.iter().next().unwrap().fault();
        assert!(matches!(fault, SystemFault::JobOfWorld(_)), "{fault:?}");
        world.try_update(0.1).unwrap();
    }
}

#[test]
fn jobs_of_systems_are_ordered_by_their_data() {
    let mut world = world();
    world.spawn_many((A(0), B(0)), 1_000);
    world.add_system(|mut all: Query<(&mut A, &B)>| {
        _ = all.schedule_parallel(|(a, b)| a.0 += b.0 + 1);
    });
    world.add_system(|mut all: Query<(&A, &mut B)>| _ = all.schedule_parallel(|(a, b)| b.0 += a.0));
    for _ in 0..3 {
        world.try_update(0.1).unwrap();
    }
    // (1, 1), (3, 4), (8, 12)
    assert!(world.query::<(&A, &B)>().iter().all(|(a, b)| (a.0, b.0) == (8, 12)));
}

#[test]
fn systems_schedule_jobs_over_containers_and_over_entities() {
    fn add_up(jobs: &JobScheduler, all: Query<&mut A>, mut sum: ResMut<Wrapped<JobCell<u32>>>) {
        *sum.get_mut().unwrap() = 0;
        let add = all.job().with(sum.write()).schedule(|a, sum| {
            a.0 += 1;
            **sum += a.0;
        });
        let double = jobs.schedule(&[add], sum.write(), |sum| *sum *= 2).unwrap();
        // The system has to complete this job itself: it does not use the world.
        jobs.complete(double);
    }

    let mut world = world();
    world.spawn_batch((0..10).map(A));
    world.insert_resource(Wrapped(JobCell::new(0_u32)));
    world.add_system(add_up);
    for doubled in [110, 130] {
        world.try_update(0.1).unwrap();
        assert_eq!(world.resource::<Wrapped<JobCell<u32>>>().get(), Ok(&doubled));
    }
}

#[test]
fn jobs_over_containers_that_systems_return_are_completed_by_the_next_update() {
    fn add(
        jobs: &JobScheduler,
        mut sum: ResMut<Wrapped<JobCell<u32>>>,
    ) -> Result<JobHandle, ScheduleError> {
        jobs.schedule(&[], sum.write(), |sum| *sum += 1)
    }

    let mut world = world();
    world.insert_resource(Wrapped(JobCell::new(0_u32)));
    world.add_system(add);
    for _ in 0..3 {
        world.try_update(0.1).unwrap();
    }
    world.complete_jobs();
    assert_eq!(world.resource::<Wrapped<JobCell<u32>>>().get(), Ok(&3));
}

#[test]
fn jobs_over_containers_without_a_handle_continue_beyond_updates() {
    fn add(
        jobs: &JobScheduler,
        mut sum: ResMut<Wrapped<JobCell<u32>>>,
    ) -> Result<(), ScheduleError> {
        if sum.get().is_ok() {
            _ = jobs.schedule(&[], sum.write(), |sum| *sum += 1)?;
        }
        Ok(())
    }

    let mut world = world();
    world.insert_resource(Wrapped(JobCell::new(0_u32)));
    world.add_system(add);
    for _ in 0..3 {
        world.try_update(0.1).unwrap();
    }
    world.complete_jobs();
    assert!(world.resource::<Wrapped<JobCell<u32>>>().get().is_err());
    world.jobs().complete_everything();
    assert_eq!(world.resource::<Wrapped<JobCell<u32>>>().get(), Ok(&1));
}

#[test]
fn a0107_reports_failures_of_returned_jobs_only() {
    let mut world = world();
    world.spawn(A(1));
    world.add_system(|| Ok::<_, String>(JobHandle::COMPLETED));
    world.add_system(|all: Query<&mut A>| all.job().schedule(|a| a.0 += 1));
    let other = World::new("other");
    world.add_system(move || other.jobs().schedule(&[], (), |()| panic!("elsewhere")));
    let mut first = None;
    world.add_system(
        (move |jobs: &'_ JobScheduler| -> Result<JobHandle, ScheduleError> {
            if first.is_none() {
                first = Some(jobs.schedule(&[], (), |()| panic!("by zero"))?);
            }
            Ok(first.unwrap_or(JobHandle::COMPLETED))
        })
        .named("fails once"),
    );
    world.try_update(0.1).unwrap();
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(message.starts_with("A0107: a job of system `fails once` failed: "), "{message}");
    assert!(message.contains("by zero") && !message.contains("elsewhere"), "{message}");
    world.try_update(0.1).unwrap();
    assert_eq!(world.singleton::<A>(), Ok(&A(4)));
}

#[test]
fn jobs_have_started_when_the_next_system_runs() {
    let pool = JobPool::builder().workers(0).build().unwrap();
    let mut world = World::with_settings("test", WorldSettings::new().job_pool(&pool));
    world.insert_resource(Log::default());
    world.spawn(A(0));
    let ran = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let (job, seen) = (ran.clone(), ran);
    world.add_system(move |mut all: Query<&mut A>| {
        let job = job.clone();
        all.schedule(move |_| _ = job.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    });
    world.add_system(move |mut log: ResMut<Log>| {
        log.0.push(seen.load(std::sync::atomic::Ordering::Relaxed).to_string());
    });
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1"], "without workers, jobs run when they are started");
}

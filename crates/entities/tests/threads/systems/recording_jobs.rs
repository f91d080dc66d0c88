//! Points wait for the jobs that record commands for them, and report their failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ancho_collections::NativeList;
use ancho_entities::{
    CommandPoint, CommandsAt, Component, Entity, EntityCommandBuffer, IntoSystem, Query, ResMut,
    Without, World, WorldSettings,
};
use ancho_jobs::{JobCell, JobHandle, JobPool, JobScheduler, ScheduleError};

use crate::fixtures::Wrapped;
use crate::systems::common::{A, B};

const WORKERS: [usize; 3] = [0, 1, 4];

struct Point;

impl CommandPoint for Point {
    fn name() -> &'static str {
        "Point"
    }
}

/// A component that counts its drops.
#[derive(Component)]
struct Counted(#[field(opaque)] Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Creates a world with a point, and `workers` worker threads.
fn world(workers: usize) -> World {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let settings = WorldSettings::new().job_pool(&pool).chunk_capacity_limit(100);
    let mut world = World::with_settings("test", settings);
    world.add_system(Point);
    world
}

/// Returns the error message of an update, or an empty string.
fn update(world: &mut World) -> String {
    world.try_update(0.1).map_or_else(|errors| errors.to_string(), |()| String::new())
}

#[test]
fn a_point_completes_the_jobs_that_record_and_no_others() {
    for workers in WORKERS {
        let mut world = world(workers);
        world.insert_resource(Wrapped(JobCell::new(0_u32)));
        world.add_system(
            (|jobs: &JobScheduler,
              mut sum: ResMut<Wrapped<JobCell<u32>>>,
              mut to: CommandsAt<Point>| {
                let _ = jobs.schedule(&[], sum.write(), |sum| *sum += 1).unwrap();
                let record = jobs.schedule(&[], to.writer(), |mut to| _ = to.spawn(A(1)));
                let _ = record.unwrap();
            })
            .before(Point),
        );
        assert_eq!(update(&mut world), "");
        assert_eq!(world.entity_count(), 1);
        assert_eq!(world.jobs().uncompleted(), 1);
        assert!(
            world.resource::<Wrapped<JobCell<u32>>>().get().is_err(),
            "its job was not completed"
        );
        world.jobs().complete_everything();
        assert_eq!(world.resource::<Wrapped<JobCell<u32>>>().get(), Ok(&1));
    }
}

#[test]
fn a_point_leaves_the_failures_of_other_jobs_to_their_handles() {
    for workers in WORKERS {
        let mut world = world(workers);
        world.insert_resource(Wrapped(JobHandle::COMPLETED));
        world.add_system(
            (|jobs: &JobScheduler,
              mut other: ResMut<Wrapped<JobHandle>>,
              mut to: CommandsAt<Point>| {
                other.0 = jobs.schedule(&[], (), |()| panic!("elsewhere")).unwrap();
                let record = jobs.schedule(&[], to.writer(), |mut to| _ = to.spawn(A(1)));
                let _ = record.unwrap();
            })
            .before(Point),
        );
        assert_eq!(update(&mut world), "");
        assert_eq!(world.entity_count(), 1);
        let other = world.resource::<Wrapped<JobHandle>>().0;
        let failed = world.jobs().try_complete(other).unwrap_err();
        assert_eq!(failed.message(), "elsewhere");
    }
}

#[test]
fn a0107_a_recording_job_that_panics_is_reported_once_by_the_update_of_the_point() {
    for workers in WORKERS {
        let mut world = world(workers);
        let mut runs = 0;
        let record = move |jobs: &'_ JobScheduler, mut to: CommandsAt<'_, Point>| {
            runs += 1;
            if runs > 1 {
                return;
            }
            let bad = jobs.named("Bad").schedule(&[], to.writer(), |mut to| {
                to.spawn(A(1));
                panic!("by zero");
            });
            let _ = bad.unwrap();
        };
        world.add_system(record.named("record").before(Point));
        assert_eq!(
            update(&mut world),
            "A0107: a job of system `record` failed: A0011: job `Bad` panicked: by zero"
        );
        assert_eq!(world.entity_count(), 0);
        assert_eq!(update(&mut world), "", "it was reported");
    }
}

#[test]
fn of_a_recording_job_that_panics_no_command_is_played_and_of_the_others_all_are() {
    for workers in WORKERS {
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut world = world(workers);
        world.spawn_batch((0..1_000).map(A));
        let counter = dropped.clone();
        let record = move |mut all: Query<'_, (Entity, &A)>, mut to: CommandsAt<'_, Point>| {
            let good = all.reborrow().job().named("Good").with(to.writer());
            let good = good.schedule_parallel(|(entity, a), to| {
                if a.0 % 100 == 0 {
                    to.add(entity, B(a.0));
                    to.spawn(B(a.0));
                }
            });
            let (counter, good) = (counter.clone(), [good]);
            let bad = all.reborrow().job().named("Bad").depends_on(&good).with(to.writer());
            let bad = bad.schedule_parallel(move |(entity, a), to| {
                to.despawn(entity);
                to.spawn(Counted(counter.clone()));
                assert!(a.0 != 555, "not this one");
            });
            let bad = [bad];
            let last = all.reborrow().job().named("Last").after(&bad).with(to.writer());
            let _ = last.schedule_parallel(|(_, a), to| {
                if a.0 == 999 {
                    to.spawn(B(1_000));
                }
            });
        };
        world.add_system(record.named("record").before(Point));
        let message = update(&mut world);
        assert!(
            message.starts_with(
                "A0107: a job of system `record` failed: A0011: job `Bad` panicked: not this one"
            ),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(world.query::<&A>().count(), 1_000);
        assert_eq!(world.query::<&Counted>().count(), 0);
        assert!(dropped.load(Ordering::Relaxed) >= 900, "values of commands are dropped");
        let added = world.query::<(&A, &B)>().iter().map(|(_, b)| b.0).collect::<Vec<_>>();
        assert_eq!(added, (0..1_000).step_by(100).collect::<Vec<_>>());
        // The ids follow those of the last entities, as if the other job had recorded nothing.
        let query = world.query_filtered::<(Entity, &B), Without<A>>();
        let created = query.iter().map(|(entity, b)| (entity.index(), b.0)).collect::<Vec<_>>();
        assert_eq!(created, (0..=10).map(|at| (1_000 + at, at * 100)).collect::<Vec<_>>());
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_panic_that_cancels_a_recording_job_is_reported_once() {
    for workers in WORKERS {
        let mut world = world(workers);
        let mut runs = 0;
        let record = move |jobs: &'_ JobScheduler, mut to: CommandsAt<'_, Point>| {
            runs += 1;
            if runs > 1 {
                return;
            }
            let cause = jobs.named("Cause").schedule(&[], (), |()| panic!("by zero")).unwrap();
            let next = jobs.named("Next").schedule(&[cause], to.writer(), |mut to| {
                to.spawn(A(1));
            });
            let _ = next.unwrap();
        };
        world.add_system(record.named("record").before(Point));
        assert_eq!(
            update(&mut world),
            "A0107: a job of system `record` failed: A0011: job `Next` did not run, because job `Cause` panicked: by zero"
        );
        assert_eq!(world.entity_count(), 0);
        assert_eq!(update(&mut world), "", "it was reported");
    }
}

#[test]
fn a_failed_recording_job_completed_before_the_point_is_reported_in_the_same_update() {
    for workers in WORKERS {
        let mut world = world(workers);
        world.spawn_batch((0..10).map(A));
        let mut runs = 0;
        let record = move |all: Query<'_, &mut A>, mut to: CommandsAt<'_, Point>| {
            runs += 1;
            if runs > 1 {
                return;
            }
            let bad = all.job().named("Bad").with(to.writer()).schedule(|_, to| {
                to.spawn(B(1));
                panic!("by zero");
            });
            let _ = bad;
        };
        world.add_system(record.named("record").before(Point));
        // A structural change completes the job.
        world
            .add_system((|world: &mut World| _ = world.spawn(A(10))).after("record").before(Point));
        let message = update(&mut world);
        assert!(
            message.starts_with(
                "A0107: a job of system `record` failed: A0011: job `Bad` panicked: by zero"
            ),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(world.query::<&B>().count(), 0);
        assert_eq!(update(&mut world), "", "it was reported");
    }
}

#[test]
fn a_job_that_fails_when_its_closure_is_dropped_has_no_command_played() {
    struct Fails;

    impl Drop for Fails {
        fn drop(&mut self) {
            panic!("in a capture");
        }
    }

    for workers in WORKERS {
        let mut world = world(workers);
        let mut runs = 0;
        let record = move |jobs: &'_ JobScheduler, mut to: CommandsAt<'_, Point>| {
            runs += 1;
            if runs > 1 {
                return;
            }
            let fails = Fails;
            let bad = jobs.schedule_for_each(&[], to.writer(), 100, 10, move |to, _| {
                let _ = &fails;
                to.spawn(A(1));
            });
            let _ = bad.unwrap();
        };
        world.add_system(record.named("record").before(Point));
        let message = update(&mut world);
        assert!(message.ends_with("panicked: in a capture"), "{message}");
        assert_eq!(world.entity_count(), 0);
        assert_eq!(update(&mut world), "", "it was reported");
    }
}

#[test]
fn a_job_that_fails_because_another_container_is_full_has_no_command_played() {
    for workers in WORKERS {
        let mut world = world(workers);
        world.insert_resource(Wrapped(NativeList::<u32>::with_capacity(10)));
        let mut runs = 0;
        let record = move |jobs: &'_ JobScheduler,
                           mut list: ResMut<'_, Wrapped<NativeList<u32>>>,
                           mut to: CommandsAt<'_, Point>| {
            runs += 1;
            if runs > 1 {
                return;
            }
            let data = (to.writer(), list.writer());
            let bad = jobs.schedule_for_each(&[], data, 100, 10, |(to, list), at| {
                to.spawn(A(1));
                list.push(at as u32);
            });
            let _ = bad.unwrap();
        };
        world.add_system(record.named("record").before(Point));
        let message = update(&mut world);
        assert!(message.contains("panicked: "), "{message}");
        assert_eq!(world.entity_count(), 0);
        assert_eq!(update(&mut world), "", "it was reported");
    }
}

#[test]
fn a_buffer_has_no_commands_of_a_job_that_panicked() {
    for workers in WORKERS {
        let mut world = world(workers);
        let mut buffer = EntityCommandBuffer::new();
        let first = buffer.commands().unwrap().spawn(A(1));
        let jobs = world.jobs();
        let mut other = NativeList::with_capacity(1);
        let data = (buffer.writer(), other.write());
        let bad = jobs.schedule(&[], data, |(mut to, other)| {
            other.push(to.spawn(A(2)));
            panic!("by zero");
        });
        assert!(jobs.try_complete(bad.unwrap()).is_err());
        assert_eq!(buffer.len(), 1);
        let good = jobs.schedule(&[], buffer.writer(), |mut to| _ = to.spawn(A(3)));
        jobs.complete(good.unwrap());
        let last = buffer.commands().unwrap().spawn(A(4));
        world.play(&mut buffer).unwrap();
        let values = world.query::<&A>().iter().map(|a| a.0).collect::<Vec<_>>();
        assert_eq!(values, [1, 3, 4]);
        assert!(buffer.resolve(first).is_some() && buffer.resolve(last).is_some());
        let lost = other.get().unwrap()[0];
        assert_eq!(
            buffer.resolve(lost),
            None,
            "no entity has the placeholder of a discarded command"
        );
    }
}

#[test]
fn two_values_of_discarded_commands_that_panic_when_they_are_dropped_do_not_abort() {
    #[derive(Component)]
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "in a destructor");
        }
    }

    let mut world = world(2);
    let mut runs = 0;
    let record =
        move |jobs: &'_ JobScheduler, mut to: CommandsAt<'_, Point>| -> Result<(), ScheduleError> {
            runs += 1;
            if runs == 1 {
                let _ = jobs.schedule_for_each(&[], to.writer(), 100, 10, |to, at| {
                    to.spawn(Bomb);
                    assert!(at != 42, "not this one");
                })?;
            }
            Ok(())
        };
    world.add_system(record.named("record").before(Point));
    let message = update(&mut world);
    assert!(message.ends_with("panicked: not this one"), "{message}");
    assert_eq!(world.entity_count(), 0);
    assert_eq!(update(&mut world), "");
}

#[test]
fn a0107_every_panic_of_the_jobs_of_a_buffer_is_reported_by_the_update_of_the_point() {
    for workers in WORKERS {
        let mut world = world(workers);
        let mut runs = 0;
        let record = move |jobs: &'_ JobScheduler, mut to: CommandsAt<'_, Point>| {
            runs += 1;
            if runs > 1 {
                return;
            }
            let mut last = JobHandle::COMPLETED;
            for (name, message) in [("Bad", "by zero"), ("Worse", "by one"), ("Good", "")] {
                let after = [last];
                let job = jobs.named(name).after(&after);
                let job = job.schedule(&[], to.writer(), move |mut to| {
                    to.spawn(A(1));
                    assert!(message.is_empty(), "{message}");
                });
                last = job.unwrap();
            }
        };
        world.add_system(record.named("record").before(Point));
        assert_eq!(
            update(&mut world),
            "A0107: a job of system `record` failed: A0011: job `Bad` panicked: by zero\n\
             A0107: a job of system `record` failed: A0011: job `Worse` panicked: by one"
        );
        assert_eq!(world.entity_count(), 1);
        assert_eq!(update(&mut world), "", "they were reported");
    }
}

#[test]
fn a0107_panics_of_the_jobs_of_a_buffer_that_were_completed_before_the_point_are_reported_by_it() {
    for workers in WORKERS {
        let mut world = world(workers);
        world.spawn_batch((0..10).map(A));
        let mut runs = 0;
        let record =
            move |jobs: &'_ JobScheduler, all: Query<'_, &mut A>, mut to: CommandsAt<'_, Point>| {
                runs += 1;
                if runs > 1 {
                    return;
                }
                let bad = jobs.named("Bad").schedule(&[], to.writer(), |_| panic!("by zero"));
                let bad = [bad.unwrap()];
                let good = all.job().named("Good").after(&bad).with(to.writer());
                let _ = good.schedule(|_, to| _ = to.spawn(B(1)));
            };
        world.add_system(record.named("record").before(Point));
        // A structural change completes the jobs.
        world
            .add_system((|world: &mut World| _ = world.spawn(A(10))).after("record").before(Point));
        assert_eq!(
            update(&mut world),
            "A0107: a job of system `record` failed: A0011: job `Bad` panicked: by zero"
        );
        assert_eq!(world.query::<&B>().count(), 10);
        assert_eq!(update(&mut world), "", "it was reported");
    }
}

#[test]
fn a0003_a_point_inside_a_job_refuses_the_buffer_that_a_job_records_in_and_plays_the_others() {
    for workers in WORKERS {
        let mut world = world(workers);
        world.add_system((|| {}).named("other").before(Point));
        world.commands_at::<Point>().unwrap().commands().unwrap().spawn(A(1));
        let mut records = EntityCommandBuffer::new();
        let record = world.jobs().schedule(&[], records.writer(), |mut to| {
            to.spawn(B(1));
        });
        let _ = record.unwrap();
        *world.commands_at::<Point>().unwrap() = records;
        world.commands_at::<Point>().unwrap().commands().unwrap().spawn(A(2));

        let outer = JobScheduler::new(&JobPool::builder().workers(1).build().unwrap());
        let mut found = JobCell::new((String::new(), Vec::new()));
        let job = outer.schedule(&[], found.write(), move |found| {
            found.0 = update(&mut world);
            found.1 = world.query::<&A>().iter().map(|a| a.0).collect();
        });
        outer.complete(job.unwrap());
        let (message, values) = found.into_inner().unwrap();
        assert!(message.contains("A0003"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(values, [1, 2]);
    }
}

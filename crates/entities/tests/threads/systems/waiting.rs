//! Systems that wait for jobs of other systems, and systems that do not.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use ancho_collections::{NativeArray, NativeList};
use ancho_entities::{
    Component, EnabledMut, IntoSystem, Query, ResMut, Resource, SystemResult, UpdateError, World,
    WorldSettings,
};
use ancho_jobs::{JobPool, JobScheduler};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(u32);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Velocity(u32);

#[derive(Component, Clone, Copy)]
struct Tag;

#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct Switch;

/// A gate that blocks threads until it is opened. If it stays closed, they panic, so nothing hangs.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let is_open = self.0.0.lock().unwrap();
        let limit = Duration::from_secs(30);
        let (is_open, _) = self.0.1.wait_timeout_while(is_open, limit, |open| !*open).unwrap();
        assert!(*is_open, "a system waits for the job that opens the gate");
    }
}

fn world() -> World {
    let pool = JobPool::builder().workers(2).build().unwrap();
    World::with_settings("Simulation", WorldSettings::new().job_pool(&pool))
}

#[test]
fn waiting_depends_on_the_data_of_a_job_and_not_on_its_system() {
    let (mut world, gate) = (world(), Gate::default());
    world.spawn((Position(0), Velocity(1)));
    let waits = gate.clone();
    // The system has positions, too, and schedules a job without them.
    let first = move |_: Query<&mut Position>, mut velocities: Query<&mut Velocity>| {
        let gate = waits.clone();
        velocities.schedule(move |velocity| {
            gate.wait();
            velocity.0 += 10;
        });
    };
    let first = world.add_system(first.named("first"));
    let opens = move |mut positions: Query<&mut Position>| {
        positions.for_each(|position| position.0 += 1);
        gate.open();
    };
    let second = world.add_system(opens.named("second").after(first));
    world.add_system(
        (|velocities: Query<&Velocity>| assert_eq!(velocities.single().unwrap().0, 11))
            .after(second),
    );
    world.try_update(0.1).unwrap();
    assert_eq!(world.query::<&Position>().single(), Ok(&Position(1)));
}

#[test]
fn jobs_of_two_systems_that_use_different_things_run_at_the_same_time() {
    let (mut world, one, two) = (world(), Gate::default(), Gate::default());
    world.spawn((Position(0), Velocity(0)));
    let gates = (one.clone(), two.clone());
    world.add_system(move |mut positions: Query<&mut Position>| {
        let (own, other) = gates.clone();
        positions.schedule(move |position| {
            own.open();
            other.wait();
            position.0 += 1;
        });
    });
    world.add_system(move |mut velocities: Query<&mut Velocity>| {
        let (own, other) = (two.clone(), one.clone());
        velocities.schedule(move |velocity| {
            own.open();
            other.wait();
            velocity.0 += 1;
        });
    });
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(world.query::<(&Position, &Velocity)>().single(), Ok((&Position(2), &Velocity(2))));
}

#[test]
fn reading_a_tag_waits_for_no_job() {
    let (mut world, gate) = (world(), Gate::default());
    world.spawn(Tag);
    let waits = gate.clone();
    let job = world.add_system(move |mut tags: Query<&mut Tag>| {
        let gate = waits.clone();
        tags.schedule(move |_| gate.wait());
    });
    world.add_system(
        (move |tags: Query<&Tag>| {
            assert_eq!(tags.iter().count(), 1);
            gate.open();
        })
        .after(job),
    );
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
}

#[test]
fn reading_an_enableable_tag_waits_for_jobs_that_enable_it() {
    let mut world = world();
    world.spawn_many(Switch, 100);
    let job = world.add_system(|mut switches: Query<EnabledMut<Switch>>| {
        switches.schedule_parallel(|mut switch| switch.set(false));
    });
    world.add_system((|on: Query<&Switch>| assert_eq!(on.count(), 0)).after(job));
    world.try_update(0.1).unwrap();
}

/// An array that jobs of two systems write.
#[derive(Resource)]
#[resource(local)]
struct Grid(NativeArray<u32>);

#[test]
fn jobs_that_write_one_container_without_an_order_are_refused_by_name() {
    fn write(world: &mut World, name: &'static str) -> Result<(), ancho_jobs::ScheduleError> {
        let grid = std::mem::replace(&mut world.resource_mut::<Grid>().0, NativeArray::new(0));
        let mut grid = grid;
        let jobs = world.jobs();
        let scheduled =
            jobs.named(name).schedule(&[], grid.write(), |grid: &mut [u32]| grid[0] += 1);
        world.resource_mut::<Grid>().0 = grid;
        scheduled.map(|_| ())
    }

    let mut world = world();
    world.insert_resource(Grid(NativeArray::<u32>::new(1).named("grid")));
    let first = world.add_system((|world: &mut World| write(world, "Fill")).named("first"));
    world.add_system((|world: &mut World| write(world, "Blur")).named("second").after(first));
    let errors = world.try_update(0.1).unwrap_err();
    let told: Vec<_> = errors.iter().map(UpdateError::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    for part in ["`second`", "A0001", "`grid`", "Fill", "Blur"] {
        assert!(told[0].contains(part), "{part} in {told:?}");
    }
}

#[test]
fn jobs_over_entities_need_no_dependencies_and_complete_before_the_world_is_dropped() {
    let done = Arc::new(AtomicU32::new(0));
    let mut world = world();
    world.spawn_many(Position(0), 100);
    for _ in 0..2 {
        let done = Arc::clone(&done);
        world.add_system(move |mut positions: Query<&mut Position>| {
            let done = Arc::clone(&done);
            positions.schedule_parallel(move |position| {
                position.0 += 1;
                done.fetch_add(1, Ordering::Relaxed);
            });
        });
    }
    world.try_update(0.1).unwrap();
    drop(world);
    assert_eq!(done.load(Ordering::Relaxed), 200);
}

#[test]
fn a_container_that_a_job_has_is_refused_to_a_system_by_name() {
    let mut world = world();
    world.insert_resource(Grid(NativeArray::<u32>::new(1).named("grid")));
    world.spawn(Position(1));
    let job = world.add_system(|positions: Query<&Position>, mut grid: ResMut<Grid>| {
        let job = positions.job().named("Fill").with(grid.0.write());
        let _ = job.schedule(|position, grid| grid[0] += position.0);
    });
    world.add_system(
        (|grid: ResMut<Grid>| grid.0.get().map(|_| ()).map_err(|error| error.to_string()))
            .named("reads")
            .after(job),
    );
    let told = world.try_update(0.1).unwrap_err().to_string();
    for part in ["`reads`", "A0003", "`grid`", "Fill"] {
        assert!(told.contains(part), "{part} in {told}");
    }
}

/// Positions that a job has listed, and the number of them that the next system has read.
#[derive(Resource, Default)]
#[resource(local)]
struct Listed {
    list: NativeList<u32>,
    count: usize,
}

fn list_positions(
    positions: Query<&Position>,
    mut listed: ResMut<Listed>,
    jobs: &JobScheduler,
) -> SystemResult {
    listed.list.wait_mut(jobs)?.clear();
    let count = positions.count();
    listed.list.get_mut()?.reserve(count);
    positions.job().with(listed.list.writer()).schedule_parallel(|position, list| {
        assert_ne!(position.0, 13, "unlucky");
        list.push(position.0);
    });
    Ok(())
}

fn count_listed(mut listed: ResMut<Listed>, jobs: &JobScheduler) -> SystemResult {
    listed.count = listed.list.wait(jobs)?.len();
    Ok(())
}

#[test]
fn a_system_reads_a_container_that_the_job_of_another_system_fills() {
    let mut world = world();
    world.insert_resource(Listed::default());
    world.spawn_batch((100..1100).map(Position));
    let list = world.add_system(list_positions);
    world.add_system(count_listed.after(list));
    for _ in 0..3 {
        world.try_update(0.1).unwrap();
        assert_eq!(world.resource::<Listed>().count, 1000);
    }
    world.spawn(Position(1));
    world.update_system(list).unwrap();
    let listed = &world.resource::<Listed>().list;
    assert!(listed.get().is_err(), "the job was not completed");
    assert_eq!(listed.wait(world.jobs()).unwrap().len(), 1001);
}

#[test]
fn waiting_for_a_container_completes_no_other_jobs() {
    let (mut world, gate) = (world(), Gate::default());
    world.insert_resource(Listed::default());
    world.spawn_many((Position(0), Velocity(0)), 10);
    let waits = gate.clone();
    world.add_system(move |mut velocities: Query<&mut Velocity>| {
        let gate = waits.clone();
        velocities.schedule(move |_| gate.wait());
    });
    world.add_system(list_positions);
    world.add_system(count_listed);
    world.add_system(move |listed: ResMut<Listed>| {
        assert_eq!(listed.count, 10);
        gate.open();
    });
    world.try_update(0.1).unwrap();
}

#[test]
fn a0169_a_failed_job_is_reported_once_to_the_system_that_waits() {
    let mut world = world();
    world.insert_resource(Listed::default());
    let unlucky = world.spawn(Position(13));
    let list = world.add_system(list_positions.named("list"));
    world.add_system(count_listed.named("count").after(list));
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(errors.iter().count(), 1, "{errors}");
    let message = errors.to_string();
    let begin = "A0106: system `count` failed: A0169: the NativeList<u32> made at ";
    assert!(message.starts_with(begin), "{message}");
    assert!(
        message.contains(" may be incomplete, because a job that uses it failed: A0011: job `")
    );
    assert!(message.contains("unlucky"), "{message}");
    world.despawn(unlucky).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(world.resource::<Listed>().count, 0);
}

//! Results of jobs: commands at points, changes for other systems, and memory of updates.

use ancho_collections::NativeArray;
use ancho_entities::{
    Changed, CommandPoint, CommandsAt, EndSimulation, Entity, IntoSystem, Local, OrderChanged,
    Query, ResMut, Resource, System, SystemResult, World, WorldSettings,
};
use ancho_jobs::{JobHandle, JobPool};

use crate::systems::common::{A, B, Log, take, world};
use crate::systems::trace::Trace;

struct Point;

impl CommandPoint for Point {
    fn name() -> &'static str {
        "Point"
    }
}

/// Logs the entities in chunks with a changed `A`, and in reordered chunks.
fn watch(changed: Query<(), Changed<A>>, moved: Query<&A, OrderChanged>, mut log: ResMut<Log>) {
    log.0.push(format!("{} {}", changed.count(), moved.count()));
}

#[test]
fn the_end_of_the_simulation_waits_for_jobs_that_record() {
    let mut world = World::new("Simulation");
    world.spawn_batch((0..1000).map(A));
    let culls = |orcs: Query<(Entity, &A)>, mut commands: CommandsAt<EndSimulation>| {
        let job = orcs.job().with(commands.writer());
        let _ = job.schedule_parallel(|(entity, orc), commands| {
            if orc.0 % 10 != 0 {
                commands.despawn(entity);
            }
        });
    };
    world.add_system(culls);
    world.try_update(0.1).unwrap();
    assert_eq!(world.entity_count(), 100);
}

#[test]
fn a_point_waits_for_the_jobs_that_record() {
    fn bury(all: Query<(Entity, &A)>, mut commands: CommandsAt<Point>) {
        let job = all.job().with(commands.writer()).schedule_parallel(|(entity, a), commands| {
            if a.0 % 10 == 0 {
                commands.despawn(entity);
                commands.spawn(B(a.0));
            }
        });
        let _ = job;
    }

    let mut world = world();
    world.spawn_batch((0..1_000).map(A));
    world.add_system(Point);
    world.add_system(bury.before(Point));
    world.try_update(0.1).unwrap();
    assert_eq!((world.query::<&A>().count(), world.query::<&B>().count()), (900, 100));
    assert!(world.query::<&B>().iter().map(|b| b.0).eq((0..1_000).step_by(10)));
    world.try_update(0.1).unwrap();
    assert_eq!(world.entity_count(), 1_000);
}

#[test]
fn a0113_names_point_system_job_command_and_entity() {
    let mut world = world();
    world.spawn_batch([A(7), A(8)]);
    let never = Entity::from_parts(500, 1);
    world.add_system(Point);
    let fight = move |all: Query<(Entity, &A)>, mut commands: CommandsAt<Point>| {
        let job = all.job().named("Strike").with(commands.writer());
        let job = job.schedule_parallel(move |(entity, a), commands| {
            commands.add(if a.0 == 7 { entity } else { never }, B(a.0));
        });
        let _ = job;
    };
    world.add_system(fight.named("fight").before(Point));
    assert_eq!(
        world.try_update(0.1).unwrap_err().to_string(),
        "A0113: `Point` did not apply all commands; those of `fight`: A0078: command 2 of 2 failed, `add `game::B` to \
         500v1`, which job `Strike` recorded; the other commands were applied: A0050: entity 500v1 does not exist: this world \
         has not created it; check whether it belongs to another world"
    );
    assert_eq!(world.query::<&B>().iter().map(|b| b.0).collect::<Vec<_>>(), [7]);
}

#[test]
fn a0160_counts_skipped_commands_of_jobs_and_names_the_job() {
    for workers in [0, 2] {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let mut world = World::with_settings("test", WorldSettings::new().job_pool(&pool));
        let all: Vec<_> = world.spawn_batch((0..1000).map(A)).collect();
        world.add_system(Point);
        let bury = move |mut commands: CommandsAt<Point>| commands.commands().despawn(all[3]);
        world.add_system(bury.named("bury").before(Point));
        let ignite = |all: Query<(Entity, &A)>, mut commands: CommandsAt<Point>| {
            let job = all.job().named("Ignite").with(commands.writer());
            job.schedule_parallel(|(entity, a), commands| commands.add(entity, B(a.0)));
        };
        world.add_system(ignite.named("ignite").before(Point));
        let (sender, warnings) = std::sync::mpsc::channel();
        world.set_error_handler(move |error| {
            sender.send((error.is_warning(), error.to_string())).unwrap();
        });
        world.try_update(0.1).unwrap();
        assert_eq!(world.query::<&B>().count(), 999);
        let said = "A0160: system `ignite` recorded 1 command for entities that no longer exist, and it was skipped; the \
                    first is `add `game::B` to 3v1`, which job `Ignite` recorded; check entities with `exists` before \
                    commands are recorded, or let only one system despawn and change them";
        assert_eq!(warnings.try_iter().collect::<Vec<_>>(), [(true, said.to_owned())]);
    }
}

#[test]
fn a_system_sees_changes_of_later_systems_in_the_last_update() {
    fn watch(changed: Query<&A, Changed<A>>, mut log: ResMut<Log>) {
        log.0.push(changed.count().to_string());
    }

    fn write(mut all: Query<&mut A>, mut frame: Local<u32>) {
        *frame += 1;
        if *frame != 2 {
            all.schedule_parallel(|a| a.0 += 1);
        }
    }

    let mut world = world();
    world.spawn(A(0));
    world.add_system(watch);
    world.add_system(write);
    for _ in 0..4 {
        world.update(0.1);
    }
    assert_eq!(take(&mut world), ["1", "1", "0", "1"]);
}

#[test]
fn changes_of_jobs_are_new_for_all_systems_once() {
    let mut world = world();
    world.spawn((A(1), B(1)));
    world.add_system(watch.named("before"));
    let mut frame = 0;
    let schedule = move |mut all: Query<&mut A>| {
        frame += 1;
        if frame == 2 {
            all.schedule(|a| a.0 += 1);
        }
    };
    world.add_system(schedule.after("before"));
    world.add_system(watch.named("after").last());
    (0..4).for_each(|_| world.try_update(0.1).unwrap());
    let frames = ["1 1", "1 1", "0 0", "1 0", "1 0", "0 0", "0 0", "0 0"];
    assert_eq!(take(&mut world), frames);
}

/// A system that schedules a job when it starts.
struct JobAtStart;

impl System for JobAtStart {
    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        let _ = world.query_mut::<&mut A>().schedule(|a| a.0 += 1);
        Ok(())
    }

    fn on_update(&mut self, _: &mut World) -> SystemResult {
        Ok(())
    }
}

#[test]
fn changes_of_jobs_scheduled_at_start_are_new_for_the_system_before() {
    let mut world = world();
    world.spawn(A(1));
    world.add_system(watch);
    world.add_system(JobAtStart);
    (0..3).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(take(&mut world), ["1 1", "1 0", "0 0"]);
}

#[test]
fn jobs_continue_when_their_container_is_taken_back() {
    let mut world = world();
    let mut sums = NativeArray::<u32>::new(1);
    let numbers = NativeArray::from_fn_in(1000, |at| at as u32, &world.update_allocator());
    let sum = world
        .jobs()
        .schedule(&[], (numbers.read(), sums.write()), |(numbers, sums)| {
            sums[0] = numbers.iter().sum();
        })
        .unwrap();
    drop(numbers);
    // No call flushes the job: it runs when it is completed, three updates later.
    for _ in 0..3 {
        world.update(0.1);
        let _other = NativeArray::from_fn_in(1000, |_| 1_u32, &world.update_allocator());
    }
    world.jobs().complete(sum);
    assert_eq!(sums.get().unwrap(), [499_500]);
}

#[test]
fn a_container_filled_by_a_job_is_read_in_the_next_update() {
    #[derive(Resource, Default)]
    #[resource(local)]
    struct Filled(Option<(NativeArray<u32>, JobHandle)>);

    fn fill(world: &mut World, trace: &Trace) {
        let memory = world.update_allocator();
        let mut filled = NativeArray::<u32>::new_in(100, &memory);
        let token = filled.write();
        let job = world.jobs().schedule(&[], token, |values| values.fill(7)).unwrap();
        let before = world.resource_mut::<Filled>().0.replace((filled, job));
        if let Some((before, job)) = before {
            world.jobs().complete(job);
            trace.note(before.get().map_or("lost".into(), |values| values[99].to_string()));
        }
    }

    let (mut world, trace) = (world(), Trace::default());
    world.insert_resource(Filled::default());
    let noted = trace.clone();
    world.add_system(move |world: &mut World| fill(world, &noted));
    for _ in 0..4 {
        world.try_update(0.1).unwrap();
    }
    assert_eq!(trace.take(), "7 7 7");
}

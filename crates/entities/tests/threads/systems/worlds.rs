//! Worlds that are replaced, restored or dropped while jobs of their systems run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ancho_entities::{
    CommandPoint, CommandsAt, Component, Entity, EntityManager, IntoSystem, Query, System,
    SystemResult, World, WorldSettings,
};
use ancho_jobs::JobPool;

use crate::systems::common::{A, Log, Shared, say, take};
use crate::systems::trace::{Probe, Trace};

#[derive(Component, Clone, Copy)]
struct Number(u64);

#[test]
fn jobs_stay_with_the_entities_that_were_swapped() {
    let mut world = World::new("one");
    world.spawn_many(A(1), 100);
    world.add_system(|mut all: Query<&mut A>| _ = all.schedule_parallel(|a| a.0 += 1));
    world.try_update(0.1).unwrap();
    let mut other = World::new("two");
    std::mem::swap::<EntityManager>(&mut world, &mut other);
    world.try_update(0.1).unwrap();
    assert!(other.query::<&A>().iter().all(|a| a.0 == 2));
    world.try_update(0.1).unwrap();
}

#[test]
fn entities_are_swapped_while_jobs_record_commands_for_a_point() {
    struct Point;

    impl CommandPoint for Point {}

    let other = Arc::new(Mutex::new(World::new("two")));
    let mut world = World::new("one");
    world.insert_resource(Log::default());
    world.spawn_many(A(1), 100);
    world.add_system(Point.last());
    world.add_system(
        (|all: Query<Entity>, mut commands: CommandsAt<Point>| {
            let job = all.job().with(commands.writer());
            let _ = job.schedule_parallel(|entity, commands| commands.despawn(entity));
        })
        .named("recorder"),
    );
    let taken = Arc::clone(&other);
    world.add_system(
        (move |entities: &mut EntityManager| {
            std::mem::swap::<EntityManager>(entities, &mut taken.lock().unwrap());
        })
        .after("recorder"),
    );
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.contains("A0003"), "{errors}");
    world.add_system(say("goes on"));
    let _ = world.try_update(0.1);
    assert_eq!(take(&mut world), ["goes on"]);
    assert_eq!(world.entity_count(), 100, "the entities came back, and were not despawned");
}

#[test]
fn a_world_is_replaced_while_it_is_dropped() {
    static SAVED: Mutex<Option<World>> = Mutex::new(None);

    struct Thief(Shared);

    impl System for Thief {
        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }

        fn on_destroy(&mut self, world: &mut World) -> SystemResult {
            self.0.push("destroyed");
            let mut other = World::new("other");
            other.add_system(Thief(self.0.clone()));
            other.spawn_many(A(1), 100);
            let _ = other.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
            let dying = std::mem::replace(world, other);
            *SAVED.lock().unwrap() = Some(dying);
            Ok(())
        }
    }

    let log = Shared::default();
    let mut world = World::new("dying");
    world.spawn_many(A(1), 100);
    world.add_system(|mut all: Query<&mut A>| all.for_each(|a| a.0 += 1));
    world.add_system(Thief(log.clone()));
    world.try_update(0.1).unwrap();
    drop(world);
    let mut saved = SAVED.lock().unwrap().take().unwrap();
    assert_eq!(saved.name(), "dying");
    let _ = saved.try_update(0.1);
    assert_eq!(saved.entity_count(), 100);
    assert!(saved.try_add_system(|| {}).is_err());
    drop(saved);
}

#[test]
fn dropping_a_world_completes_its_jobs_first() {
    let done = Arc::new(AtomicUsize::new(0));
    let mut world = World::new("Simulation");
    world.spawn_many(Number(1), 1000);
    let counted = done.clone();
    world.add_system(move |mut all: Query<&mut Number>| {
        let done = counted.clone();
        all.schedule_parallel(move |_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
    });
    let trace = Trace::default();
    let (seen, noted) = (done.clone(), trace.clone());
    world.add_system(Probe::<0>::new(&trace).destroying(move |_| {
        noted.note(seen.load(Ordering::Relaxed).to_string());
        Ok(())
    }));
    world.update(0.1);
    drop(world);
    assert_eq!(trace.take(), "create start update stop destroy 1000");
    assert_eq!(done.load(Ordering::Relaxed), 1000);
}

#[test]
fn a_world_with_systems_is_dropped_inside_a_job_of_another() {
    let trace = Trace::default();
    let mut world = World::new("Simulation");
    world.set_error_handler(|_| {});
    world.spawn_many(Number(1), 100);
    world.add_system(|mut all: Query<&mut Number>| {
        all.schedule_parallel(|number| number.0 += 1);
    });
    world.add_system(Probe::<0>::new(&trace));
    world.update(0.1);
    trace.take();
    let other = World::new("Other");
    let job = other.jobs().schedule(&[], (), move |()| drop(world)).unwrap();
    other.jobs().complete(job);
    assert_eq!(trace.take(), "stop destroy");
}

#[test]
fn jobs_are_completed_before_a_world_is_restored() {
    for workers in [0, 3] {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let mut world = World::with_settings("one", WorldSettings::new().job_pool(&pool));
        world.spawn_many(A(1), 1_000);
        world.add_system(|mut all: Query<&mut A>| _ = all.schedule_parallel(|a| a.0 += 1));
        let mut snapshot = world.fork().unwrap();
        let job = snapshot.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 10);
        world.try_update(0.1).unwrap();
        world.restore(&mut snapshot).unwrap();
        assert!(snapshot.jobs().is_completed(job));
        assert!(world.query::<&A>().iter().all(|a| a.0 == 11));
        world.try_update(0.1).unwrap();
        assert!(world.query::<&A>().iter().all(|a| a.0 == 12));
        assert!(snapshot.query::<&A>().iter().all(|a| a.0 == 11));
    }
}

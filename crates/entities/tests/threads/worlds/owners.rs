//! A world can be sent to another thread, and is used by one at a time.
#![forbid(unsafe_code)]
#![deny(warnings)]

use std::cell::RefCell;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use ancho_entities::{
    ChunkArena, Component, ComponentType, EndSimulation, Entity, EntityManager, ResMut, Resource,
    System, SystemResult, Time, World, WorldSettings,
};
use ancho_jobs::JobPool;

#[derive(Component, Clone, Debug, PartialEq)]
struct Name(String);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Health(u32);

/// A trait that is implemented once for types that are not `Sync` and twice for others, so that `_` is then ambiguous.
///
/// A test that must not compile would have to name all private types in a world.
trait NotSync<Marker> {
    fn holds() -> bool {
        true
    }
}

struct ItIsSync;

impl<T: ?Sized> NotSync<()> for T {}
impl<T: ?Sized + Sync> NotSync<ItIsSync> for T {}

#[test]
fn a_world_is_not_shared_between_threads() {
    assert!(<World as NotSync<_>>::holds());
    assert!(<EntityManager as NotSync<_>>::holds());
}

#[test]
fn shared_types_are_sync() {
    fn is_sync<T: Send + Sync>() {}

    is_sync::<Entity>();
    is_sync::<ComponentType>();
    is_sync::<ChunkArena>();
}

#[test]
fn a_world_and_its_fork_go_on_in_two_threads() {
    let mut world = World::new("Simulation");
    let all: Vec<_> =
        world.spawn_batch((0..5000).map(|n| (Health(n), Name(n.to_string())))).collect();
    let mut fork = world.fork().unwrap();
    let in_fork = all.clone();
    let other = thread::spawn(move || {
        for entity in in_fork.iter().step_by(2) {
            fork.despawn(*entity).unwrap();
        }
        for entity in in_fork.iter().skip(1).step_by(2) {
            fork.get_mut::<Name>(*entity).unwrap().0.push('!');
        }
        fork.check_invariants().unwrap();
        fork
    });
    for entity in &all {
        world.get_mut::<Health>(*entity).unwrap().0 += 1;
    }
    world.check_invariants().unwrap();
    let fork = other.join().unwrap();
    assert_eq!((world.entity_count(), fork.entity_count()), (5000, 2500));
    for (number, entity) in (0..).zip(&all) {
        assert_eq!(world.get(*entity), Ok(&Health(number + 1)));
        assert_eq!(world.get(*entity), Ok(&Name(number.to_string())));
        if number % 2 == 1 {
            assert_eq!(fork.get(*entity), Ok(&Health(number)));
            assert_eq!(fork.get(*entity), Ok(&Name(format!("{number}!"))));
        }
    }
    // Each world is dropped on the thread that owns it last.
    thread::spawn(move || drop(world)).join().unwrap();
    fork.check_invariants().unwrap();
}

#[test]
fn worlds_of_all_threads_register_the_same_types() {
    let threads: Vec<_> = (0..4)
        .map(|number| {
            thread::spawn(move || {
                let mut world = World::new(format!("World {number}"));
                for entity in world.spawn_many(Health(number), 1000).collect::<Vec<_>>() {
                    world.add(entity, Name(String::new())).unwrap();
                }
                world.check_invariants().unwrap();
                ComponentType::of::<Health>()
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), ComponentType::of::<Health>());
    }
}

#[test]
fn a0115_a_world_updated_on_another_thread_loses_the_executing_system() {
    #[derive(Resource)]
    #[resource(local)]
    struct Log(Vec<&'static str>);

    fn say(line: &'static str) -> impl FnMut(ResMut<'_, Log>) + Send + 'static {
        move |mut log: ResMut<'_, Log>| log.0.push(line)
    }

    fn wander(world: &mut World) {
        let mut own = std::mem::replace(world, World::new("new"));
        let elsewhere = thread::spawn(move || {
            own.try_update(0.1).unwrap();
            // It reuses the slot of the removed system.
            own.add_system(say("new"));
            own
        });
        *world = elsewhere.join().unwrap();
    }

    let mut world = World::new("old");
    world.insert_resource(Log(Vec::new()));
    let wander = world.add_system(wander);
    world.add_system(say("after"));
    world.try_update(0.1).unwrap();
    assert!(!world.has_system(wander));
    assert_eq!(world.resource::<Log>().0, ["after"; 2]);
    world.try_update(0.1).unwrap();
    assert_eq!(world.resource::<Log>().0[2..], ["after", "new"]);
}

#[test]
fn a_world_updated_on_another_thread_keeps_the_pushed_times() {
    fn wander(world: &mut World) {
        world.push_time(Time::new(50.0, 1.0)).unwrap();
        let mut own = std::mem::replace(world, World::new("new"));
        let elsewhere = thread::spawn(move || {
            own.try_update(0.25).unwrap();
            own
        });
        *world = elsewhere.join().unwrap();
    }

    let mut world = World::new("old");
    let wander = world.add_system(wander);
    world.push_time(Time::new(10.0, 1.0)).unwrap();
    world.update_system(wander).unwrap();
    assert_eq!(world.pop_time().unwrap().elapsed(), 10.25);
    assert_eq!(world.time(), Time::default());
    assert!(world.pop_time().is_err());
}

/// A system that uses its world in every way when it is destroyed, and sends the result.
struct Last(mpsc::Sender<String>);

impl Last {
    fn end(world: &mut World) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        let sum = world.query::<&Health>().iter().map(|health| health.0).sum::<u32>();
        let entity = world.spawn(Health(7));
        world.get_mut::<Health>(entity)?.0 += 1;
        world.commands_at::<EndSimulation>()?.commands()?.despawn(entity);
        let point = world.find_system(EndSimulation).ok_or("no point")?;
        world.update_system(point)?;
        let (nested, exists) = (world.try_update(0.1).is_err(), world.exists(entity));
        Ok(format!("{sum} {nested} {exists}"))
    }
}

impl System for Last {
    fn on_update(&mut self, _: &mut World) -> SystemResult {
        Ok(())
    }

    fn on_destroy(&mut self, world: &mut World) -> SystemResult {
        let ended = Self::end(world).unwrap_or_else(|error| error.to_string());
        Ok(self.0.send(ended)?)
    }
}

/// Creates a world with a system that uses it on destruction, and a job that writes data of that system.
fn world_with_last(name: &str, workers: usize, sender: &mpsc::Sender<String>) -> World {
    let pool = JobPool::builder().workers(workers).build().unwrap();
    let mut world = World::with_settings(name, WorldSettings::new().job_pool(&pool));
    world.add_system(Last(sender.clone()));
    world.spawn_batch((0..10).map(Health));
    world.update(0.1);
    let _ = world.query_mut::<&mut Health>().schedule_parallel(|health| health.0 += 1);
    world
}

#[test]
fn a_world_in_a_thread_local_ends_with_its_thread() {
    thread_local! {
        static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
    }
    // Thread locals are dropped in an order that depends on their first use.
    for (workers, local_first) in [(0, false), (0, true), (1, false), (1, true)] {
        let (sender, ended) = mpsc::channel();
        let thread = thread::spawn(move || {
            if local_first {
                WORLD.set(None);
            }
            WORLD.set(Some(world_with_last("local", workers, &sender)));
        });
        thread.join().unwrap();
        assert_eq!(ended.recv().unwrap(), "55 true false");
    }
}

#[test]
fn a_world_that_is_dropped_by_a_job_of_another_has_its_systems_use_it() {
    for workers in [0, 1, 4] {
        let (sender, ended) = mpsc::channel();
        let world = world_with_last("inner", workers, &sender);
        let outer = World::new("outer");
        let jobs = outer.jobs();
        let job = jobs.schedule(&[], (), move |()| drop(world)).unwrap();
        jobs.complete(job);
        drop(sender);
        assert_eq!(ended.recv().unwrap(), "55 true false");
    }
}

#[test]
fn a_job_that_fails_when_a_job_of_another_world_drops_its_world_is_reported() {
    let (sender, errors) = mpsc::channel();
    let (last, _ended) = mpsc::channel();
    let mut world = world_with_last("inner", 1, &last);
    world.set_error_handler(move |error| sender.send(error.to_string()).unwrap());
    let job = world.query_mut::<&mut Health>().job().named("Fails");
    let _ = job.schedule(|_| panic!("by zero"));
    let outer = World::new("outer");
    let jobs = outer.jobs();
    jobs.complete(jobs.schedule(&[], (), move |()| drop(world)).unwrap());
    let error = errors.recv().unwrap();
    assert!(
        error.starts_with(
            "A0107: a job of world `inner` failed: A0011: job `Fails` panicked: by zero"
        ),
        "{error}"
    );
    assert!(errors.recv().is_err(), "once");
}

/// A system that reports its destruction.
struct Ends(mpsc::Sender<()>);

impl System for Ends {
    fn on_update(&mut self, _: &mut World) -> SystemResult {
        Ok(())
    }

    fn on_destroy(&mut self, _: &mut World) -> SystemResult {
        Ok(self.0.send(())?)
    }
}

#[test]
fn two_worlds_that_are_dropped_by_jobs_of_each_other_end() {
    let pool = |workers| JobPool::builder().workers(workers).build().unwrap();
    let shared = pool(4);
    for pools in [[pool(1), pool(1)], [pool(2), pool(2)], [shared.clone(), shared]] {
        let (sender, ended) = mpsc::channel();
        let (done, all_done) = mpsc::channel();
        let both_run = Arc::new(Barrier::new(2));
        let [one, two] = pools.map(|pool| {
            let mut world = World::with_settings("test", WorldSettings::new().job_pool(&pool));
            world.add_system(Ends(sender.clone()));
            world.spawn_batch((0..10).map(Health));
            let (give, given) = mpsc::channel::<World>();
            let (done, both_run) = (done.clone(), both_run.clone());
            let jobs = world.jobs();
            let drops = jobs.schedule(&[], (), move |()| {
                let other = given.recv().unwrap();
                both_run.wait();
                drop(other);
                done.send(()).unwrap();
            });
            let _ = drops.unwrap();
            jobs.flush();
            let mut query = world.query_mut::<&mut Health>();
            let _ = query.schedule_parallel(|health| health.0 += 1);
            (world, give)
        });
        drop((sender, done));
        one.1.send(two.0).unwrap();
        two.1.send(one.0).unwrap();
        assert_eq!((all_done.iter().count(), ended.iter().count()), (2, 2));
    }
}

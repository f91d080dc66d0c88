//! A world can be sent to another thread, and is used by one at a time.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]
#![deny(warnings)]

use std::thread;

use ancho_entities::{
    ChunkArena, Component, ComponentType, Entity, EntityManager, ResMut, Time, World,
};

#[derive(Component, Clone, Debug, PartialEq)]
struct Name(String);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Health(u32);

/// Is implemented once for types that are not `Sync` and twice for others, so that `_` is then ambiguous.
///
/// A program that must not compile would have to name all private types that a world is made of.
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
fn what_is_shared_is() {
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
    // Each is dropped in the thread that has it last.
    thread::spawn(move || drop(world)).join().unwrap();
    fork.check_invariants().unwrap();
}

#[test]
fn worlds_of_all_threads_register_the_same_types() {
    let threads: Vec<_> = (0..4)
        .map(|number| {
            thread::spawn(move || {
                let mut world = World::new(format!("World {number}"));
                for entity in world.spawn_many(1000, Health(number)).collect::<Vec<_>>() {
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
fn a0115_a_world_that_was_updated_elsewhere_and_put_back_has_lost_the_system() {
    struct Log(Vec<&'static str>);

    fn say(line: &'static str) -> impl FnMut(ResMut<'_, Log>) + Send + 'static {
        move |mut log: ResMut<'_, Log>| log.0.push(line)
    }

    fn wander(world: &mut World) {
        let mut own = std::mem::replace(world, World::new("new"));
        let elsewhere = thread::spawn(move || {
            own.try_update(0.1).unwrap();
            // It has the place of the system that is gone.
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
fn w2_a_world_that_was_updated_elsewhere_keeps_the_times_that_were_pushed_outside() {
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

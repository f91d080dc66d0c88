//! Replacing the entities of a world by those of a snapshot or of another world.

use std::mem;
use std::sync::{Arc, Mutex};

use ancho_entities::{
    BeginSimulation, Changed, CommandsAt, Component, EndSimulation, Entity, EntityError,
    EntityManager, FixedRateCatchUp, FixedStep, IntoSystem, Query, QueryDescriptor, ResMut, System,
    SystemGroup, SystemId, SystemResult, Time, Version, World, WorldSettings,
};

use crate::common::{A, B, Log, take, world};

fn watch(changed: Query<&A, Changed<A>>, mut log: ResMut<Log>) {
    log.0.push(changed.count().to_string());
}

#[test]
fn changes_are_found_after_swapping_with_a_snapshot() {
    let mut world = world();
    let entity = world.spawn(A(1));
    world.add_system(watch);
    world.try_update(0.1).unwrap();
    let mut snapshot = world.fork().unwrap();
    (0..20).for_each(|_| world.try_update(0.1).unwrap());
    take(&mut world);
    mem::swap::<EntityManager>(&mut world, &mut snapshot);
    for _ in 0..3 {
        world.get_mut::<A>(entity).unwrap().0 += 1;
        world.try_update(0.1).unwrap();
        world.try_update(0.1).unwrap();
    }
    assert_eq!(take(&mut world), ["1", "0", "1", "0", "1", "0"]);
}

#[test]
fn everything_is_new_after_swapping_with_an_unrelated_world() {
    let mut world = world();
    world.spawn(A(1));
    world.add_system(watch);
    (0..20).for_each(|_| world.try_update(0.1).unwrap());
    take(&mut world);
    let mut other = World::new("two");
    let entity = other.spawn(A(1));
    mem::swap::<EntityManager>(&mut world, &mut other);
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    world.get_mut::<A>(entity).unwrap().0 += 1;
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1", "0", "1"]);
    // All entities count as changed again when the first ones return, since systems have run without them.
    mem::swap::<EntityManager>(&mut world, &mut other);
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1", "0"]);
}

#[test]
fn a_system_that_exchanges_the_entities_has_later_systems_find_all_as_new() {
    let mut world = world();
    world.spawn(A(1));
    let mut other = World::new("two");
    other.spawn_many(A(1), 3);
    let mut turn = 0;
    world.add_system(
        (move |entities: &mut EntityManager| {
            turn += 1;
            if turn == 10 {
                mem::swap::<EntityManager>(entities, &mut other);
            }
        })
        .named("exchange"),
    );
    world.add_system(watch.after("exchange"));
    (0..12).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(take(&mut world)[8..], ["0", "3", "0", "0"]);
}

#[test]
fn a_restored_world_finds_the_changes_that_it_found_after_the_snapshot() {
    let mut world = world();
    let entities = [world.spawn(A(1)), world.spawn((A(1), B(1)))];
    world.add_system(watch);
    world.try_update(0.1).unwrap();
    // The write precedes the snapshot, and no system has seen it yet.
    world.get_mut::<A>(entities[1]).unwrap().0 = 2;
    let mut snapshot = world.fork().unwrap();
    for _ in 0..3 {
        take(&mut world);
        world.try_update(0.1).unwrap();
        world.try_update(0.1).unwrap();
        world.get_mut::<A>(entities[0]).unwrap().0 = 3;
        world.try_update(0.1).unwrap();
        assert_eq!(take(&mut world), ["1", "0", "1"]);
        world.restore(&mut snapshot).unwrap();
        assert_eq!(world.get(entities[0]), Ok(&A(1)));
        assert_eq!(world.get(entities[1]), Ok(&A(2)));
    }
}

#[test]
fn all_is_new_to_systems_that_were_added_after_the_snapshot() {
    let mut world = world();
    world.spawn(A(1));
    let first = world.add_system(watch);
    world.try_update(0.1).unwrap();
    let mut snapshot = world.fork().unwrap();
    // The second system reuses the slot of the first.
    world.remove_system(first).unwrap();
    let second = world.add_system(watch);
    (0..5).for_each(|_| world.try_update(0.1).unwrap());
    take(&mut world);
    world.restore(&mut snapshot).unwrap();
    assert_eq!(world.system_info(second).unwrap().last_run, Version::NEVER);
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1", "0"]);
}

#[test]
fn a_changed_snapshot_is_restored_with_its_changes() {
    let mut world = world();
    let entity = world.spawn(A(1));
    world.add_system(watch);
    world.try_update(0.1).unwrap();
    let mut snapshot = world.fork().unwrap();
    (0..5).for_each(|_| world.try_update(0.1).unwrap());
    snapshot.insert_resource(Log::default());
    snapshot.add_system(watch);
    snapshot.try_update(0.1).unwrap();
    snapshot.get_mut::<A>(entity).unwrap().0 = 7;
    take(&mut world);
    world.restore(&mut snapshot).unwrap();
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1", "0"]);
    assert_eq!(world.get(entity), Ok(&A(7)));
    // World and snapshot are independent.
    world.get_mut::<A>(entity).unwrap().0 = 8;
    assert_eq!(snapshot.get(entity), Ok(&A(7)));
}

#[test]
fn local_resources_and_locals_stay_when_a_world_is_restored_and_time_goes_back() {
    let mut world = world();
    world.add_system(|mut runs: ancho_entities::Local<u32>, mut log: ResMut<Log>, time: Time| {
        *runs += 1;
        log.0.push(format!("{} {}", *runs, time.frame()));
    });
    world.try_update(0.1).unwrap();
    let mut snapshot = world.fork().unwrap();
    world.try_update(0.1).unwrap();
    world.restore(&mut snapshot).unwrap();
    world.try_update(0.1).unwrap();
    world.restore(&mut snapshot).unwrap();
    assert_eq!(world.time(), snapshot.time());
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1 1", "2 2", "3 2", "4 2"]);
}

#[test]
fn steps_are_repeated_when_a_world_is_restored() {
    let mut world = world();
    world.set_rate(FixedStep, FixedRateCatchUp::new(0.25)).unwrap();
    world.add_system(
        (|time: Time, mut log: ResMut<Log>| log.0.push(time.elapsed().to_string()))
            .in_group(FixedStep),
    );
    (0..2).for_each(|_| world.try_update(0.25).unwrap());
    let mut snapshot = world.fork().unwrap();
    for _ in 0..3 {
        take(&mut world);
        (0..2).for_each(|_| world.try_update(0.25).unwrap());
        assert_eq!(take(&mut world), ["0.75", "1"]);
        world.restore(&mut snapshot).unwrap();
    }
}

#[test]
fn commands_that_wait_for_a_point_are_discarded_when_a_world_is_restored() {
    let mut world = world();
    let mut snapshot = world.fork().unwrap();
    world.add_system(|mut commands: CommandsAt<BeginSimulation>| {
        _ = commands.commands().spawn(A(1));
    });
    world.try_update(0.1).unwrap();
    world.commands_at::<EndSimulation>().unwrap().commands().unwrap().spawn(A(2));
    world.restore(&mut snapshot).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(world.entity_count(), 0, "those of the frame before are gone");
    world.try_update(0.1).unwrap();
    assert_eq!(world.query::<&A>().iter().map(|a| a.0).collect::<Vec<_>>(), [1]);
    world.check_invariants().unwrap();
}

#[test]
fn a_world_that_cannot_be_restored_stays_as_it_was() {
    #[derive(Component)]
    struct Unique(u32);

    let mut world = world();
    let entity = world.spawn(A(1));
    world.commands_at::<EndSimulation>().unwrap().commands().unwrap().spawn(A(2));
    let mut snapshot = World::new("two");
    snapshot.spawn(Unique(1));
    assert!(matches!(world.restore(&mut snapshot), Err(EntityError::NotDuplicable { .. })));
    let settings = WorldSettings::new().chunk_capacity_limit(7);
    let mut snapshot = World::with_settings("three", settings);
    assert_eq!(world.restore(&mut snapshot), Err(EntityError::DifferentChunks));
    assert_eq!(world.get(entity), Ok(&A(1)));
    world.try_update(0.1).unwrap();
    assert_eq!(world.entity_count(), 2, "the commands were kept");
}

#[test]
fn a_system_that_restores_its_world_continues() {
    let mut world = world();
    let entity = world.spawn(A(1));
    world.add_system(watch);
    world.try_update(0.1).unwrap();
    let mut snapshot = world.fork().unwrap();
    let mut turn = 0;
    world.add_system(
        (move |world: &mut World| {
            turn += 1;
            if turn == 3 {
                world.restore(&mut snapshot).unwrap();
            }
            world.get_mut::<A>(entity).unwrap().0 += 1;
        })
        .after(watch),
    );
    take(&mut world);
    (0..5).for_each(|_| world.try_update(0.1).unwrap());
    assert_eq!(world.get(entity), Ok(&A(4)));
    assert_eq!(take(&mut world), ["0", "1", "1", "1", "1"]);
}

#[test]
fn ids_returned_by_commands_are_reused_in_a_snapshot_as_in_its_world() {
    let mut world = world();
    let mut buffer = ancho_entities::EntityCommandBuffer::new();
    world.commands(&mut buffer).unwrap().spawn(A(1));
    drop(buffer);
    let mut snapshot = world.fork().unwrap();
    let spawn = |world: &mut World| -> Entity {
        world.try_update(0.1).unwrap();
        world.spawn(A(2))
    };
    assert_eq!(spawn(&mut world), spawn(&mut snapshot));
    assert_eq!(world.state_hash(), snapshot.state_hash());
}

/// A system that runs while an `A` exists, and spawns when it starts and stops.
struct Spawning;

impl System for Spawning {
    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        world.spawn(B(1));
        Ok(())
    }

    fn on_update(&mut self, _: &mut World) -> SystemResult {
        Ok(())
    }

    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        world.spawn(B(2));
        Ok(())
    }
}

/// Returns the values of all `B`, in order.
fn values(world: &World) -> Vec<u32> {
    let mut values: Vec<u32> = world.query::<&B>().iter().map(|b| b.0).collect();
    values.sort();
    values
}

#[test]
fn systems_start_and_stop_in_a_replay_as_in_the_original_run() {
    let mut world = world();
    world.add_system(Spawning.require(QueryDescriptor::of::<&A, ()>()));
    let before_all = world.fork().unwrap();
    let entity = world.spawn(A(1));
    world.try_update(0.1).unwrap();
    let while_started = world.fork().unwrap();
    world.despawn(entity).unwrap();
    world.try_update(0.1).unwrap();
    let while_stopped = world.fork().unwrap();
    assert_eq!(values(&world), [1, 2]);

    let mut snapshots = [before_all, while_started, while_stopped];
    for exchanges in [false, true] {
        let mut roll_back = |world: &mut World, number: usize| {
            let mut snapshot = snapshots[number].fork().unwrap();
            if exchanges {
                mem::swap::<EntityManager>(world, &mut snapshot);
            } else {
                world.restore(&mut snapshot).unwrap();
            }
        };
        // The system is stopped now, and stops once more.
        roll_back(&mut world, 1);
        world.despawn(entity).unwrap();
        world.try_update(0.1).unwrap();
        assert_eq!(values(&world), [1, 2]);
        roll_back(&mut world, 2);
        world.spawn(A(1));
        world.try_update(0.1).unwrap();
        assert_eq!(values(&world), [1, 1, 2]);
        // The system is started now, and starts once more.
        roll_back(&mut world, 2);
        world.spawn(A(1));
        world.try_update(0.1).unwrap();
        assert_eq!(values(&world), [1, 1, 2]);
        roll_back(&mut world, 0);
        world.spawn(A(1));
        world.try_update(0.1).unwrap();
        assert_eq!(values(&world), [1]);
        // The system has already started.
        roll_back(&mut world, 1);
        world.try_update(0.1).unwrap();
        assert_eq!(values(&world), [1]);
    }
}

/// The snapshot for the system `roll back`, and the last runs that the system `outer` reads afterwards.
#[derive(Clone, Default)]
struct Rollbacks(Arc<Mutex<(Option<World>, Vec<Version>)>>);

impl Rollbacks {
    fn take(&self) -> Option<World> {
        self.0.lock().unwrap().0.take()
    }

    /// Adds a system that updates another one.
    fn add_outer(&self, world: &mut World, inner: SystemId) -> SystemId {
        let rollbacks = self.clone();
        let outer = move |world: &mut World| {
            world.update_system(inner).unwrap();
            rollbacks.0.lock().unwrap().1.push(world.last_run());
        };
        world.add_system(outer.named("outer"))
    }

    /// Checks that the last run of `outer` is that of the snapshot after the rollback.
    #[track_caller]
    fn check(&self, world: &mut World, outer: SystemId) {
        (0..3).for_each(|_| world.try_update(0.1).unwrap());
        let at_snapshot = world.system_info(outer).unwrap().last_run;
        let snapshot = world.fork().unwrap();
        (0..5).for_each(|_| world.try_update(0.1).unwrap());
        self.0.lock().unwrap().0 = Some(snapshot);
        world.update_system(outer).unwrap();
        assert!(self.take().is_none());
        assert_eq!(self.0.lock().unwrap().1.last(), Some(&at_snapshot));
    }
}

#[test]
fn a_system_that_updates_one_that_rolls_back_has_the_last_run_of_the_snapshot() {
    type RollBack = fn(&mut World, &mut World);
    let restore: RollBack = |world, snapshot| world.restore(snapshot).unwrap();
    let exchange: RollBack = |world, snapshot| mem::swap::<EntityManager>(world, snapshot);
    for roll_back in [restore, exchange] {
        let mut world = world();
        world.spawn(A(1));
        let rollbacks = Rollbacks::default();
        let taken = rollbacks.clone();
        let inner = world.add_system(move |world: &mut World| {
            if let Some(mut snapshot) = taken.take() {
                roll_back(world, &mut snapshot);
            }
        });
        let outer = rollbacks.add_outer(&mut world, inner);
        rollbacks.check(&mut world, outer);
    }
}

#[test]
fn a_system_that_starts_one_that_rolls_back_has_the_last_run_of_the_snapshot() {
    struct Starts(Rollbacks);

    impl System for Starts {
        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }

        fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
            if let Some(mut snapshot) = self.0.take() {
                world.restore(&mut snapshot)?;
            }
            Ok(())
        }
    }

    let mut world = world();
    let rollbacks = Rollbacks::default();
    let inner =
        world.add_system(Starts(rollbacks.clone()).require(QueryDescriptor::of::<&A, ()>()));
    let outer = rollbacks.add_outer(&mut world, inner);
    let stops = world.spawn(A(1));
    (0..3).for_each(|_| world.try_update(0.1).unwrap());
    let at_snapshot = world.system_info(outer).unwrap().last_run;
    let snapshot = world.fork().unwrap();
    (0..3).for_each(|_| world.try_update(0.1).unwrap());
    rollbacks.0.lock().unwrap().0 = Some(snapshot);
    world.despawn(stops).unwrap();
    world.update_system(outer).unwrap();
    assert!(rollbacks.take().is_none());
    assert_eq!(rollbacks.0.lock().unwrap().1.last(), Some(&at_snapshot));
}

#[test]
fn a_system_that_updates_a_group_that_rolls_back_has_the_last_run_of_the_snapshot() {
    struct Group;

    impl SystemGroup for Group {}

    for is_last in [false, true] {
        let mut world = world();
        world.spawn(A(1));
        let rollbacks = Rollbacks::default();
        let taken = rollbacks.clone();
        let roll_back = move |entities: &mut EntityManager| {
            if let Some(mut snapshot) = taken.take() {
                mem::swap::<EntityManager>(entities, &mut snapshot);
            }
        };
        let group = world.add_system(Group);
        world.add_system(roll_back.named("roll back").in_group(Group));
        if !is_last {
            world.add_system(watch.after("roll back").in_group(Group));
        }
        let outer = rollbacks.add_outer(&mut world, group);
        rollbacks.check(&mut world, outer);
    }
}

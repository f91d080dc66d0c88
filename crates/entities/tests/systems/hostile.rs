//! Hostile programs.

use std::sync::{Arc, Mutex};

use ancho_entities::{
    CommandPoint, Commands, CommandsAt, Component, EndSimulation, Entity, EntityManager,
    IntoSystem, Lookup, ParamSet, Query, ResMut, Single, System, SystemResult, World,
};

use crate::common::{A, B, Shared, say};

#[test]
fn jobs_of_entities_that_were_exchanged_are_left_to_them() {
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
fn entities_are_exchanged_while_jobs_record_commands_for_a_point() {
    struct Point;

    impl CommandPoint for Point {}

    let other = Arc::new(Mutex::new(World::new("two")));
    let mut world = World::new("one");
    world.insert_resource(crate::common::Log::default());
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
    assert_eq!(crate::common::take(&mut world), ["goes on"]);
    assert_eq!(world.entity_count(), 100, "the entities came back, and were not despawned");
}

#[test]
fn values_that_panic_when_they_go_do_not_stop_updates() {
    struct Point;

    impl CommandPoint for Point {}

    #[derive(Component)]
    struct Bomb(#[field(opaque)] Arc<Mutex<u32>>);

    impl Drop for Bomb {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
            panic!("boom");
        }
    }

    let dropped = Arc::new(Mutex::new(0));
    let mut world = World::new("test");
    world.insert_resource(crate::common::Log::default());
    let point = world.add_system(Point.last());
    let bomb = Arc::clone(&dropped);
    let mut frame = 0;
    world.add_system(move |mut commands: CommandsAt<'_, Point>| {
        frame += 1;
        if frame <= 2 {
            // The first command fails, so that the others are only dropped.
            commands.commands().set(Entity::NULL, A(1));
            commands.commands().spawn(Bomb(Arc::clone(&bomb)));
        }
    });
    world.add_system(say("there"));
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.contains("boom"), "{errors}");
    assert_eq!(*dropped.lock().unwrap(), 1);
    // The point is removed while commands wait for it.
    let remove = move |world: &mut World| world.remove_system(point);
    let remove = world.add_system(remove.last().before(Point));
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.contains("boom"), "{errors}");
    assert_eq!(*dropped.lock().unwrap(), 2);
    world.remove_system(remove).unwrap();
    assert!(!world.has_system(point));
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.starts_with("A0114"), "{errors}");
    assert_eq!(crate::common::take(&mut world), ["there"; 3]);
}

#[test]
fn commands_that_panic_when_they_are_carried_out_do_not_stop_later_runs_of_their_system() {
    #[derive(Component)]
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("boom");
        }
    }

    let mut world = World::new("test");
    let bomb = world.spawn(Bomb);
    let mut frame = 0;
    world.add_system(move |mut commands: Commands| {
        frame += 1;
        if frame == 1 {
            commands.despawn(bomb);
        }
        commands.spawn(A(frame));
    });
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.contains("boom"), "{errors}");
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    let frames: Vec<_> = world.query::<&A>().iter().map(|a| a.0).filter(|&a| a > 1).collect();
    assert_eq!(frames, [2, 3]);
}

#[test]
fn what_failed_between_updates_is_told_by_the_next() {
    let mut world = World::new("test");
    world.spawn(A(1));
    world.add_system(|mut all: Query<&mut A>| _ = all.schedule(|_| panic!("by zero")));
    world.try_update(0.1).unwrap();
    world.complete_jobs();
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.contains("by zero"), "{errors}");
}

#[test]
fn a_world_that_is_taken_away_while_it_ends() {
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
fn values_stay_while_a_fork_that_has_them_too_goes() {
    struct Fork(Option<World>);

    let mut world = World::new("test");
    world.spawn((A(7), B(1)));
    world.add_system(
        |one: Single<&A>, a: Query<&A>, mut b: Query<&mut B>, mut fork: ResMut<Fork>| {
            let (one, found) = (one.into_inner(), a.iter().next().unwrap());
            b.for_each(|b| b.0 += 1);
            drop(fork.0.take());
            b.for_each(|b| b.0 += one.0 + found.0);
            assert_eq!((one, found), (&A(7), &A(7)));
        },
    );
    for round in 0..3 {
        let fork = world.fork().unwrap();
        world.insert_resource(Fork(Some(fork)));
        world.try_update(0.1).unwrap();
        assert_eq!(world.singleton::<B>(), Ok(&B(1 + 15 * (round + 1))));
    }
}

#[test]
fn commands_are_recorded_in_the_midst_of_loops_over_what_others_lend() {
    fn all_at_once(
        entities: &EntityManager,
        read: Query<(Entity, &A)>,
        lookup: Lookup<&A>,
        mut set: ParamSet<(Query<&A>, Commands, CommandsAt<EndSimulation>)>,
        mut first: Commands,
        mut second: Commands,
    ) {
        for (entity, a) in &read {
            let id = first.spawn(A(a.0 + 10));
            assert!(!entities.exists(id) && lookup.get(id).is_none());
            assert_eq!(entities.get::<A>(entity), Ok(lookup.get(entity).unwrap()));
            second.despawn(entity);
            let count = set.p0().iter().count();
            set.p1().spawn(A(count as u32));
            set.p2().commands().spawn(B(count as u32));
        }
    }

    let hash = || {
        let mut world = World::new("test");
        world.spawn_many(A(1), 300);
        world.add_system(all_at_once);
        world.try_update(0.1).unwrap();
        assert_eq!(world.entity_count(), 900);
        world.check_invariants().unwrap();
        world.state_hash()
    };
    assert_eq!(hash(), hash());
}

/// Updates a world whose system updates another world, and so on. Returns the number of worlds that refused a nested
/// update.
fn update_nested(depth: usize) -> usize {
    let Some(depth) = depth.checked_sub(1) else { return 0 };
    let refused = Arc::new(Mutex::new(0));
    let mut world = World::new("nested");
    let count = Arc::clone(&refused);
    world.add_system(move |world: &mut World| {
        let inner = update_nested(depth);
        *count.lock().unwrap() += inner + usize::from(world.try_update(0.1).is_err());
    });
    world.try_update(0.1).unwrap();
    let count = refused.lock().unwrap();
    *count
}

#[test]
fn updates_of_worlds_inside_of_each_other_are_told_apart_at_any_depth() {
    for depth in [1, 15, 16, 17, 18, 40] {
        assert_eq!(update_nested(depth), depth);
    }
    assert_eq!(update_nested(3), 3, "also after deeper ones");
}

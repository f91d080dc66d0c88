//! Hostile programs.

use std::sync::{Arc, Mutex};

use ancho_entities::{
    CommandPoint, Commands, CommandsAt, Component, EndSimulation, Entity, EntityManager,
    IntoSystem, Lookup, ParamSet, Query, ResMut, Resource, Single, World, WorldSettings,
};

use crate::common::{A, B, say};

#[test]
fn destructors_that_panic_do_not_stop_updates() {
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
    let mut world = World::with_settings("test", WorldSettings::new().strict(true));
    world.insert_resource(crate::common::Log::default());
    let point = world.add_system(Point.last());
    let bomb = Arc::clone(&dropped);
    let mut frame = 0;
    world.add_system(move |mut commands: CommandsAt<'_, Point>| {
        frame += 1;
        if frame <= 2 {
            // The first command fails, so that the others are only dropped, because the world is strict.
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
fn commands_that_panic_do_not_stop_later_runs_of_their_system() {
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
fn values_stay_when_a_fork_that_shares_them_is_dropped() {
    #[derive(Resource)]
    #[resource(local)]
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
fn commands_can_be_recorded_during_loops_over_borrowed_data() {
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
fn nested_updates_of_worlds_are_distinguished_at_any_depth() {
    for depth in [1, 15, 16, 17, 18, 40] {
        assert_eq!(update_nested(depth), depth);
    }
    assert_eq!(update_nested(3), 3, "also after deeper ones");
}

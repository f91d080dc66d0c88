//! Versions that begin again.

use ancho_entities::{Entity, EntityTracker, Version, World};

use crate::common::{A, B, both};

#[test]
fn a_slot_passes_over_the_version_of_no_entity() {
    for mut world in both() {
        let first = world.spawn(A(1));
        world.despawn(first).unwrap();
        world.entities_mut().set_slot_version(0, u32::MAX);
        let last = world.spawn(A(2));
        assert_eq!(last, Entity::from_parts(0, u32::MAX));
        assert_eq!(world.get(last), Ok(&A(2)));
        world.despawn(last).unwrap();
        world.check_invariants().unwrap();
        assert!(!world.exists(last));
        let again = world.spawn(A(3));
        // Version 0 at index 0 would be the null entity.
        assert_eq!(again, Entity::from_parts(0, 1));
        assert!(!world.exists(Entity::NULL) && !world.exists(last));
        assert_eq!(world.get(again), Ok(&A(3)));
        world.check_invariants().unwrap();
    }
}

#[test]
fn all_ways_to_destroy_pass_over_it() {
    type Destroy = fn(&mut World, &[Entity]);
    let ways: [Destroy; 3] = [
        |world, all| all.iter().for_each(|entity| assert_eq!(world.despawn(*entity), Ok(true))),
        |world, all| assert_eq!(world.despawn_slice(all), Ok(all.len())),
        |world, all| assert_eq!(world.despawn_all(), Ok(all.len())),
    ];
    for destroy in ways {
        let mut world = World::new("Simulation");
        let all: Vec<_> = world.spawn_many(10, A(1)).collect();
        world.despawn_slice(&all).unwrap();
        for index in 0..10 {
            world.entities_mut().set_slot_version(index, u32::MAX);
        }
        let mut last: Vec<_> = world.spawn_many(10, A(2)).collect();
        last.sort();
        assert!(last.iter().all(|entity| entity.version() == u32::MAX));
        destroy(&mut world, &last);
        assert!(last.iter().all(|entity| !world.exists(*entity)));
        world.check_invariants().unwrap();
        let mut again: Vec<_> = world.spawn_many(10, A(3)).collect();
        again.sort();
        let expected: Vec<_> = (0..10).map(|index| Entity::from_parts(index, 1)).collect();
        assert_eq!(again, expected);
        world.check_invariants().unwrap();
    }
}

#[test]
fn what_went_before_the_end_is_told_as_dead() {
    let mut world = World::new("Simulation");
    let first = world.spawn(A(1));
    world.despawn(first).unwrap();
    world.entities_mut().set_slot_version(0, u32::MAX);
    let last = world.spawn(A(1));
    world.despawn(last).unwrap();
    world.spawn(A(1));
    let refused = world.get::<A>(last).unwrap_err().to_string();
    assert!(refused.contains("does not exist any more"), "{refused}");
    let future = Entity::from_parts(0, 2);
    let refused = world.get::<A>(future).unwrap_err().to_string();
    assert!(refused.contains("has not created it yet"), "{refused}");
    world.check_invariants().unwrap();
}

#[test]
fn trackers_see_across_the_end() {
    let mut world = World::new("Simulation");
    let first = world.spawn(A(1));
    world.despawn(first).unwrap();
    world.entities_mut().set_slot_version(0, u32::MAX);
    let mut tracker = EntityTracker::new();
    let last = world.spawn(A(1));
    assert_eq!(world.entities_mut().entity_changes(&mut tracker).created, [last]);
    world.despawn(last).unwrap();
    let again = world.spawn(A(1));
    let changes = world.entities_mut().entity_changes(&mut tracker);
    assert_eq!((changes.created, changes.destroyed), (vec![again], vec![last]));
    world.check_invariants().unwrap();
}

#[test]
fn moments_begin_again() {
    for mut world in both() {
        world.entities_mut().set_version(Version::from_number(u32::MAX - 1));
        let entity = world.spawn((A(1), B(1)));
        let mut seen = world.entities().version();
        let changed = |world: &World, since: Version| {
            let chunk = world.entities().chunks().next().unwrap();
            (
                chunk.did_change::<A>(since),
                chunk.did_change::<B>(since),
                chunk.did_order_change(since),
            )
        };
        for expected in [u32::MAX, 1, 2, 3] {
            assert_eq!(world.entities_mut().advance_version().number(), expected);
            assert_eq!(changed(&world, seen), (false, false, false));
            world.set(entity, A(expected)).unwrap();
            assert_eq!(changed(&world, seen), (true, false, false));
            seen = world.entities().version();
            world.check_invariants().unwrap();
        }
        world.spawn((A(1), B(1)));
        assert_eq!(changed(&world, Version::from_number(2)), (true, true, true));
        world.check_invariants().unwrap();
    }
}

//! Tests of slot versions that wrap around. They are in the crate, because the version of a slot cannot be set from outside.

use super::EntityTracker;
use crate::builtin::OmitLinkedEntityGroup as Tag;
use crate::entity::Entity;
use crate::world::{World, WorldSettings};

#[test]
fn a_slot_passes_over_the_version_of_no_entity() {
    for strict in [false, true] {
        let mut world = World::with_settings("Simulation", WorldSettings::new().strict(strict));
        let first = world.spawn(Tag);
        world.despawn(first).unwrap();
        world.entities.storage.table.set_version(0, u32::MAX);
        let last = world.spawn(Tag);
        assert_eq!(last, Entity::from_parts(0, u32::MAX));
        assert_eq!(world.get(last), Ok(&Tag));
        world.despawn(last).unwrap();
        world.check_invariants().unwrap();
        assert!(!world.exists(last));
        let again = world.spawn(Tag);
        // Version 0 at index 0 would be the null entity.
        assert_eq!(again, Entity::from_parts(0, 1));
        assert!(!world.exists(Entity::NULL) && !world.exists(last));
        assert_eq!(world.get(again), Ok(&Tag));
        world.check_invariants().unwrap();
    }
}

#[test]
fn all_ways_to_destroy_pass_over_it() {
    type Destroy = fn(&mut World, &[Entity]);
    let ways: [Destroy; 3] = [
        |world, all| all.iter().for_each(|entity| assert_eq!(world.despawn(*entity), Ok(true))),
        |world, all| assert_eq!(world.batch(all).despawn(), Ok(all.len())),
        |world, all| assert_eq!(world.despawn_all(), Ok(all.len())),
    ];
    for destroy in ways {
        let mut world = World::new("Simulation");
        let all: Vec<_> = world.spawn_many(Tag, 10).collect();
        world.batch(&all).despawn().unwrap();
        for index in 0..10 {
            world.entities.storage.table.set_version(index, u32::MAX);
        }
        let mut last: Vec<_> = world.spawn_many(Tag, 10).collect();
        last.sort();
        assert!(last.iter().all(|entity| entity.version() == u32::MAX));
        destroy(&mut world, &last);
        assert!(last.iter().all(|entity| !world.exists(*entity)));
        world.check_invariants().unwrap();
        let mut again: Vec<_> = world.spawn_many(Tag, 10).collect();
        again.sort();
        let expected: Vec<_> = (0..10).map(|index| Entity::from_parts(index, 1)).collect();
        assert_eq!(again, expected);
        world.check_invariants().unwrap();
    }
}

#[test]
fn what_went_before_the_end_is_told_as_dead() {
    let mut world = World::new("Simulation");
    let first = world.spawn(Tag);
    world.despawn(first).unwrap();
    world.entities.storage.table.set_version(0, u32::MAX);
    let last = world.spawn(Tag);
    world.despawn(last).unwrap();
    world.spawn(Tag);
    let refused = world.get::<Tag>(last).unwrap_err().to_string();
    assert!(refused.contains("no longer exists"), "{refused}");
    let future = Entity::from_parts(0, 2);
    let refused = world.get::<Tag>(future).unwrap_err().to_string();
    assert!(refused.contains("has not created it"), "{refused}");
    world.check_invariants().unwrap();
}

#[test]
fn trackers_see_across_the_end() {
    let mut world = World::new("Simulation");
    let first = world.spawn(Tag);
    world.despawn(first).unwrap();
    world.entities.storage.table.set_version(0, u32::MAX);
    let mut tracker = EntityTracker::new();
    let last = world.spawn(Tag);
    assert_eq!(world.entity_changes(&mut tracker).created, [last]);
    world.despawn(last).unwrap();
    let again = world.spawn(Tag);
    let changes = world.entity_changes(&mut tracker);
    assert_eq!((changes.created, changes.destroyed), (vec![again], vec![last]));
    world.check_invariants().unwrap();
}

//! Created and destroyed entities.

use ancho_entities::{Entity, EntityChanges, EntityTracker, World};

use crate::common::{A, B, both, world};

fn changes(world: &mut World, tracker: &mut EntityTracker) -> (Vec<Entity>, Vec<Entity>) {
    let EntityChanges { created, destroyed } = world.entity_changes(tracker);
    (created, destroyed)
}

#[test]
fn the_lists_are_exact_over_several_calls() {
    for mut world in both() {
        let mut tracker = EntityTracker::new();
        let old = world.spawn(A(1));
        assert_eq!(changes(&mut world, &mut tracker), (vec![old], vec![]));
        assert_eq!(changes(&mut world, &mut tracker), (vec![], vec![]));

        let many: Vec<_> = world.spawn_many(A(2), 5).collect();
        world.despawn(old).unwrap();
        assert_eq!(changes(&mut world, &mut tracker), (many.clone(), vec![old]));

        // The index is reused: one entity was destroyed and one created.
        let again = world.spawn(A(3));
        assert_eq!(again.index(), old.index());
        world.batch(&many[1..3]).despawn().unwrap();
        assert_eq!(changes(&mut world, &mut tracker), (vec![again], many[1..3].to_vec()));
        assert_eq!(changes(&mut world, &mut tracker), (vec![], vec![]));
    }
}

#[test]
fn entities_created_and_destroyed_in_between_are_in_neither_list() {
    for mut world in both() {
        let mut tracker = EntityTracker::new();
        let kept = world.spawn(A(1));
        let brief = world.spawn(A(2));
        world.despawn(brief).unwrap();
        let second = world.spawn(A(2));
        world.despawn(second).unwrap();
        assert_eq!(changes(&mut world, &mut tracker), (vec![kept], vec![]));
    }
}

#[test]
fn an_index_reused_twice_in_between_is_reported_once() {
    for mut world in both() {
        let mut tracker = EntityTracker::new();
        let first = world.spawn(A(1));
        changes(&mut world, &mut tracker);
        world.despawn(first).unwrap();
        let second = world.spawn(A(2));
        world.despawn(second).unwrap();
        let third = world.spawn(A(3));
        assert_eq!(changes(&mut world, &mut tracker), (vec![third], vec![first]));
    }
}

#[test]
fn moves_and_writes_are_no_changes() {
    for mut world in both() {
        let mut tracker = EntityTracker::new();
        let all: Vec<_> = world.spawn_many(A(1), 3).collect();
        changes(&mut world, &mut tracker);
        world.add(all[0], B(1)).unwrap();
        world.remove::<A>(all[1]).unwrap();
        world.set(all[2], A(3)).unwrap();
        world.advance_version();
        assert_eq!(changes(&mut world, &mut tracker), (vec![], vec![]));
    }
}

#[test]
fn all_entities_can_be_destroyed_in_one_step() {
    for mut world in both() {
        let mut tracker = EntityTracker::new();
        let all: Vec<_> = world.spawn_many(A(1), 5000).collect();
        assert_eq!(changes(&mut world, &mut tracker), (all.clone(), vec![]));
        world.despawn_all().unwrap();
        let new = world.spawn(A(1));
        assert_eq!(changes(&mut world, &mut tracker), (vec![new], all));
    }
}

#[test]
fn trackers_are_independent() {
    let mut world = world();
    let [mut one, mut other] = [EntityTracker::new(), EntityTracker::new()];
    let a = world.spawn(());
    assert_eq!(changes(&mut world, &mut one), (vec![a], vec![]));
    let b = world.spawn(());
    assert_eq!(changes(&mut world, &mut other), (vec![a, b], vec![]));
    assert_eq!(changes(&mut world, &mut one), (vec![b], vec![]));
    let mut fork = world.fork();
    world.despawn(a).unwrap();
    assert_eq!(changes(&mut fork, &mut one), (vec![], vec![]));
    assert_eq!(changes(&mut world, &mut one), (vec![], vec![a]));
}

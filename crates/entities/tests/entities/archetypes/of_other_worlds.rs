//! Archetypes of other worlds, of forks and of dropped worlds.

use ancho_entities::{Archetype, Entity, EntityError, World};

use crate::common::{A, B, both};

#[track_caller]
fn refused_by(world: &mut World, entity: Entity, archetype: Archetype) {
    let (hash, archetypes) = (world.state_hash(), world.archetype_count());
    let refused = EntityError::ForeignArchetype;
    let entities = &mut *world;
    assert_eq!(entities.create(archetype), Err(refused));
    assert_eq!(entities.create_many(archetype, 0).unwrap_err(), refused);
    assert_eq!(entities.create_many(archetype, 7).unwrap_err(), refused);
    assert_eq!(entities.set_archetype(entity, archetype), Err(refused));
    assert_eq!(entities.component_types(archetype), Err(refused));
    assert_eq!(entities.archetype_capacity(archetype), Err(refused));
    assert_eq!((world.state_hash(), world.archetype_count()), (hash, archetypes));
    world.check_invariants().unwrap();
}

#[test]
fn archetypes_of_other_worlds_are_refused() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let mut other = World::new("Other");
        // One archetype with the same components and index, and one that this world lacks.
        other.spawn(A(1));
        let same = other.archetype::<A>();
        let more = other.archetype::<(A, B)>();
        for archetype in [same, more] {
            refused_by(&mut world, entity, archetype);
        }
        drop(other);
        let mut next = World::new("Next");
        next.spawn(A(1));
        for archetype in [same, more] {
            refused_by(&mut world, entity, archetype);
            refused_by(&mut next, entity, archetype);
        }
    }
}

#[test]
fn archetypes_from_before_a_fork_are_valid_in_the_fork() {
    for mut world in both() {
        let entity = world.spawn(A(1));
        let before = world.archetype::<(A, B)>();
        let mut fork = world.fork();
        fork.create(before).unwrap();
        fork.set_archetype(entity, before).unwrap();
        world.create(before).unwrap();
        fork.check_invariants().unwrap();
        world.check_invariants().unwrap();
    }
}

#[test]
fn archetypes_from_after_a_fork_are_refused_by_the_other_world() {
    use crate::common::{Tag, Text};

    for mut world in both() {
        let entity = world.spawn(A(1));
        let mut fork = world.fork();
        let ours = world.archetype::<(A, Text)>();
        let theirs = fork.archetype::<(A, Tag)>();
        refused_by(&mut world, entity, theirs);
        refused_by(&mut fork, entity, ours);
        // Archetypes are refused even if both worlds have created equally many.
        let ours = world.archetype::<(A, Text, Tag)>();
        fork.archetype::<(A, Text)>();
        refused_by(&mut fork, entity, ours);
    }
}

#[test]
fn archetypes_of_older_forks_are_valid_in_newer_ones() {
    use crate::common::Tag;

    let mut world = World::new("Simulation");
    let entity = world.spawn(A(1));
    let first = world.archetype::<B>();
    let mut fork = world.fork().unwrap();
    let second = fork.archetype::<Tag>();
    let mut grandchild = fork.fork().unwrap();
    let third = grandchild.archetype::<(B, Tag)>();
    for archetype in [first, second, third] {
        grandchild.create(archetype).unwrap();
    }
    fork.create(first).unwrap();
    fork.create(second).unwrap();
    refused_by(&mut fork, entity, third);
    refused_by(&mut world, entity, second);
    refused_by(&mut world, entity, third);
    world.despawn_all().unwrap();
    fork.check_invariants().unwrap();
    grandchild.check_invariants().unwrap();
}

#[test]
fn archetypes_of_duplicates() {
    // A duplicate may accept the archetypes it was made with; it refuses those created later.
    let mut world = World::new("Simulation");
    let entity = world.spawn(A(1));
    let mut duplicate = world.duplicate().unwrap();
    let later = world.archetype::<B>();
    duplicate.archetype::<(A, B)>();
    refused_by(&mut duplicate, entity, later);
    world.check_invariants().unwrap();
}

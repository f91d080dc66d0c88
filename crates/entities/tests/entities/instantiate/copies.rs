//! Copies of entities within their world.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ancho_entities::{
    Buffer, BufferElement, Component, Entity, EntityError, LinkedEntityGroup, Managed,
    ManagedComponent, PerChunk, Prefab, Shared, SharedComponent, World,
};

use crate::common::{A, Tag, Text, both, chunks_of, world};
use crate::enabled::bits::Engine;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::copies::Links")]
struct Links {
    inside: Entity,
    outside: Entity,
    own: Entity,
}

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(name = "game::copies::Friend", inline = 1)]
struct Friend(Entity);

#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[shared(name = "game::copies::Side")]
struct Side(u32);

#[derive(ManagedComponent, Clone, Debug, PartialEq)]
#[managed(name = "game::copies::Script")]
struct Script(Entity);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "game::copies::Stays", cleanup)]
struct Stays(u32);

/// A component that can be neither copied nor cloned.
#[derive(Component, Debug)]
#[component(name = "game::copies::Alone")]
struct Alone;

#[test]
fn references_inside_the_set_are_remapped_and_others_kept() {
    for mut world in both() {
        let outside = world.spawn(Tag);
        let all: Vec<_> = world.spawn_many(A(0), 20).collect();
        for (at, &own) in all.iter().enumerate() {
            let inside = all[(at + 7) % 20];
            let friends: Buffer<_> = [outside, inside, own, Entity::NULL].map(Friend).into();
            world.add(own, (Links { inside, outside, own }, friends)).unwrap();
            world.add(own, Managed::new(Script(inside))).map_err(|r| r.error).unwrap();
            world.set(own, A(at as u32)).unwrap();
        }
        // In any order, and some of them twice.
        let mut named = all.clone();
        named.reverse();
        named.extend(&all[3..6]);
        let copies = world.copy_entities(&named).unwrap();
        assert_eq!((copies.len(), world.entity_count()), (20, 41));
        for (at, &own) in all.iter().enumerate() {
            let copy = copies.get(own).unwrap();
            let inside = copies.get(all[(at + 7) % 20]).unwrap();
            assert_eq!(world.get(copy), Ok(&A(at as u32)));
            assert_eq!(world.get(copy), Ok(&Links { inside, outside, own: copy }));
            let friends = [outside, inside, copy, Entity::NULL].map(Friend);
            assert_eq!(world.buffer::<Friend>(copy), Ok(&friends[..]));
            assert_eq!(world.managed::<Script>(copy), Ok(&Script(inside)));
            // The originals are unchanged.
            let inside = all[(at + 7) % 20];
            assert_eq!(world.get(own), Ok(&Links { inside, outside, own }));
        }
    }
}

#[test]
fn a_part_of_a_set_keeps_its_references_to_the_rest() {
    let mut world = world();
    let (one, two) = (world.spawn(()), world.spawn(()));
    world.add(one, Links { inside: two, outside: two, own: one }).unwrap();
    let copies = world.copy_entities(&[one]).unwrap();
    let copy = copies.get(one).unwrap();
    assert_eq!(world.get(copy), Ok(&Links { inside: two, outside: two, own: copy }));
    assert_eq!(copies.get(two), None);
    assert!(world.copy_entities(&[]).unwrap().is_empty());
}

#[test]
fn copies_are_enabled_as_the_entities_are_and_have_their_shared_values() {
    let mut world = chunks_of(3);
    let sets =
        (0..20).map(|at| (A(at), Engine(at), Shared::new(Side(at % 4)), PerChunk::<Text>::new()));
    let all: Vec<_> = world.spawn_batch(sets).collect();
    for &entity in all.iter().step_by(3) {
        world.set_component_enabled::<Engine>(entity, false).unwrap();
    }
    world.set_name(all[5], "Grishnákh").unwrap();
    let copies = world.copy_entities(&all).unwrap();
    for (at, &entity) in all.iter().enumerate() {
        let copy = copies.get(entity).unwrap();
        let is_on = world.is_component_enabled::<Engine>(copy);
        assert_eq!(is_on, Ok(at % 3 != 0));
        assert_eq!(world.shared(copy), Ok(&Side(at as u32 % 4)));
        assert_eq!(world.get(copy), Ok(&A(at as u32)));
        assert!(world.has::<PerChunk<Text>>(copy));
    }
    assert_eq!(world.entity_name(copies.get(all[5]).unwrap()), Some("Grishnákh"));
}

#[test]
fn copies_of_prefabs_are_prefabs_and_groups_are_not_followed() {
    for mut world in both() {
        let (root, member) = (world.spawn((Prefab, A(1))), world.spawn((Prefab, A(2))));
        world.add(root, Buffer::from([root, member].map(LinkedEntityGroup))).unwrap();
        let copies = world.copy_entities(&[root]).unwrap();
        let copy = copies.get(root).unwrap();
        assert!(world.has::<Prefab>(copy) && world.entity_count() == 3);
        let group = [copy, member].map(LinkedEntityGroup);
        assert_eq!(world.buffer::<LinkedEntityGroup>(copy), Ok(&group[..]));
        // Copied together, they form their own group.
        let copies = world.copy_entities(&[root, member]).unwrap();
        let group = [root, member].map(|entity| LinkedEntityGroup(copies.get(entity).unwrap()));
        let copy = copies.get(root).unwrap();
        assert_eq!(world.buffer::<LinkedEntityGroup>(copy), Ok(&group[..]));
    }
}

#[test]
fn cleanup_components_are_not_copied() {
    let mut world = world();
    let source = world.spawn((A(1), Stays(7)));
    let copies = world.copy_entities(&[source]).unwrap();
    let copy = copies.get(source).unwrap();
    assert!(!world.has::<Stays>(copy) && world.get(copy) == Ok(&A(1)));
    world.despawn(source).unwrap();
    assert!(world.is_cleanup_only(source));
    let other = world.spawn(A(2));
    let count = world.entity_count();
    let refused = world.copy_entities(&[other, source]).unwrap_err();
    assert_eq!(refused, EntityError::CleanupOnly { entity: source });
    assert_eq!(world.entity_count(), count);
}

#[test]
fn a_copy_that_cannot_be_made_leaves_nothing() {
    let mut world = world();
    let (good, alone, gone) = (world.spawn(A(1)), world.spawn(Alone), world.spawn(()));
    world.despawn(gone).unwrap();
    let hash = world.state_hash();
    let refused = world.copy_entities(&[good, alone]).unwrap_err();
    assert!(matches!(refused, EntityError::NotDuplicable { .. }), "{refused}");
    let refused = world.copy_entities(&[good, gone]).unwrap_err();
    assert!(matches!(refused, EntityError::NoSuchEntity { entity, .. } if entity == gone));
    assert_eq!((world.entity_count(), world.state_hash()), (2, hash));
}

/// A component that panics at the clone with the given number.
#[derive(Component)]
#[component(name = "game::copies::Fuse")]
struct Fuse(#[field(opaque)] Arc<AtomicUsize>);

impl Clone for Fuse {
    fn clone(&self) -> Self {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 0 {
            panic!("told to");
        }
        Self(Arc::clone(&self.0))
    }
}

#[test]
fn a_clone_that_panics_leaves_no_copy() {
    let mut world = world();
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let all: Vec<_> =
        world.spawn_batch((0..10).map(|at| (A(at), Fuse(Arc::clone(&left))))).collect();
    left.store(6, Ordering::Relaxed);
    let copy = AssertUnwindSafe(|| world.copy_entities(&all).map(|copies| copies.len()));
    assert!(catch_unwind(copy).is_err());
    assert_eq!((world.entity_count(), Arc::strong_count(&left)), (10, 11));
    left.store(usize::MAX, Ordering::Relaxed);
    assert_eq!(world.copy_entities(&all).unwrap().len(), 10);
    assert_eq!(Arc::strong_count(&left), 21);
}

#[test]
fn copies_of_a_fork_do_not_touch_the_other_side() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_batch((0..10).map(|at| (A(at), Text(at.to_string())))).collect();
    let mut fork = world.fork();
    let before = world.state_hash();
    let copies = fork.copy_entities(&all).unwrap();
    assert_eq!((world.entity_count(), world.state_hash()), (10, before));
    let same = world.copy_entities(&all).unwrap();
    assert!(same.iter().eq(copies.iter()), "the ids are the same in both");
    assert_eq!(world.state_hash(), fork.state_hash());
    let texts = |world: &World| world.query::<&Text>().iter().cloned().collect::<Vec<_>>();
    assert_eq!(texts(&world), texts(&fork));
}

//! Adding, replacing and removing links of single entities.

use ancho_entities::{Buffer, ComponentType, Entity, World};

use super::{ChildOf, Children, LikedBy, Likes, TargetedBy, Targets};
use crate::common::*;

#[test]
fn spawn_and_add_update_the_buffer_of_the_target() {
    for mut world in both() {
        let parent = world.spawn(A(1));
        let first = world.spawn((A(2), ChildOf(parent)));
        assert_eq!(world.buffer::<Children>(parent).unwrap(), [Children(first)]);
        let second = world.spawn(());
        assert_eq!(world.add(second, ChildOf(parent)), Ok(true));
        assert_eq!(world.sources::<ChildOf>(parent), [first, second]);
        assert_eq!(world.target::<ChildOf>(second), Some(parent));
        assert_eq!(world.get(parent), Ok(&A(1)));
    }
}

#[test]
fn another_target_moves_the_source_to_the_end_of_its_buffer() {
    let mut world = world();
    let (left, right) = (world.spawn(()), world.spawn(()));
    let first = world.spawn(ChildOf(left));
    let second = world.spawn(ChildOf(right));
    assert_eq!(world.add(first, ChildOf(right)), Ok(false));
    assert_eq!(world.sources::<ChildOf>(right), [second, first]);
    assert!(!world.has::<Buffer<Children>>(left), "an empty buffer is removed");
    world.set(second, ChildOf(left)).unwrap();
    assert_eq!(world.sources::<ChildOf>(left), [second]);
    assert_eq!(world.sources::<ChildOf>(right), [first]);
}

#[test]
fn the_same_target_keeps_the_place() {
    let mut world = world();
    let parent = world.spawn(());
    let all: Vec<_> = world.spawn_many(ChildOf(parent), 3).collect();
    assert_eq!(world.add(all[0], ChildOf(parent)), Ok(false));
    world.set(all[1], ChildOf(parent)).unwrap();
    assert_eq!(world.sources::<ChildOf>(parent), all);
}

#[test]
fn removal_keeps_the_order_if_it_is_ordered() {
    let mut world = world();
    let target = world.spawn(());
    let all: Vec<_> = world.spawn_many((ChildOf(target), Targets { enemy: target }), 4).collect();
    assert_eq!(world.remove::<(ChildOf, Targets)>(all[1]), Ok(true));
    assert_eq!(world.sources::<ChildOf>(target), [all[0], all[2], all[3]]);
    assert_eq!(world.sources::<Targets>(target), [all[0], all[3], all[2]]);
    assert_eq!(world.remove::<ChildOf>(all[1]), Ok(false));
    for &source in &all {
        world.remove::<(ChildOf, Targets)>(source).unwrap();
    }
    assert!(!world.has::<Buffer<Children>>(target) && !world.has::<Buffer<TargetedBy>>(target));
}

#[test]
fn removing_the_buffer_detaches_all_sources() {
    let mut world = world();
    let target = world.spawn(A(7));
    let all: Vec<_> = world.spawn_many((A(1), Targets { enemy: target }), 10).collect();
    assert_eq!(world.remove::<Buffer<TargetedBy>>(target), Ok(true));
    assert!(all.iter().all(|&source| !world.has::<Targets>(source) && world.has::<A>(source)));
    assert_eq!(world.get(target), Ok(&A(7)));
    world.spawn(ChildOf(target));
    let types = [ComponentType::of_buffer::<Children>(), ComponentType::of::<A>()];
    assert_eq!(world.remove_types(target, &types), Ok(true));
    assert!(world.sources::<ChildOf>(target).is_empty() && !world.has::<A>(target));
}

#[test]
fn taking_a_source_returns_it_and_ends_the_link() {
    let mut world = world();
    let target = world.spawn(());
    let source = world.spawn((A(3), Targets { enemy: target }));
    assert_eq!(world.take::<Targets>(source), Ok(Targets { enemy: target }));
    assert!(world.sources::<Targets>(target).is_empty());
}

#[test]
fn an_exchange_moves_links() {
    let mut world = world();
    let (left, right) = (world.spawn(()), world.spawn(()));
    let source = world.spawn(ChildOf(left));
    world.exchange::<ChildOf, _>(source, Targets { enemy: right }).unwrap();
    assert!(world.sources::<ChildOf>(left).is_empty());
    assert_eq!(world.sources::<Targets>(right), [source]);
    world.exchange::<(Targets, A), _>(source, (Targets { enemy: left }, B(1))).unwrap();
    assert_eq!(world.sources::<Targets>(left), [source]);
    assert!(world.sources::<Targets>(right).is_empty());
}

#[test]
fn another_archetype_ends_the_links_that_it_lacks() {
    let mut world = world();
    let target = world.spawn(());
    let source = world.spawn((A(1), ChildOf(target), Targets { enemy: target }));
    let child = world.spawn(ChildOf(source));
    let plain = world.archetype::<A>();
    world.set_archetype(source, plain).unwrap();
    assert!(
        world.sources::<ChildOf>(target).is_empty() && world.sources::<Targets>(target).is_empty()
    );
    assert!(!world.has::<ChildOf>(child));
    assert_eq!(world.get(source), Ok(&A(1)));
}

#[test]
fn an_entity_may_refer_to_itself_if_the_type_allows_it() {
    let mut world = world();
    let narcissus = world.spawn(());
    world.add(narcissus, Likes(narcissus)).unwrap();
    assert_eq!(world.sources::<Likes>(narcissus), [narcissus]);
    let copy = world.instantiate(narcissus).unwrap();
    assert_eq!(world.target::<Likes>(copy), Some(copy));
    assert_eq!(world.sources::<Likes>(copy), [copy]);
    assert_eq!(world.remove::<Buffer<LikedBy>>(narcissus), Ok(true));
    assert!(!world.has::<Likes>(narcissus));
    world.despawn(copy).unwrap();
}

#[test]
fn two_relationships_between_two_entities_are_separate() {
    let mut world = world();
    let (a, b) = (world.spawn(()), world.spawn(()));
    world.add(a, (Likes(b), Targets { enemy: b })).unwrap();
    world.add(b, (Likes(a), Targets { enemy: a })).unwrap();
    world.despawn(b).unwrap();
    assert!(!world.has::<Likes>(a) && !world.has::<Targets>(a));
    assert!(!world.has::<Buffer<LikedBy>>(a) && !world.has::<Buffer<TargetedBy>>(a));
}

#[test]
fn forks_share_links_until_one_side_changes_them() {
    let mut world = world();
    let target = world.spawn(());
    let all: Vec<_> = world.spawn_many(Targets { enemy: target }, 5).collect();
    let mut fork = world.fork();
    assert_eq!(fork.state_hash(), world.state_hash());
    fork.remove::<Targets>(all[0]).unwrap();
    assert_eq!(fork.sources::<Targets>(target), [all[4], all[1], all[2], all[3]]);
    assert_eq!(world.sources::<Targets>(target), all);
    let snapshot = world.state_hash();
    world.copy_and_replace_from(&mut fork.0).unwrap();
    world.remove::<Targets>(all[4]).unwrap();
    assert_ne!(world.state_hash(), snapshot);
    assert_eq!(world.sources::<Targets>(target), [all[3], all[1], all[2]]);
}

#[test]
fn the_order_of_sources_is_state() {
    let build = |reverse: bool| {
        let mut world = World::new("Simulation");
        let target = world.spawn(());
        world.spawn_many(ChildOf(target), 2).for_each(drop);
        if reverse {
            world.sources_mut::<ChildOf>(target).unwrap().reverse();
        }
        world.state_hash()
    };
    assert_ne!(build(false), build(true));
}

#[test]
fn the_null_entity_is_no_target() {
    let mut world = world();
    let parent = world.spawn(());
    let child = world.spawn(ChildOf(parent));
    let error = world.add(child, ChildOf(Entity::NULL)).unwrap_err().error;
    assert!(error.to_string().starts_with("A0050"), "{error}");
    assert_eq!(world.sources::<ChildOf>(parent), [child]);
}

#[test]
fn references_of_links_are_kept_when_references_are_replaced() {
    let mut world = world();
    let parent = world.spawn(());
    let child = world.spawn((ChildOf(parent), Link(parent)));
    world.remap_references(|_| Entity::NULL).unwrap();
    assert_eq!(world.get(child), Ok(&Link(Entity::NULL)));
    assert_eq!(world.target::<ChildOf>(child), Some(parent));
}

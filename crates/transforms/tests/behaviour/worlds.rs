//! Parents and children that move to other worlds.

use ancho_entities::{Buffer, Disabled, Entity, EntityMap, QueryDescriptor, With, World};
use ancho_transforms::{
    Attach, Attached, Child, LocalToParent, LocalToWorld, Parent, Position, world_transform,
};
use glam::Vec3;

use crate::common::{at, children, place, update, world};

/// A parent at 1, 0, 0 with two children above it.
struct Family {
    parent: Entity,
    children: [Entity; 2],
}

fn family(world: &mut World) -> Family {
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let children = [1.0, 2.0].map(|height| world.spawn((at(0.0, height, 0.0), Parent(parent))));
    update(world);
    Family { parent, children }
}

/// Asserts that the child is placed in the world, and follows its own position.
#[track_caller]
fn assert_root(world: &mut World, entity: Entity) {
    assert!(!world.has::<Parent>(entity));
    let position = world.get::<Position>(entity).unwrap().0;
    assert_eq!(place(world, entity), position);
    world.get_mut::<Position>(entity).unwrap().0.z = 9.0;
    update(world);
    assert_eq!(place(world, entity), position.with_z(9.0));
}

/// Asserts that the child is placed relative to its parent, and follows it.
#[track_caller]
fn assert_follows(world: &mut World, parent: Entity, child: Entity) {
    assert_eq!(world.get(child), Ok(&Parent(parent)));
    world.get_mut::<Position>(parent).unwrap().0.x += 5.0;
    update(world);
    let positions = [parent, child].map(|entity| world.get::<Position>(entity).unwrap().0);
    assert_eq!(place(world, child), positions[0] + positions[1]);
}

/// A way to move entities to another world.
type Way = fn(&mut World, &mut World, &[Entity]) -> EntityMap;

const MOVES: [Way; 2] = [
    |from, to, entities| from.batch(entities).move_to(to).unwrap(),
    |from, to, entities| {
        #[derive(ancho_entities::Component, Clone, Copy)]
        struct Leaves;
        for &entity in entities {
            from.add(entity, Leaves).unwrap();
        }
        from.batch(QueryDescriptor::of::<(), With<Leaves>>()).move_to(to).unwrap()
    },
];

const COPIES: [Way; 2] = [
    |from, to, entities| from.batch(entities).copy_to(to).unwrap(),
    |from, to, entities| {
        #[derive(ancho_entities::Component, Clone, Copy)]
        struct Leaves;
        for &entity in entities {
            from.add(entity, Leaves).unwrap();
        }
        QueryDescriptor::of::<(), With<Leaves>>().copy_to(from, to).unwrap()
    },
];

#[test]
fn children_of_a_parent_that_moves_to_another_world_become_roots() {
    for way in MOVES {
        let (mut here, mut there) = (world(), world());
        let family = family(&mut here);
        let moved = way(&mut here, &mut there, &[family.parent]);
        update(&mut here);
        for child in family.children {
            assert_root(&mut here, child);
        }
        update(&mut there);
        let parent = moved.get(family.parent).unwrap();
        assert!(!there.has::<Buffer<Child>>(parent), "none of its children came along");
        assert_root(&mut there, parent);
    }
}

#[test]
fn a_parent_that_comes_with_some_of_its_children_lists_only_these() {
    for way in MOVES.into_iter().chain(COPIES) {
        let (mut here, mut there) = (world(), world());
        there.spawn_many((), 10);
        let family = family(&mut here);
        let moved = way(&mut here, &mut there, &[family.parent, family.children[1]]);
        update(&mut there);
        let [parent, child] = [family.parent, family.children[1]].map(|it| moved.get(it).unwrap());
        assert_eq!(children(&there, parent), [child]);
        assert_follows(&mut there, parent, child);
        update(&mut here);
        if here.exists(family.parent) {
            assert_eq!(children(&here, family.parent), family.children);
        } else {
            assert_root(&mut here, family.children[0]);
        }
    }
}

#[test]
fn a_child_that_goes_to_another_world_without_its_parent_is_a_root_there() {
    for way in MOVES.into_iter().chain(COPIES) {
        let (mut here, mut there) = (world(), world());
        // Another entity has the index of the parent.
        there.spawn_many(at(7.0, 7.0, 7.0), 10);
        let family = family(&mut here);
        let moved = way(&mut here, &mut there, &family.children[..1]);
        update(&mut here);
        update(&mut there);
        assert_root(&mut there, moved.get(family.children[0]).unwrap());
        let left = if here.exists(family.children[0]) { 0 } else { 1 };
        assert_eq!(children(&here, family.parent), family.children[left..]);
        assert_follows(&mut here, family.parent, family.children[1]);
    }
}

#[test]
fn a_parent_whose_last_child_goes_to_another_world_has_no_buffer_any_more() {
    let (mut here, mut there) = (world(), world());
    let family = family(&mut here);
    here.batch(&family.children).move_to(&mut there).unwrap();
    update(&mut here);
    assert!(!here.has::<Buffer<Child>>(family.parent));
    assert_root(&mut here, family.parent);
}

#[test]
fn whole_worlds_move_and_are_copied_with_their_hierarchies() {
    let (mut here, mut there) = (world(), world());
    let family_here = family(&mut here);
    let family_there = family(&mut there);
    let copied = there.copy_entities_from(&here).unwrap();
    let moved = there.move_entities_from(&mut here).unwrap();
    update(&mut here);
    update(&mut there);
    for map in [copied, moved] {
        let [parent, first, second] =
            [family_here.parent, family_here.children[0], family_here.children[1]]
                .map(|it| map.get(it).unwrap());
        assert_eq!(children(&there, parent), [first, second]);
        assert_follows(&mut there, parent, second);
    }
    assert_follows(&mut there, family_there.parent, family_there.children[0]);
    let other = family(&mut here);
    here.copy_and_replace_from(&mut there).unwrap();
    update(&mut here);
    assert!(!here.exists(other.parent) || here.exists(family_there.parent));
    assert_follows(&mut here, family_there.parent, family_there.children[1]);
}

#[test]
fn two_worlds_exchange_parents_in_one_frame() {
    let (mut here, mut there) = (world(), world());
    there.spawn_many((), 10);
    let (one, two) = (family(&mut here), family(&mut there));
    let gone = here.batch(&[one.parent]).move_to(&mut there).unwrap();
    let come = there.batch(&[two.parent]).move_to(&mut here).unwrap();
    for world in [&mut here, &mut there] {
        update(world);
    }
    for (world, children, arrived) in [
        (&mut here, one.children, come.get(two.parent).unwrap()),
        (&mut there, two.children, gone.get(one.parent).unwrap()),
    ] {
        assert!(!world.has::<Buffer<Child>>(arrived));
        for child in children {
            assert_root(world, child);
        }
    }
}

#[test]
fn children_with_a_new_parent_follow_it_after_the_old_one_has_left() {
    let (mut here, mut there) = (world(), world());
    let family = family(&mut here);
    let new = here.spawn(at(0.0, 0.0, 3.0));
    here.batch(&[family.parent]).move_to(&mut there).unwrap();
    here.add(family.children[0], Parent(new)).unwrap();
    update(&mut here);
    assert_eq!(children(&here, new), [family.children[0]]);
    assert_follows(&mut here, new, family.children[0]);
    assert_root(&mut here, family.children[1]);
}

#[test]
fn a_disabled_child_of_a_parent_that_has_left_is_a_root_when_it_is_enabled() {
    let (mut here, mut there) = (world(), world());
    let family = family(&mut here);
    here.add(family.children[0], Disabled).unwrap();
    update(&mut here);
    here.batch(&[family.parent]).move_to(&mut there).unwrap();
    update(&mut here);
    here.remove::<Disabled>(family.children[0]).unwrap();
    update(&mut here);
    assert_root(&mut here, family.children[0]);
}

#[test]
fn grandchildren_follow_a_child_whose_parent_has_left() {
    let (mut here, mut there) = (world(), world());
    let family = family(&mut here);
    let below = here.spawn((at(0.0, 0.0, 1.0), Parent(family.children[0])));
    update(&mut here);
    here.batch(&[family.parent]).move_to(&mut there).unwrap();
    update(&mut here);
    assert_eq!(place(&here, below), Vec3::new(0.0, 1.0, 1.0));
    assert_follows(&mut here, family.children[0], below);
}

#[test]
fn an_attached_child_of_a_parent_that_has_left_is_detached() {
    let (mut here, mut there) = (world(), world());
    let [parent, child] = [at(1.0, 0.0, 0.0), at(0.0, 1.0, 0.0)].map(|place| here.spawn(place));
    here.spawn(Attach { parent, child });
    update(&mut here);
    here.batch(&[parent]).move_to(&mut there).unwrap();
    update(&mut here);
    assert!(!here.has::<Attached>(child) && !here.has::<LocalToParent>(child));
    assert_root(&mut here, child);
}

#[test]
fn a_tree_moves_to_another_world_as_a_whole() {
    let (mut here, mut there) = (world(), world());
    there.spawn_many(at(7.0, 7.0, 7.0), 10);
    update(&mut there);
    let family = family(&mut here);
    let below = here.spawn((at(0.0, 0.0, 1.0), Parent(family.children[0])));
    let moved = here.batch(&[family.parent]).move_linked_to(&mut there).unwrap();
    assert_eq!(here.entity_count(), 0);
    update(&mut here);
    update(&mut there);
    let [parent, child, below] =
        [family.parent, family.children[0], below].map(|it| moved.get(it).unwrap());
    assert_eq!(place(&there, below), Vec3::new(1.0, 1.0, 1.0));
    assert_follows(&mut there, parent, child);
    assert_eq!(there.get(below), Ok(&world_transform(&there, below).unwrap()));
}

#[test]
fn a_parent_that_is_despawned_after_its_buffer_was_removed_leaves_roots() {
    let mut world = world();
    let family = family(&mut world);
    world.remove::<Buffer<Child>>(family.parent).unwrap();
    world.despawn(family.parent).unwrap();
    update(&mut world);
    for child in family.children {
        assert_root(&mut world, child);
    }
}

#[test]
fn a_removed_matrix_of_a_parent_is_restored() {
    let mut world = world();
    let family = family(&mut world);
    world.remove::<LocalToWorld>(family.parent).unwrap();
    update(&mut world);
    assert_follows(&mut world, family.parent, family.children[0]);
}

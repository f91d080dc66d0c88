//! Changes of parents, disabled branches and despawned entities.

use ancho_entities::{Disabled, Entity, EntityCommandBuffer, World};
use ancho_transforms::{Child, Parent, Position};
use glam::Vec3;

use crate::{assert_at, update, world};

fn at(x: f32) -> Position {
    Position(Vec3::new(x, 0.0, 0.0))
}

fn children(world: &World, parent: Entity) -> Vec<Entity> {
    let buffer = world.buffer::<Child>(parent);
    buffer.map_or(Vec::new(), |children| children.iter().map(|child| child.0).collect())
}

/// Spawns two possible parents, at 10 and 20, and a child of the first at 1.
fn family() -> (World, Entity, Entity, Entity) {
    let mut world = world();
    let (first, second) = (world.spawn(at(10.0)), world.spawn(at(20.0)));
    let child = world.spawn((at(1.0), Parent(first)));
    update(&mut world);
    (world, first, second, child)
}

#[test]
fn a_parent_is_set() {
    let (world, first, second, child) = family();
    assert_eq!(children(&world, first), [child]);
    assert!(world.buffer::<Child>(second).is_err());
    assert_at(&world, child, [11.0, 0.0, 0.0]);
}

#[test]
fn an_existing_entity_becomes_the_parent() {
    let mut world = world();
    let parent = world.spawn(at(10.0));
    let child = world.spawn(at(1.0));
    update(&mut world);
    assert_at(&world, child, [1.0, 0.0, 0.0]);
    world.add(child, Parent(parent)).unwrap();
    update(&mut world);
    assert_at(&world, child, [11.0, 0.0, 0.0]);
    assert_eq!(children(&world, parent), [child]);
}

#[test]
fn a_parent_is_changed() {
    let (mut world, first, second, child) = family();
    world.set(child, Parent(second)).unwrap();
    update(&mut world);
    assert!(world.buffer::<Child>(first).is_err(), "who has no children has no buffer");
    assert_eq!(children(&world, second), [child]);
    assert_at(&world, child, [21.0, 0.0, 0.0]);
}

#[test]
fn a_parent_is_removed() {
    let (mut world, first, _, child) = family();
    world.remove::<Parent>(child).unwrap();
    update(&mut world);
    assert!(world.buffer::<Child>(first).is_err());
    assert_at(&world, child, [1.0, 0.0, 0.0]);
}

#[test]
fn a_parent_is_despawned() {
    let (mut world, first, second, child) = family();
    world.despawn(first).unwrap();
    assert!(!world.exists(child));
    update(&mut world);
    assert_eq!(world.entity_count(), 1);
    assert_at(&world, second, [20.0, 0.0, 0.0]);
}

#[test]
fn a_parent_is_despawned_after_its_children_were_detached() {
    let (mut world, first, _, child) = family();
    world.detach_children(first).unwrap();
    world.despawn(first).unwrap();
    update(&mut world);
    assert!(!world.has::<Parent>(child));
    assert_eq!(world.entity_count(), 2);
    assert_at(&world, child, [1.0, 0.0, 0.0]);
}

#[test]
fn a_parent_is_despawned_and_its_child_has_another_one() {
    let (mut world, first, second, child) = family();
    world.set(child, Parent(second)).unwrap();
    world.despawn(first).unwrap();
    update(&mut world);
    assert_eq!(world.get::<Parent>(child), Ok(&Parent(second)));
    assert_eq!(children(&world, second), [child]);
    assert_eq!(world.entity_count(), 2);
    assert_at(&world, child, [21.0, 0.0, 0.0]);
}

#[test]
fn a_parent_is_despawned_before_the_first_update() {
    let mut world = world();
    let parent = world.spawn(at(10.0));
    let children = [1.0, 2.0].map(|x| world.spawn((at(x), Parent(parent))));
    world.remove::<Parent>(children[0]).unwrap();
    world.despawn(parent).unwrap();
    update(&mut world);
    assert_eq!(world.entity_count(), 1);
    assert_at(&world, children[0], [1.0, 0.0, 0.0]);
}

#[test]
fn a_parent_that_is_null() {
    let mut world = world();
    let child = world.spawn(at(1.0));
    assert!(world.add(child, Parent(Entity::NULL)).is_err());
    update(&mut world);
    assert!(!world.has::<Parent>(child));
    assert_at(&world, child, [1.0, 0.0, 0.0]);
}

#[test]
fn a_parent_is_not_changed_to_a_missing_entity() {
    let (mut world, first, second, child) = family();
    world.despawn(second).unwrap();
    assert!(world.set(child, Parent(second)).is_err());
    update(&mut world);
    assert_eq!(children(&world, first), [child]);
    assert_at(&world, child, [11.0, 0.0, 0.0]);
}

#[test]
fn a_child_is_despawned() {
    let (mut world, first, _, child) = family();
    let other = world.spawn((at(2.0), Parent(first)));
    update(&mut world);
    assert_eq!(children(&world, first), [child, other]);
    world.despawn(child).unwrap();
    update(&mut world);
    assert_eq!(children(&world, first), [other]);
    assert_eq!(world.entity_count(), 3);
}

#[test]
fn children_are_in_the_order_of_their_addition() {
    let (mut world, first, second, child) = family();
    let others: Vec<Entity> = (0..5).map(|x| world.spawn((at(x as f32), Parent(second)))).collect();
    update(&mut world);
    assert_eq!(children(&world, second), others);
    world.set(child, Parent(second)).unwrap();
    world.set(others[1], Parent(first)).unwrap();
    update(&mut world);
    assert_eq!(children(&world, second), [others[0], others[2], others[3], others[4], child]);
    assert_eq!(children(&world, first), [others[1]]);
}

#[test]
fn a_grandparent_is_despawned() {
    let (mut world, first, second, child) = family();
    let grandchild = world.spawn((at(0.5), Parent(child)));
    update(&mut world);
    assert_at(&world, grandchild, [11.5, 0.0, 0.0]);
    world.set(child, Parent(second)).unwrap();
    world.despawn(first).unwrap();
    update(&mut world);
    assert_at(&world, child, [21.0, 0.0, 0.0]);
    assert_at(&world, grandchild, [21.5, 0.0, 0.0]);
    world.despawn(second).unwrap();
    update(&mut world);
    assert_eq!(world.entity_count(), 0);
}

#[test]
fn despawned_parent_and_child_are_gone_at_once() {
    let (mut world, first, second, child) = family();
    for entity in [child, first, second] {
        world.despawn(entity).unwrap();
    }
    assert_eq!(world.entity_count(), 0);
    update(&mut world);
}

#[test]
fn a_despawned_parent_whose_index_was_reused_is_no_parent() {
    let (mut world, first, _, child) = family();
    world.detach_children(first).unwrap();
    world.despawn(first).unwrap();
    let others: Vec<Entity> = (0..10).map(|_| world.spawn(at(100.0))).collect();
    update(&mut world);
    update(&mut world);
    assert_at(&world, child, [1.0, 0.0, 0.0]);
    assert!(others.iter().all(|other| children(&world, *other).is_empty()));
}

#[test]
fn despawned_nodes_whose_indices_were_reused_are_placed_anew() {
    let (mut world, first, second, _) = family();
    world.despawn(first).unwrap();
    let child = world.spawn((at(1.0), Parent(second)));
    let below = world.spawn((at(2.0), Parent(child)));
    update(&mut world);
    assert_at(&world, child, [21.0, 0.0, 0.0]);
    assert_at(&world, below, [23.0, 0.0, 0.0]);
}

#[test]
fn children_of_a_disabled_parent_are_placed_when_it_is_enabled() {
    let mut world = world();
    let parent = world.spawn((at(10.0), Disabled));
    let child = world.spawn((at(1.0), Parent(parent)));
    update(&mut world);
    update(&mut world);
    assert_eq!(children(&world, parent), [child]);
    assert_at(&world, child, [0.0, 0.0, 0.0]);
    world.remove::<Disabled>(parent).unwrap();
    update(&mut world);
    assert_eq!(children(&world, parent), [child]);
    assert_at(&world, child, [11.0, 0.0, 0.0]);
}

#[test]
fn the_same_with_commands() {
    let mut world = world();
    let mut buffer = EntityCommandBuffer::new();
    let mut commands = world.commands(&mut buffer).unwrap();
    let parent = commands.spawn((at(10.0), Disabled));
    let child = commands.spawn((at(1.0), Parent(parent)));
    world.play(&mut buffer).unwrap();
    update(&mut world);
    assert_at(&world, child, [0.0, 0.0, 0.0]);
    buffer.clear().unwrap();
    world.commands(&mut buffer).unwrap().remove::<Disabled>(parent);
    world.play(&mut buffer).unwrap();
    update(&mut world);
    assert_eq!(children(&world, parent), [child]);
    assert_at(&world, child, [11.0, 0.0, 0.0]);
}

#[test]
fn a_disabled_branch_is_skipped_until_it_is_enabled() {
    let (mut world, first, _, child) = family();
    let grandchild = world.spawn((at(0.5), Parent(child)));
    update(&mut world);
    world.add(child, Disabled).unwrap();
    world.get_mut::<Position>(first).unwrap().0.x = 30.0;
    update(&mut world);
    assert_at(&world, first, [30.0, 0.0, 0.0]);
    assert_at(&world, child, [11.0, 0.0, 0.0]);
    assert_at(&world, grandchild, [11.5, 0.0, 0.0]);
    world.remove::<Disabled>(child).unwrap();
    update(&mut world);
    assert_at(&world, child, [31.0, 0.0, 0.0]);
    assert_at(&world, grandchild, [31.5, 0.0, 0.0]);
}

#[test]
fn a_disabled_parent_is_despawned() {
    let (mut world, first, _, child) = family();
    world.add(first, Disabled).unwrap();
    update(&mut world);
    world.detach_children(first).unwrap();
    world.despawn(first).unwrap();
    update(&mut world);
    assert!(!world.has::<Parent>(child));
    assert_eq!(world.entity_count(), 2);
    assert_at(&world, child, [1.0, 0.0, 0.0]);
}

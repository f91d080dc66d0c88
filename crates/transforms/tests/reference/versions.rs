//! Matrices of unmoved entities are not written.

use ancho_entities::{Changed, Component, Entity, World};
use ancho_transforms::{LocalToWorld, LocalTransform, Parent, Position};
use glam::Vec3;

use crate::{update, world};

#[derive(Component, Clone, Copy)]
#[component(name = "reference::Apart")]
struct Apart;

/// Updates, and counts the entities that are in chunks whose matrices were written.
fn written(world: &mut World) -> usize {
    let seen = world.version();
    world.advance_version();
    update(world);
    world.query_filtered::<(), Changed<LocalToWorld>>().since(seen).count()
}

#[test]
fn matrices_are_written_only_where_something_was_changed() {
    let mut world = world();
    let moving: Vec<Entity> = world.spawn_many(Position(Vec3::X), 100).collect();
    world.spawn_many((Position(Vec3::Y), Apart), 1_000).for_each(drop);
    assert_eq!(written(&mut world), 1_100);
    assert_eq!(written(&mut world), 0);
    world.get_mut::<Position>(moving[0]).unwrap().0 = Vec3::Z;
    assert!((1..=100).contains(&written(&mut world)));
    assert_eq!(written(&mut world), 0);
    world.spawn(Position(Vec3::Z));
    assert!((1..=101).contains(&written(&mut world)));
}

#[test]
fn nothing_is_written_if_nothing_in_a_hierarchy_was_changed() {
    let mut world = world();
    let local = LocalTransform::from_position(Vec3::X);
    let root = world.spawn(local);
    let child = world.spawn((local, Parent(root)));
    world.spawn((local, Parent(child)));
    assert_eq!(written(&mut world), 3);
    assert_eq!(written(&mut world), 0);
    world.get_mut::<LocalTransform>(child).unwrap().position.y = 1.0;
    assert!(written(&mut world) >= 2);
    assert_eq!(written(&mut world), 0);
}

#[test]
fn another_tree_is_not_written() {
    let mut world = world();
    let local = LocalTransform::from_position(Vec3::X);
    let root = world.spawn(local);
    world.spawn_many((local, Parent(root)), 50).for_each(drop);
    let other = world.spawn((local, Apart));
    world.spawn_many((local, Parent(other), Apart), 700).for_each(drop);
    update(&mut world);
    world.get_mut::<LocalTransform>(root).unwrap().position.y = 1.0;
    assert_eq!(written(&mut world), 51);
}

#[test]
fn writes_show_after_the_next_update() {
    let mut world = world();
    let stone = world.spawn(Position(Vec3::X));
    update(&mut world);
    world.get_mut::<Position>(stone).unwrap().0 = Vec3::Y;
    assert_eq!(crate::position(&world, stone), Vec3::X);
    update(&mut world);
    assert_eq!(crate::position(&world, stone), Vec3::Y);
}

//! Entities whose matrices are not computed: frozen ones, and those that the program places itself.

use ancho_entities::{Component, Entity, World};
use ancho_transforms::{
    CustomLocalToWorld, Frozen, LocalToWorld, LocalTransform, Parent, Position, Static,
};
use glam::{Mat4, Vec3};

use crate::{assert_at, update, world};

fn at(x: f32) -> Position {
    Position(Vec3::new(x, 0.0, 0.0))
}

fn move_to(world: &mut World, entity: Entity, x: f32) {
    world.get_mut::<Position>(entity).unwrap().0.x = x;
}

fn matrix(x: f32) -> Mat4 {
    Mat4::from_translation(Vec3::new(x, 0.0, 0.0))
}

#[test]
fn after_two_updates_moves_are_ignored() {
    let mut world = world();
    let house = world.spawn((at(1.0), Static));
    update(&mut world);
    assert_at(&world, house, [1.0, 0.0, 0.0]);
    assert!(!world.has::<Frozen>(house));
    update(&mut world);
    assert!(world.has::<Frozen>(house));
    move_to(&mut world, house, 2.0);
    update(&mut world);
    assert_at(&world, house, [1.0, 0.0, 0.0]);
}

#[test]
fn moves_of_the_parent_are_ignored() {
    let mut world = world();
    let ship = world.spawn(at(10.0));
    let nail = world.spawn((at(1.0), Parent(ship), Static));
    let flag = world.spawn((at(0.5), Parent(nail)));
    update(&mut world);
    update(&mut world);
    move_to(&mut world, ship, 20.0);
    update(&mut world);
    assert_at(&world, ship, [20.0, 0.0, 0.0]);
    assert_at(&world, nail, [11.0, 0.0, 0.0]);
    assert_at(&world, flag, [11.5, 0.0, 0.0]);
    move_to(&mut world, flag, 0.75);
    update(&mut world);
    assert_at(&world, flag, [11.75, 0.0, 0.0]);
}

#[test]
fn unfrozen_entities_move_again() {
    let mut world = world();
    let house = world.spawn((at(1.0), Static));
    let roof = world.spawn((at(0.5), Parent(house)));
    update(&mut world);
    update(&mut world);
    move_to(&mut world, house, 2.0);
    update(&mut world);
    world.remove::<(Static, Frozen)>(house).unwrap();
    update(&mut world);
    assert_at(&world, house, [2.0, 0.0, 0.0]);
    assert_at(&world, roof, [2.5, 0.0, 0.0]);
}

#[test]
fn an_entity_with_a_custom_matrix_is_not_written() {
    let mut world = world();
    let hand = world.spawn((at(1.0), CustomLocalToWorld(matrix(5.0))));
    let sword = world.spawn((at(0.5), Parent(hand)));
    update(&mut world);
    assert!(!world.has::<LocalToWorld>(hand));
    assert_at(&world, sword, [5.5, 0.0, 0.0]);
    world.get_mut::<CustomLocalToWorld>(hand).unwrap().0 = matrix(6.0);
    update(&mut world);
    assert_at(&world, sword, [6.5, 0.0, 0.0]);
    move_to(&mut world, hand, 9.0);
    update(&mut world);
    assert_at(&world, sword, [6.5, 0.0, 0.0]);
}

#[test]
fn entities_with_only_a_matrix_are_not_written() {
    let mut world = world();
    let rock = world.spawn(LocalToWorld(matrix(5.0)));
    let moss = world.spawn((at(0.5), Parent(rock)));
    update(&mut world);
    assert_eq!(world.get::<LocalToWorld>(rock).unwrap().0, matrix(5.0));
    assert_at(&world, moss, [5.5, 0.0, 0.0]);
    world.get_mut::<LocalToWorld>(rock).unwrap().0 = matrix(7.0);
    update(&mut world);
    assert_eq!(world.get::<LocalToWorld>(rock).unwrap().0, matrix(7.0));
    assert_at(&world, moss, [7.5, 0.0, 0.0]);
}

/// Marks an entity whose matrix other code writes.
#[derive(Component, Clone, Copy)]
#[component(name = "reference::Orbit", write_group(LocalToWorld))]
struct Orbit;

#[test]
fn entities_of_the_write_group_are_not_written_and_children_follow() {
    let mut world = world();
    let planet = world.spawn(LocalTransform::from_position(Vec3::new(100.0, 0.0, 0.0)));
    let local = LocalTransform::from_position(Vec3::X);
    let moon = world.spawn((local, Orbit, LocalToWorld(matrix(5.0)), Parent(planet)));
    let crater = world.spawn((local, Parent(moon)));
    update(&mut world);
    assert_eq!(world.get::<LocalToWorld>(moon).unwrap().0, matrix(5.0));
    assert_at(&world, crater, [6.0, 0.0, 0.0]);

    world.get_mut::<LocalToWorld>(moon).unwrap().0 = matrix(7.0);
    update(&mut world);
    assert_at(&world, crater, [8.0, 0.0, 0.0]);

    world.get_mut::<LocalTransform>(moon).unwrap().position.x = 50.0;
    world.get_mut::<LocalTransform>(planet).unwrap().position.x = 200.0;
    update(&mut world);
    assert_eq!(world.get::<LocalToWorld>(moon).unwrap().0, matrix(7.0));
    assert_at(&world, crater, [8.0, 0.0, 0.0]);

    world.remove::<Orbit>(moon).unwrap();
    update(&mut world);
    assert_at(&world, moon, [250.0, 0.0, 0.0]);
    assert_at(&world, crater, [251.0, 0.0, 0.0]);
}

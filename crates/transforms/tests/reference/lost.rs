//! Nodes that lose their matrices get new ones, with the same values.

use std::collections::BTreeSet;

use ancho_entities::{Entity, World};
use ancho_transforms::{
    Attach, CustomLocalToWorld, LocalToWorld, Parent, Position, Rotation, depth_of, world_transform,
};
use glam::{Mat4, Quat, Vec3};

use crate::naive::Steered;
use crate::{assert_at, naive, update, world};

/// Spawns a root, an inner node and a leaf, each rotated.
fn branch(world: &mut World) -> [Entity; 3] {
    let turn = Rotation(Quat::from_rotation_z(0.5));
    let root = world.spawn((Position(Vec3::X), turn));
    let inner = world.spawn((Position(Vec3::Y), turn, Parent(root)));
    let leaf = world.spawn((Position(Vec3::Z), turn, Parent(inner)));
    [root, inner, leaf]
}

#[track_caller]
fn update_and_compare(world: &mut World, all: [Entity; 3]) {
    let living = BTreeSet::from(all);
    let wanted = all.map(|entity| naive::placed(world, &living, entity).unwrap());
    update(world);
    for (entity, wanted) in all.into_iter().zip(wanted) {
        let found = world.get::<LocalToWorld>(entity).unwrap().0;
        assert!(wanted.distance(found) < 1e-5, "{entity}: {found}, not {wanted:?}");
    }
}

#[test]
fn a_removed_matrix_is_restored() {
    for lost in 0..3 {
        let mut world = world();
        let all = branch(&mut world);
        update_and_compare(&mut world, all);
        world.remove::<LocalToWorld>(all[lost]).unwrap();
        update_and_compare(&mut world, all);
        world.get_mut::<Position>(all[2]).unwrap().0 = Vec3::ONE;
        update_and_compare(&mut world, all);
        for entity in all {
            world.remove::<LocalToWorld>(entity).unwrap();
        }
        update_and_compare(&mut world, all);
    }
}

fn along(x: f32) -> Mat4 {
    Mat4::from_translation(Vec3::new(x, 0.0, 0.0))
}

#[test]
fn a_parent_that_loses_its_custom_matrix_stays_a_parent() {
    let mut world = world();
    let hand = world.spawn((Position(Vec3::X), CustomLocalToWorld(along(5.0))));
    let sword = world.spawn((Position(Vec3::Y), Parent(hand)));
    let shield = world.spawn(Position(Vec3::Z));
    update(&mut world);
    world.remove::<CustomLocalToWorld>(hand).unwrap();
    assert_eq!(world_transform(&world, sword).unwrap().position(), Vec3::new(1.0, 1.0, 0.0));
    assert_eq!(depth_of(&world, sword), Ok(1));
    world.spawn(Attach { parent: hand, child: shield });
    update(&mut world);
    assert_at(&world, sword, [1.0, 1.0, 0.0]);
    assert_at(&world, shield, [1.0, 0.0, 1.0]);
}

#[test]
fn children_follow_to_the_other_matrix_of_their_parent() {
    let mut world = world();
    let hand = world.spawn((CustomLocalToWorld(along(5.0)), LocalToWorld(along(7.0))));
    let sword = world.spawn((Position(Vec3::Y), Parent(hand)));
    update(&mut world);
    assert_at(&world, sword, [5.0, 1.0, 0.0]);
    world.remove::<CustomLocalToWorld>(hand).unwrap();
    update(&mut world);
    assert_at(&world, sword, [7.0, 1.0, 0.0]);
    world.add(hand, CustomLocalToWorld(along(9.0))).unwrap();
    update(&mut world);
    assert_at(&world, sword, [9.0, 1.0, 0.0]);
}

#[test]
fn a_removed_matrix_of_a_write_group_member_is_not_written() {
    let mut world = world();
    let hand = world.spawn((Position(Vec3::X), Steered, LocalToWorld(along(5.0))));
    let sword = world.spawn((Position(Vec3::Y), Parent(hand)));
    update(&mut world);
    assert_at(&world, sword, [5.0, 1.0, 0.0]);
    // It gets another matrix, at the origin, whatever its position is: only the program writes it.
    world.remove::<LocalToWorld>(hand).unwrap();
    update(&mut world);
    assert_at(&world, hand, [0.0, 0.0, 0.0]);
    assert_at(&world, sword, [0.0, 1.0, 0.0]);
    world.get_mut::<LocalToWorld>(hand).unwrap().0 = along(7.0);
    update(&mut world);
    assert_at(&world, sword, [7.0, 1.0, 0.0]);
}

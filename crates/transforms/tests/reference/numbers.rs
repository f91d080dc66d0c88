//! Hierarchies with numbers computed by hand.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_3, FRAC_PI_4, FRAC_PI_6, PI};

use ancho_entities::{Entity, World};
use ancho_transforms::{
    Attach, LocalToParent, LocalToWorld, Parent, Position, Rotation, look_rotation,
};
use glam::{Quat, Vec3};

use crate::naive::{self, Matrix};

/// Spawns a parent at (0, 2, 0) that faces +x.
fn facing_x(world: &mut World) -> Entity {
    let rotation = Rotation(look_rotation(Vec3::X, Vec3::Y));
    world.spawn((Position(Vec3::new(0.0, 2.0, 0.0)), rotation))
}

#[test]
fn a_child_in_front_of_a_parent_that_faces_x() {
    let mut world = crate::world();
    let parent = facing_x(&mut world);
    let child = world.spawn(Position(Vec3::Z));
    world.spawn(Attach { parent, child });
    crate::update(&mut world);
    crate::assert_at(&world, parent, [0.0, 2.0, 0.0]);
    crate::assert_at(&world, child, [1.0, 2.0, 0.0]);
}

#[test]
fn the_same_by_parent() {
    let mut world = crate::world();
    let parent = facing_x(&mut world);
    let child = world.spawn((Position(Vec3::Z), Parent(parent)));
    crate::update(&mut world);
    crate::assert_at(&world, child, [1.0, 2.0, 0.0]);
}

#[test]
fn a_chain_of_three() {
    let mut world = crate::world();
    let root = facing_x(&mut world);
    let middle = world.spawn(Position(Vec3::Z));
    let child = world.spawn(Position(Vec3::Z));
    // The lower one first, so that the order of creation is not the order of the tree.
    world.spawn(Attach { parent: middle, child });
    world.spawn(Attach { parent: root, child: middle });
    crate::update(&mut world);
    crate::assert_at(&world, middle, [1.0, 2.0, 0.0]);
    crate::assert_at(&world, child, [2.0, 2.0, 0.0]);
}

/// A root with three children and twelve grandchildren, rotated about different axes.
fn sixteen() -> [(Option<usize>, Vec3, Quat); 16] {
    let turns = [
        Quat::from_rotation_y(FRAC_PI_2),
        Quat::from_rotation_x(FRAC_PI_4),
        Quat::from_rotation_z(-FRAC_PI_3),
        Quat::from_rotation_y(PI) * Quat::from_rotation_x(FRAC_PI_6),
    ];
    std::array::from_fn(|node| {
        let parent = match node {
            0 => None,
            1..=3 => Some(0),
            _ => Some(1 + (node - 4) / 4),
        };
        let way = Vec3::new(node as f32, 1.0 - node as f32, 0.5 * (node % 3) as f32);
        (parent, way, turns[node % 4])
    })
}

/// Computes the products of the naive matrices, parents first.
fn products() -> Vec<Matrix> {
    let mut worlds: Vec<Matrix> = Vec::new();
    for (parent, way, turn) in sixteen() {
        let local = Matrix::translation(way) * Matrix::rotation(turn);
        worlds.push(parent.map_or(local, |parent| worlds[parent] * local));
    }
    worlds
}

#[test]
fn a_tree_of_sixteen_that_is_attached() {
    let mut world = crate::world();
    let nodes = sixteen().map(|(_, way, turn)| world.spawn((Position(way), Rotation(turn))));
    for (node, (parent, ..)) in sixteen().into_iter().enumerate().rev() {
        if let Some(parent) = parent {
            world.spawn(Attach { parent: nodes[parent], child: nodes[node] });
        }
    }
    crate::update(&mut world);
    for (node, wanted) in products().into_iter().enumerate() {
        let found = world.get::<LocalToWorld>(nodes[node]).unwrap();
        assert!(wanted.distance(found.0) < 1e-6, "node {node}: {found:?}, not {wanted:?}");
        if node > 0 {
            let wanted = naive::local(&world, nodes[node]);
            let found = world.get::<LocalToParent>(nodes[node]).unwrap();
            assert!(wanted.distance(found.0) < 1e-6, "node {node}: {found:?}, not {wanted:?}");
        }
    }
    assert_eq!(world.entity_count(), 16);
}

#[test]
fn a_tree_of_sixteen_by_parents() {
    let mut world = crate::world();
    let mut nodes: Vec<Entity> = Vec::new();
    for (parent, way, turn) in sixteen() {
        let node = world.spawn((Position(way), Rotation(turn)));
        if let Some(parent) = parent {
            world.add(node, Parent(nodes[parent])).unwrap();
        }
        nodes.push(node);
    }
    crate::update(&mut world);
    for (node, wanted) in products().into_iter().enumerate() {
        let found = world.get::<LocalToWorld>(nodes[node]).unwrap();
        assert!(wanted.distance(found.0) < 1e-6, "node {node}: {found:?}, not {wanted:?}");
    }
}

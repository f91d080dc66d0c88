//! Combinations of input components.

use ancho_entities::{CloneSet, Entity};
use ancho_transforms::{
    LocalToWorld, LocalTransform, Parent, Position, PostTransformMatrix, Rotation, Scale,
};
use glam::{Mat4, Quat, Vec3};

use crate::naive::{self, Matrix};
use crate::script::Random;

const POSITION: Position = Position(Vec3::new(3.0, -4.0, 5.0));
const SCALE: Scale = Scale(Vec3::new(2.0, 0.5, 3.0));

fn rotation() -> Rotation {
    Rotation(Quat::from_xyzw(0.1, -0.7, 0.5, 0.5).normalize())
}

fn transform() -> LocalTransform {
    LocalTransform { position: POSITION.0, rotation: rotation().0, scale: 1.5 }
}

/// A scaled and sheared matrix.
fn post() -> PostTransformMatrix {
    let mut matrix = Mat4::from_scale_rotation_translation(SCALE.0, rotation().0, Vec3::X);
    matrix.y_axis.x += 0.75;
    PostTransformMatrix(matrix)
}

/// Asserts that an entity with these components has the matrix `wanted`, also among several thousand entities, and below a parent.
fn check(set: impl CloneSet + Clone, wanted: Matrix) {
    let mut world = crate::world();
    let alone = world.spawn(set.clone());
    crate::update(&mut world);
    let found = *world.get::<LocalToWorld>(alone).unwrap();
    assert!(wanted.distance(found.0) < 1e-6, "{found:?}, not {wanted:?}");

    let many: Vec<Entity> = world.spawn_many(set.clone(), 3_000).collect();
    let parent = world.spawn((SCALE, rotation(), POSITION));
    let child = world.spawn(set);
    world.add(child, Parent(parent)).unwrap();
    crate::update(&mut world);
    for entity in many {
        assert_eq!(*world.get::<LocalToWorld>(entity).unwrap(), found);
    }
    let wanted = naive::local(&world, parent) * wanted;
    let found = world.get::<LocalToWorld>(child).unwrap();
    assert!(wanted.distance(found.0) < 1e-6, "{found:?}, not {wanted:?}");
}

#[test]
fn position_alone() {
    check(POSITION, Matrix::translation(POSITION.0));
}

#[test]
fn rotation_alone() {
    check(rotation(), Matrix::rotation(rotation().0));
}

#[test]
fn scale_alone() {
    check(SCALE, Matrix::scale(SCALE.0));
}

#[test]
fn position_and_rotation() {
    check((POSITION, rotation()), Matrix::translation(POSITION.0) * Matrix::rotation(rotation().0));
}

#[test]
fn position_and_scale() {
    check((POSITION, SCALE), Matrix::translation(POSITION.0) * Matrix::scale(SCALE.0));
}

#[test]
fn rotation_and_scale() {
    check((rotation(), SCALE), Matrix::rotation(rotation().0) * Matrix::scale(SCALE.0));
}

#[test]
fn position_rotation_and_scale() {
    let turned = Matrix::translation(POSITION.0) * Matrix::rotation(rotation().0);
    check((POSITION, rotation(), SCALE), turned * Matrix::scale(SCALE.0));
}

fn of_transform() -> Matrix {
    let turned = Matrix::translation(POSITION.0) * Matrix::rotation(rotation().0);
    turned * Matrix::scale(Vec3::splat(1.5))
}

#[test]
fn local_transform() {
    check(transform(), of_transform());
}

#[test]
fn local_transform_and_post_transform_matrix() {
    check((transform(), post()), of_transform() * Matrix::from(post().0));
}

#[test]
fn every_row_has_its_own_matrix() {
    let mut world = crate::world();
    let mut random = Random::new(1);
    let mut all = Vec::new();
    for _ in 0..500 {
        all.push(world.spawn(Position(random.vector())));
        all.push(world.spawn(Rotation(random.rotation())));
        all.push(world.spawn(Scale(random.scale())));
        all.push(world.spawn((Position(random.vector()), Rotation(random.rotation()))));
        all.push(world.spawn((Position(random.vector()), Scale(random.scale()))));
        all.push(world.spawn((Rotation(random.rotation()), Scale(random.scale()))));
        let scale = Scale(random.scale());
        all.push(world.spawn((Position(random.vector()), Rotation(random.rotation()), scale)));
        all.push(world.spawn(random.transform()));
        all.push(world.spawn((random.transform(), random.post())));
    }
    crate::update(&mut world);
    for entity in all {
        let found = world.get::<LocalToWorld>(entity).unwrap();
        assert!(naive::local(&world, entity).distance(found.0) < 1e-6);
    }
}

/// An example of non-uniform scale.
#[test]
fn children_inherit_post_transform_matrices() {
    let mut world = crate::world();
    let mut random = Random::new(2);
    let mut nodes: Vec<Entity> = Vec::new();
    for number in 0..8_usize {
        let node = world.spawn((random.transform(), random.post()));
        if let Some(above) = number.checked_sub(1) {
            world.add(node, Parent(nodes[above / 2])).unwrap();
        }
        nodes.push(node);
    }
    crate::update(&mut world);
    for (number, node) in nodes.iter().enumerate() {
        let mut wanted = naive::local(&world, *node);
        let mut above = number;
        while above > 0 {
            above = (above - 1) / 2;
            wanted = naive::local(&world, nodes[above]) * wanted;
        }
        let found = world.get::<LocalToWorld>(*node).unwrap();
        assert!(wanted.distance(found.0) < 1e-5, "node {number}: {found:?}, not {wanted:?}");
    }
}

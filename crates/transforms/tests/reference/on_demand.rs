//! World matrices on demand.

use std::collections::BTreeSet;

use ancho_transforms::{
    CustomLocalToWorld, LocalToWorld, LocalTransform, Parent, Position, TransformError,
    world_transform,
};
use glam::{Mat4, Vec3};

use crate::naive;
use crate::script::Forest;

#[test]
fn the_computed_matrix_equals_that_of_the_next_update() {
    for seed in 500..510 {
        let mut forest = Forest::new(crate::world(), seed, 60);
        for _ in 0..10 {
            forest.change(10);
            let Forest { world, living, .. } = &forest;
            for &entity in living.iter().filter(|entity| !naive::rests(world, living, **entity)) {
                // Requests count once they are applied, and a matrix that was never written is not placed.
                let is_ordered = naive::line(world, living, entity).any(|ancestor| {
                    let parent = world.get::<Parent>(ancestor).ok().map(|parent| parent.0);
                    let parent = parent.filter(|parent| living.contains(parent));
                    parent != naive::parent(world, living, ancestor)
                });
                let Some(wanted) = naive::placed(world, living, entity) else { continue };
                if is_ordered {
                    continue;
                }
                let found = world_transform(world, entity).unwrap().0;
                assert!(wanted.distance(found) < 1e-4, "{entity}: {found}, not {wanted:?}");
            }
            crate::update(&mut forest.world);
        }
    }
}

#[test]
fn matrices_are_computed_at_any_depth() {
    let mut world = crate::world();
    let mut last = world.spawn(Position(Vec3::X));
    for _ in 1..10_000 {
        last = world.spawn((Position(Vec3::X), Parent(last)));
    }
    assert_eq!(world_transform(&world, last).unwrap().position().x, 10_000.0);
    crate::update(&mut world);
    assert_eq!(*world.get::<LocalToWorld>(last).unwrap(), world_transform(&world, last).unwrap());
}

#[test]
fn an_ancestor_without_a_transform_is_reported() {
    let mut world = crate::world();
    let ancestor = world.spawn(());
    let middle = world.spawn((Position(Vec3::X), Parent(ancestor)));
    let entity = world.spawn((LocalTransform::IDENTITY, Parent(middle)));
    let told = world_transform(&world, entity).unwrap_err();
    assert_eq!(told, TransformError::NotPlaced { entity, ancestor });
}

#[test]
fn an_entity_below_a_custom_matrix_is_computed() {
    let mut world = crate::world();
    let hand = world.spawn(CustomLocalToWorld(Mat4::from_translation(Vec3::Y)));
    let sword = world.spawn((Position(Vec3::X), Parent(hand)));
    assert_eq!(world_transform(&world, sword).unwrap().position(), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn a_detached_child_has_no_parent() {
    let mut world = crate::world();
    let parent = world.spawn(Position(Vec3::Y));
    let child = world.spawn((Position(Vec3::X), Parent(parent)));
    world.detach_children(parent).unwrap();
    let living = BTreeSet::from([child]);
    let wanted = naive::placed(&world, &living, child).unwrap();
    assert!(wanted.distance(world_transform(&world, child).unwrap().0) < 1e-6);
}

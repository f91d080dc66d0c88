//! Where an entity is now: T7.

use ancho_transforms::{Parent, Position, Static, TransformError, world_transform};
use glam::Vec3;

use crate::common::{at, chain, matrix, update, world};

#[test]
fn t7_it_is_what_the_next_update_makes() {
    let mut world = world();
    let chain = chain(&mut world, 50);
    let before: Vec<_> =
        chain.iter().map(|&node| world_transform(&world, node).unwrap().0).collect();
    update(&mut world);
    assert!(chain.iter().zip(before).all(|(&node, before)| matrix(&world, node) == before));
}

#[test]
fn t7_who_has_no_place_is_named() {
    let mut world = world();
    let nowhere = world.spawn(());
    let child = world.spawn((at(1.0, 0.0, 0.0), Parent(nowhere)));
    let error = world_transform(&world, child).unwrap_err();
    assert_eq!(error, TransformError::NotPlaced { entity: child, ancestor: nowhere });
    let message = error.to_string();
    assert!(message.starts_with("A0142: ") && message.contains(&nowhere.to_string()), "{message}");
    world.despawn(nowhere).unwrap();
    assert_eq!(world_transform(&world, child).unwrap().position(), Vec3::X);
    assert!(world_transform(&world, nowhere).unwrap_err().to_string().starts_with("A0050: "));
}

#[test]
fn t7_cycles_and_numbers_that_are_none_are_errors() {
    let mut world = world();
    let chain = chain(&mut world, 3);
    world.add(chain[0], Parent(chain[2])).unwrap();
    let TransformError::Cycle { mut entities } = world_transform(&world, chain[1]).unwrap_err()
    else {
        panic!("a cycle")
    };
    entities.sort();
    assert_eq!(entities, chain);
    let bad = world.spawn(at(f32::NAN, 0.0, 0.0));
    let error = world_transform(&world, bad).unwrap_err();
    assert_eq!(error, TransformError::NotFinite { entity: bad, count: 1 });
}

#[test]
fn t7_what_is_frozen_is_where_it_was() {
    let mut world = world();
    let root = world.spawn((at(1.0, 0.0, 0.0), Static));
    let leaf = world.spawn((at(0.0, 1.0, 0.0), Parent(root)));
    update(&mut world);
    update(&mut world);
    world.get_mut::<Position>(root).unwrap().0 = Vec3::ZERO;
    assert_eq!(world_transform(&world, leaf).unwrap().position(), Vec3::new(1.0, 1.0, 0.0));
}

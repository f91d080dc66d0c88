//! What is not a number never spreads.

use ancho_transforms::{
    LocalTransform, Parent, Position, Rotation, TransformError, update_transforms,
};
use glam::{Mat4, Quat, Vec3, Vec4};

use crate::common::{at, chain, matrix, place, update, world};

#[test]
fn a_quaternion_of_length_zero_is_no_rotation() {
    let mut world = world();
    let zero = Quat::from_vec4(Vec4::ZERO);
    let flat = world.spawn((at(1.0, 0.0, 0.0), Rotation(zero)));
    let root = world.spawn(LocalTransform::new(Vec3::X, zero, 2.0));
    let leaf = world.spawn((LocalTransform::from_rotation(zero), Parent(root)));
    update(&mut world);
    assert_eq!(matrix(&world, flat), Mat4::from_translation(Vec3::X));
    let expected = Mat4::from_scale_rotation_translation(Vec3::splat(2.0), Quat::IDENTITY, Vec3::X);
    assert_eq!((matrix(&world, root), matrix(&world, leaf)), (expected, expected));
}

#[test]
fn a_place_that_is_not_a_number_is_an_error_and_nobody_moves() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut world = world();
        let flat = world.spawn(at(1.0, 0.0, 0.0));
        let chain = chain(&mut world, 4);
        update(&mut world);
        world.get_mut::<Position>(flat).unwrap().0.y = bad;
        world.get_mut::<LocalTransform>(chain[1]).unwrap().position.x = bad;
        world.get_mut::<LocalTransform>(chain[0]).unwrap().position.x = 7.0;
        let errors = update_transforms(&mut world).unwrap_err();
        let expected = TransformError::NotFinite { entity: flat, count: 2 };
        assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
        let message = errors.to_string();
        assert!(message.starts_with("A0141: "), "{message}");
        assert!(message.contains(&flat.to_string()), "{message}");
        assert_eq!(place(&world, flat), Vec3::X);
        assert_eq!(place(&world, chain[0]), Vec3::new(7.0, 0.0, 0.0));
        assert_eq!(place(&world, chain[1]), Vec3::new(2.0, 0.0, 0.0));
        assert_eq!(place(&world, chain[3]), Vec3::new(4.0, 0.0, 0.0));
        // It is told once, and mended when the numbers are.
        update(&mut world);
        world.get_mut::<LocalTransform>(chain[1]).unwrap().position.x = 1.0;
        update(&mut world);
        assert_eq!(place(&world, chain[3]), Vec3::new(10.0, 0.0, 0.0));
    }
}

#[test]
fn a_leaf_that_is_not_a_number_stays_where_it_was() {
    let mut world = world();
    let chain = chain(&mut world, 3);
    update(&mut world);
    world.get_mut::<LocalTransform>(chain[2]).unwrap().scale = f32::NAN;
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::NotFinite { entity: chain[2], count: 1 };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
    assert_eq!(place(&world, chain[2]), Vec3::new(3.0, 0.0, 0.0));
}

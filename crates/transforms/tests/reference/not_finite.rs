//! Values that are not finite, and quaternions of length zero.

use ancho_transforms::{
    LocalToWorld, LocalTransform, Parent, Position, Rotation, Scale, TransformError,
    update_transforms,
};
use glam::{Quat, Vec3};

use crate::{assert_at, update, world};

const ZERO: Quat = Quat::from_xyzw(0.0, 0.0, 0.0, 0.0);

#[test]
fn a_rotation_of_length_zero_means_no_rotation() {
    let mut world = world();
    let alone = world.spawn((Position(Vec3::X), Rotation(ZERO)));
    let turned = world.spawn(Rotation(ZERO));
    let scaled = world.spawn((Rotation(ZERO), Scale(Vec3::new(1.0, 2.0, 3.0))));
    let transform =
        world.spawn(LocalTransform { rotation: ZERO, ..LocalTransform::from_position(Vec3::Y) });
    let child = world.spawn((Position(Vec3::Z), Rotation(ZERO), Parent(transform)));
    update(&mut world);
    for (entity, scale) in [
        (alone, Vec3::ONE),
        (turned, Vec3::ONE),
        (scaled, Vec3::new(1.0, 2.0, 3.0)),
        (child, Vec3::ONE),
    ] {
        let matrix = world.get::<LocalToWorld>(entity).unwrap().0;
        let axes = [matrix.x_axis.x, matrix.y_axis.y, matrix.z_axis.z];
        assert_eq!(axes, scale.to_array());
        assert!(matrix.is_finite());
    }
    assert_at(&world, child, [0.0, 1.0, 1.0]);
}

#[test]
fn values_that_are_not_finite_are_reported_and_all_below_keep_their_matrices() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut world = world();
        let parent = world.spawn(LocalTransform::from_position(Vec3::X));
        let child = world.spawn((Position(Vec3::Y), Parent(parent)));
        let grandchild = world.spawn((Position(Vec3::Y), Parent(child)));
        let other = world.spawn(Position(Vec3::Z));
        update(&mut world);
        world.get_mut::<LocalTransform>(parent).unwrap().position.x = 2.0;
        world.get_mut::<Position>(child).unwrap().0.z = bad;
        world.get_mut::<Position>(other).unwrap().0.x = 3.0;
        let errors = update_transforms(&mut world).unwrap_err();
        let told: Vec<_> = errors.iter().cloned().collect();
        assert!(
            matches!(told[..], [TransformError::NotFinite { entity, .. }] if entity == child),
            "{told:?}"
        );
        assert_at(&world, parent, [2.0, 0.0, 0.0]);
        assert_at(&world, child, [1.0, 1.0, 0.0]);
        assert_at(&world, grandchild, [1.0, 2.0, 0.0]);
        assert_at(&world, other, [3.0, 0.0, 1.0]);

        // It comes back with all below.
        world.get_mut::<Position>(child).unwrap().0.z = 1.0;
        update(&mut world);
        assert_at(&world, child, [2.0, 1.0, 1.0]);
        assert_at(&world, grandchild, [2.0, 2.0, 1.0]);
    }
}

#[test]
fn no_matrix_is_ever_not_finite() {
    let mut world = world();
    let bad = Quat::from_xyzw(f32::NAN, 0.0, 0.0, 1.0);
    let mut all = vec![
        world.spawn(Rotation(bad)),
        world.spawn((Position(Vec3::X), Rotation(bad), Scale(Vec3::ONE))),
        world.spawn(Scale(Vec3::new(1.0, f32::INFINITY, 1.0))),
        world.spawn(LocalTransform { scale: f32::NAN, ..LocalTransform::IDENTITY }),
        world.spawn(LocalTransform { rotation: bad, ..LocalTransform::IDENTITY }),
        // Finite, but not what comes of them.
        world.spawn(LocalTransform { scale: f32::MAX, ..LocalTransform::IDENTITY }),
    ];
    let large = *all.last().unwrap();
    all.push(world.spawn((Position(Vec3::splat(f32::MAX)), Parent(large))));
    all.push(world.spawn((Scale(Vec3::splat(f32::MAX)), Parent(large))));
    for _ in 0..3 {
        assert!(update_transforms(&mut world).is_err());
        for entity in &all {
            if let Ok(place) = world.get::<LocalToWorld>(*entity) {
                assert!(place.0.is_finite(), "{entity}: {place:?}");
            }
        }
        world.get_mut::<LocalTransform>(large).unwrap().position.x += 1.0;
    }
}

#[test]
fn a_scale_of_zero_is_valid() {
    let mut world = world();
    let parent = world.spawn((Position(Vec3::X), Scale(Vec3::ZERO)));
    let child = world.spawn((Position(Vec3::Y), Parent(parent)));
    update(&mut world);
    assert_at(&world, child, [1.0, 0.0, 0.0]);
}

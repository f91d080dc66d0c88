//! Input components.

use ancho_entities::Without;
use ancho_transforms::{
    LocalToWorld, LocalTransform, Position, PostTransformMatrix, Rotation, Scale,
};
use glam::{Mat4, Quat, Vec3};

use crate::common::{at, matrix, update, world};

const PLACE: Vec3 = Vec3::new(1.0, -2.0, 3.0);
const SIZE: Vec3 = Vec3::new(2.0, 0.5, 3.0);

fn turn() -> Quat {
    Quat::from_euler(glam::EulerRot::XYZ, 0.3, -1.1, 2.0)
}

#[test]
fn any_of_the_seven_combinations_is_enough() {
    for mask in 1..8 {
        let mut world = world();
        let entity = world.spawn(());
        let (mut t, mut r, mut s) = (Mat4::IDENTITY, Mat4::IDENTITY, Mat4::IDENTITY);
        if mask & 1 != 0 {
            world.add(entity, Position(PLACE)).unwrap();
            t = Mat4::from_translation(PLACE);
        }
        if mask & 2 != 0 {
            world.add(entity, Rotation(turn())).unwrap();
            r = Mat4::from_quat(turn());
        }
        if mask & 4 != 0 {
            world.add(entity, Scale(SIZE)).unwrap();
            s = Mat4::from_scale(SIZE);
        }
        update(&mut world);
        assert!(matrix(&world, entity).abs_diff_eq(t * r * s, 1e-5), "{mask}");
    }
}

#[test]
fn a_local_transform_precedes_separate_components() {
    let mut world = world();
    let local = LocalTransform::new(PLACE, turn(), 2.0);
    let post = Mat4::from_scale(SIZE);
    let plain = world.spawn(local);
    let posted = world.spawn((local, PostTransformMatrix(post)));
    let both = world.spawn((local, at(9.0, 9.0, 9.0)));
    let other = world.spawn((Position(PLACE), PostTransformMatrix(post)));
    update(&mut world);
    let expected = Mat4::from_scale_rotation_translation(Vec3::splat(2.0), turn(), PLACE);
    assert!(matrix(&world, plain).abs_diff_eq(expected, 1e-5));
    assert!(matrix(&world, posted).abs_diff_eq(expected * post, 1e-5));
    assert_eq!(matrix(&world, both), matrix(&world, plain), "the position is ignored");
    assert!(matrix(&world, other).abs_diff_eq(Mat4::from_translation(PLACE) * post, 1e-5));
}

#[test]
fn an_entity_with_only_a_matrix_is_unchanged() {
    let mut world = world();
    let stays = LocalToWorld(Mat4::from_translation(PLACE));
    let entity = world.spawn(stays);
    let nothing = world.spawn(());
    update(&mut world);
    assert_eq!(world.get(entity), Ok(&stays));
    assert!(!world.has::<LocalToWorld>(nothing));
}

#[test]
fn added_and_removed_inputs_are_detected() {
    let mut world = world();
    let entity = world.spawn(Position(PLACE));
    update(&mut world);
    world.add(entity, Scale(SIZE)).unwrap();
    update(&mut world);
    let expected = Mat4::from_translation(PLACE) * Mat4::from_scale(SIZE);
    assert_eq!(matrix(&world, entity), expected);
    world.remove::<Scale>(entity).unwrap();
    update(&mut world);
    assert_eq!(matrix(&world, entity), Mat4::from_translation(PLACE));
    world.remove::<Position>(entity).unwrap();
    update(&mut world);
    assert_eq!(matrix(&world, entity), Mat4::from_translation(PLACE), "nothing places it any more");
    assert_eq!(world.query_filtered::<(), Without<LocalToWorld>>().count(), 0);
}

#[test]
fn matrices_become_transforms_and_back() {
    let transform = LocalTransform::new(PLACE, turn(), 2.5);
    let back = LocalTransform::try_from_matrix(transform.to_matrix()).unwrap();
    assert!(back.to_matrix().abs_diff_eq(transform.to_matrix(), 1e-4));
    let sheared = Mat4::from_scale(SIZE) * Mat4::from_quat(turn());
    let error = LocalTransform::try_from_matrix(sheared).unwrap_err().to_string();
    assert!(error.starts_with("A0143: "), "{error}");
    assert!(LocalTransform::try_from_matrix(Mat4::from_scale(Vec3::new(-1.0, 1.0, 1.0))).is_err());
    assert!(LocalTransform::try_from_matrix(Mat4::NAN).is_err());
    let error = LocalTransform::from_scale(0.0).inverse().unwrap_err().to_string();
    assert!(error.starts_with("A0144: "), "{error}");
    let undone = transform.inverse().unwrap().transform(transform);
    assert!(undone.to_matrix().abs_diff_eq(Mat4::IDENTITY, 1e-5));
}

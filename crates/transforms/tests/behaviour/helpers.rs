//! Methods of transforms and matrices, against matrices of `glam`.

use ancho_transforms::{LocalToWorld, LocalTransform, Rotation};
use glam::{Affine3A, EulerRot, Mat4, Quat, Vec3, Vec4};

const PLACE: Vec3 = Vec3::new(1.0, -2.0, 3.0);
const POINT: Vec3 = Vec3::new(-0.5, 4.0, 0.25);

fn turn() -> Quat {
    Quat::from_euler(EulerRot::XYZ, 0.3, -1.1, 2.0)
}

fn other() -> LocalTransform {
    LocalTransform::new(Vec3::new(0.5, 7.0, -1.0), Quat::from_rotation_z(0.8), 0.75)
}

/// Returns a transform that is moved, rotated and scaled, and its matrix.
fn any() -> (LocalTransform, Mat4) {
    let matrix = Mat4::from_scale_rotation_translation(Vec3::splat(2.5), turn(), PLACE);
    (LocalTransform::new(PLACE, turn(), 2.5), matrix)
}

#[track_caller]
fn assert_is(transform: LocalTransform, matrix: Mat4) {
    let found = transform.to_matrix();
    assert!(found.abs_diff_eq(matrix, 1e-4), "{found} is not {matrix}");
}

#[track_caller]
fn assert_near(found: Vec3, wanted: Vec3) {
    assert!(found.abs_diff_eq(wanted, 1e-4), "{found} is not {wanted}");
}

#[test]
fn transforms_from_some_or_all_parts() {
    let (any, matrix) = any();
    assert_is(any, matrix);
    assert_is(LocalTransform::IDENTITY, Mat4::IDENTITY);
    assert_eq!(LocalTransform::default(), LocalTransform::IDENTITY);
    assert_is(LocalTransform::from_position(PLACE), Mat4::from_translation(PLACE));
    assert_is(LocalTransform::from_rotation(turn()), Mat4::from_quat(turn()));
    assert_is(LocalTransform::from_scale(3.0), Mat4::from_scale(Vec3::splat(3.0)));
    let turned = Mat4::from_rotation_translation(turn(), PLACE);
    assert_is(LocalTransform::from_position_rotation(PLACE, turn()), turned);
    assert_eq!(Mat4::from(any), any.to_matrix());
    assert_eq!(any.affine(), Affine3A::from_mat4(any.to_matrix()));
}

#[test]
fn transforms_from_a_matrix() {
    let (_, matrix) = any();
    assert_is(LocalTransform::from_matrix(matrix), matrix);
    // The largest of the scales, and no shear.
    let scales = Vec3::new(0.5, 4.0, 1.0);
    let uneven = Mat4::from_scale_rotation_translation(scales, turn(), PLACE);
    let even = Mat4::from_scale_rotation_translation(Vec3::splat(4.0), turn(), PLACE);
    assert_is(LocalTransform::from_matrix(uneven), even);
    let sheared = Mat4::from_cols(
        Vec4::new(1.0, 0.0, 0.0, 0.0),
        Vec4::new(0.5, 1.0, 0.0, 0.0),
        Vec4::new(0.0, 0.0, 1.0, 0.0),
        PLACE.extend(1.0),
    );
    let straight = LocalTransform::from_matrix(sheared);
    assert_eq!((straight.rotation, straight.position), (Quat::IDENTITY, PLACE));
    assert!((straight.scale - 1.25_f32.sqrt()).abs() < 1e-6, "{}", straight.scale);
    // Of nothing there is no rotation.
    let nothing = LocalTransform::from_matrix(Mat4::from_scale(Vec3::ZERO));
    assert_eq!(nothing.scale, 0.0);
    assert!(nothing.rotation.is_normalized());
}

#[test]
fn directions_are_unit_axes() {
    let (any, matrix) = any();
    let axis = |axis: Vec3| matrix.transform_vector3(axis).normalize();
    assert_near(any.right(), axis(Vec3::X));
    assert_near(any.up(), axis(Vec3::Y));
    assert_near(any.forward(), axis(Vec3::Z));
    assert_near(any.transform_direction(POINT), Mat4::from_quat(turn()).transform_vector3(POINT));
}

#[test]
fn with_methods_replace_one_part() {
    let (any, _) = any();
    assert_eq!(any.with_position(POINT), LocalTransform::new(POINT, turn(), 2.5));
    let z = Quat::from_rotation_z(1.0);
    assert_eq!(any.with_rotation(z), LocalTransform::new(PLACE, z, 2.5));
    assert_eq!(any.with_scale(0.5), LocalTransform::new(PLACE, turn(), 0.5));
}

#[test]
fn translate_rotate_and_scale_methods() {
    let (any, matrix) = any();
    assert_is(any.translated(POINT), Mat4::from_translation(POINT) * matrix);
    let by = Quat::from_rotation_x(0.4);
    assert_is(any.rotated(by), matrix * Mat4::from_quat(by));
    assert_is(any.rotated_x(0.7), matrix * Mat4::from_rotation_x(0.7));
    assert_is(any.rotated_y(0.7), matrix * Mat4::from_rotation_y(0.7));
    assert_is(any.rotated_z(0.7), matrix * Mat4::from_rotation_z(0.7));
    assert_is(any.scaled(3.0), matrix * Mat4::from_scale(Vec3::splat(3.0)));
}

#[test]
fn looking_at_a_point() {
    let (any, _) = any();
    let looking = any.looking_at(POINT, Vec3::Y);
    assert_eq!((looking.position, looking.scale), (PLACE, 2.5));
    assert_near(looking.forward(), (POINT - PLACE).normalize());
    assert!(looking.right().y.abs() < 1e-6 && looking.up().y > 0.0, "upright");
    assert_eq!(any.looking_at(PLACE, Vec3::Y), any, "where it is there is nothing to look at");
}

#[test]
fn points_and_transforms_between_spaces() {
    let (any, matrix) = any();
    let other = other();
    assert_near(any.transform_point(POINT), matrix.transform_point3(POINT));
    assert_is(any.transform(other), matrix * other.to_matrix());
    assert_is(any.inverse().unwrap(), matrix.inverse());
    assert_near(any.inverse().unwrap().transform_point(any.transform_point(POINT)), POINT);
    // (ab)c = a(bc), and the inverse of a product is that of its factors, in the other order.
    let third = LocalTransform::from_rotation(Quat::from_rotation_x(-2.0)).translated(Vec3::Z);
    let left = any.transform(other).transform(third);
    assert_is(any.transform(other.transform(third)), left.to_matrix());
    let undone = other.inverse().unwrap().transform(any.inverse().unwrap());
    assert_is(any.transform(other).inverse().unwrap(), undone.to_matrix());
    for scale in [0.0, f32::NAN, f32::INFINITY] {
        let error = LocalTransform::from_scale(scale).inverse().unwrap_err().to_string();
        assert!(error.starts_with("A0144: "), "{error}");
    }
}

#[test]
fn methods_treat_a_rotation_of_length_zero_as_identity() {
    let zero = Quat::from_xyzw(0.0, 0.0, 0.0, 0.0);
    let (plain, zeros) =
        (LocalTransform::new(PLACE, Quat::IDENTITY, 2.0), LocalTransform::new(PLACE, zero, 2.0));
    let x = Quat::from_rotation_x(0.4);
    assert_eq!(zeros.to_matrix(), plain.to_matrix());
    assert_eq!(zeros.forward(), plain.forward());
    assert_eq!(zeros.up(), plain.up());
    assert_eq!(zeros.right(), plain.right());
    assert_eq!(zeros.rotated(x), plain.rotated(x));
    assert_eq!(plain.rotated(x).rotated(zero), plain.rotated(x));
    assert_eq!(zeros.transform_point(POINT), plain.transform_point(POINT));
    assert_eq!(zeros.transform_direction(POINT), POINT);
    assert_eq!(zeros.transform(other()), plain.transform(other()));
    assert_eq!(other().transform(zeros), other().transform(plain));
    assert_eq!(zeros.inverse(), plain.inverse());
    assert!(Rotation(zero).turned(x).0.abs_diff_eq(x, 1e-7));
    assert!(Rotation(x).turned(zero).0.abs_diff_eq(x, 1e-7));
}

#[test]
fn rotations_stay_normalized_after_many_turns() {
    let by = Quat::from_rotation_y(0.01);
    let turned = (0..10_000).fold(Rotation(Quat::IDENTITY), |rotation, _| rotation.turned(by));
    assert!((turned.0.length() - 1.0).abs() < 1e-6);
    assert_near(turned.0 * Vec3::Z, Quat::from_rotation_y(100.0) * Vec3::Z);
    assert!(Rotation(Quat::from_xyzw(f32::NAN, 0.0, 0.0, 1.0)).turned(by).0.is_nan());
}

#[test]
fn matrices_of_the_world_and_their_methods() {
    let scales = Vec3::new(2.0, 3.0, 4.0);
    let matrix = Mat4::from_scale_rotation_translation(scales, turn(), PLACE);
    let place = LocalToWorld(matrix);
    assert_eq!(place.position(), PLACE);
    assert!(
        place.rotation().abs_diff_eq(turn(), 1e-5) || place.rotation().abs_diff_eq(-turn(), 1e-5)
    );
    assert_near(place.right(), turn() * Vec3::X * 2.0);
    assert_near(place.up(), turn() * Vec3::Y * 3.0);
    assert_near(place.forward(), turn() * Vec3::Z * 4.0);
    assert_near(place.to_world(POINT), matrix.transform_point3(POINT));
    assert_near(place.to_local(POINT).unwrap(), matrix.inverse().transform_point3(POINT));
    assert_eq!(LocalToWorld(Mat4::from_scale(Vec3::new(1.0, 0.0, 1.0))).to_local(POINT), None);
    assert_eq!(LocalToWorld::from(place.affine()), place);
    assert_eq!(LocalToWorld::IDENTITY.to_world(POINT), POINT);
}

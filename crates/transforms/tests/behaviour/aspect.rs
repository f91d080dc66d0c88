//! Methods of `TransformAspect`, below parents that are moved, rotated and scaled.

use ancho_entities::{Entity, World};
use ancho_transforms::{
    LocalToWorld, LocalTransform, Parent, Scale, TransformAspect, TransformView, relative_to,
};
use glam::{Mat4, Quat, Vec3};

use crate::common::{at, matrix, update, world};

const POINT: Vec3 = Vec3::new(-0.5, 4.0, 0.25);

fn parent() -> LocalTransform {
    LocalTransform::new(Vec3::new(1.0, 2.0, 3.0), Quat::from_rotation_y(0.9), 2.0)
}

fn child() -> LocalTransform {
    LocalTransform::new(Vec3::new(0.0, 5.0, -1.0), Quat::from_rotation_x(-0.6), 0.5)
}

/// Spawns a parent and its child, and updates.
fn family() -> (World, Entity, Entity) {
    let mut world = world();
    let upper = world.spawn(parent());
    let lower = world.spawn((child(), Parent(upper)));
    update(&mut world);
    (world, upper, lower)
}

/// Changes the child, and returns its matrix.
fn changed(change: impl Fn(&mut TransformAspect<'_>)) -> Mat4 {
    let (mut world, _, lower) = family();
    for mut aspect in world.query_mut::<TransformAspect>() {
        if aspect.parent.is_some() {
            change(&mut aspect);
        }
    }
    update(&mut world);
    matrix(&world, lower)
}

#[track_caller]
fn assert_is(found: Mat4, wanted: Mat4) {
    assert!(found.abs_diff_eq(wanted, 1e-4), "{found} is not {wanted}");
}

#[test]
fn aspects_have_the_entity_and_its_transform() {
    let (mut world, upper, lower) = family();
    let all = parent().to_matrix() * child().to_matrix();
    let mut seen: Vec<(Entity, Option<Entity>)> = world
        .query::<TransformView>()
        .iter()
        .map(|view| (view.entity, view.parent.map(|parent| parent.0)))
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, [(upper, None), (lower, Some(upper))]);
    for view in &world.query::<TransformView>() {
        let (local, whole) =
            if view.entity == upper { (parent(), parent().to_matrix()) } else { (child(), all) };
        assert_eq!(*view.local, local);
        assert_is(view.in_world.0, whole);
    }
    for aspect in world.query_mut::<TransformAspect>() {
        if aspect.entity == lower {
            let near = |found: Vec3, wanted: Vec3| assert!(found.abs_diff_eq(wanted, 1e-4));
            near(aspect.world_position(), all.w_axis.truncate());
            near(aspect.to_world(POINT), all.transform_point3(POINT));
            near(aspect.to_local(POINT).unwrap(), all.inverse().transform_point3(POINT));
        }
    }
}

#[test]
fn methods_are_relative_to_the_parent_or_to_the_entity() {
    let (upper, lower) = (parent().to_matrix(), child().to_matrix());
    let way = Mat4::from_translation(POINT);
    assert_is(changed(|aspect| aspect.translate(POINT)), upper * way * lower);
    // Along its own axes, by so much in the space of its parent.
    let own = Mat4::from_translation(child().rotation * POINT);
    assert_is(changed(|aspect| aspect.translate_local(POINT)), upper * own * lower);
    let turn = Quat::from_rotation_z(1.3);
    assert_is(changed(|aspect| aspect.rotate(turn)), upper * lower * Mat4::from_quat(turn));
    let looking = changed(|aspect| aspect.look_at(POINT, Vec3::Y));
    let way = upper.transform_vector3(POINT - child().position).normalize();
    assert!(looking.z_axis.truncate().normalize().abs_diff_eq(way, 1e-4));
}

#[test]
fn world_setters_work_below_a_parent() {
    let place = LocalTransform::new(POINT, Quat::from_rotation_z(1.3), 3.0);
    let (mut world, upper, lower) = family();
    let above = *world.get::<LocalToWorld>(upper).unwrap();
    for mut aspect in world.query_mut::<TransformAspect>() {
        if aspect.entity == lower {
            assert!(aspect.place_in_world(Some(&above), place));
        }
    }
    update(&mut world);
    assert_is(matrix(&world, lower), place.to_matrix());

    // A root is where it is said.
    for mut aspect in world.query_mut::<TransformAspect>() {
        if aspect.entity == upper {
            assert!(aspect.place_in_world(None, place));
        }
    }
    assert_eq!(world.get(upper), Ok(&place));
}

#[test]
fn world_setters_fail_below_a_parent_of_scale_zero() {
    let mut world = world();
    let flat = world.spawn((at(1.0, 0.0, 0.0), Scale(Vec3::new(1.0, 0.0, 1.0))));
    let below = world.spawn((child(), Parent(flat)));
    update(&mut world);
    let above = *world.get::<LocalToWorld>(flat).unwrap();
    assert_eq!(relative_to(&above, Mat4::IDENTITY), None);
    for mut aspect in world.query_mut::<TransformAspect>() {
        assert!(!aspect.place_in_world(Some(&above), parent()));
        assert_eq!(aspect.to_local(POINT), None);
    }
    assert_eq!(world.get(below), Ok(&child()), "it is where it was");
}

#[test]
fn values_that_are_not_finite_are_rejected() {
    let (mut world, upper, lower) = family();
    let above = *world.get::<LocalToWorld>(upper).unwrap();
    for bad in [f32::NAN, f32::INFINITY] {
        for place in [
            LocalTransform::from_position(Vec3::new(0.0, bad, 0.0)),
            LocalTransform::from_rotation(Quat::from_xyzw(0.0, bad, 0.0, 1.0)),
            LocalTransform::from_scale(bad),
        ] {
            for mut aspect in world.query_mut::<TransformAspect>() {
                assert!(!aspect.place_in_world(None, place));
                assert!(!aspect.place_in_world(Some(&above), place));
            }
        }
    }
    assert_eq!(world.get(upper), Ok(&parent()), "it is where it was");
    assert_eq!(world.get(lower), Ok(&child()), "it is where it was");
}

#[test]
fn world_setters_work_below_any_parent_matrix() {
    let shape = Mat4::from_scale_rotation_translation(
        Vec3::new(2.0, 0.5, 3.0),
        Quat::from_rotation_y(0.9),
        POINT,
    );
    let wanted = child().to_matrix();
    let local = relative_to(&LocalToWorld(shape), wanted).unwrap();
    assert_is(shape * local, wanted);
}

//! Values that are not finite never spread.

use ancho_entities::{Component, Entity, World};
use ancho_transforms::{
    CustomLocalToWorld, LocalToWorld, LocalTransform, Parent, Position, PostTransformMatrix,
    Rotation, TransformError, update_transforms, world_transform,
};
use glam::{Mat4, Quat, Vec3, Vec4};

use crate::common::{at, chain, matrix, place, update, world};

#[test]
fn a_quaternion_of_length_zero_means_no_rotation() {
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
fn a_nan_position_is_an_error_and_the_hierarchy_stays() {
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
        // The error is reported once, and the matrix is right as soon as the values are finite.
        update(&mut world);
        world.get_mut::<LocalTransform>(chain[1]).unwrap().position.x = 1.0;
        update(&mut world);
        assert_eq!(place(&world, chain[3]), Vec3::new(10.0, 0.0, 0.0));
    }
}

#[test]
fn a_leaf_with_a_nan_keeps_its_matrix() {
    let mut world = world();
    let chain = chain(&mut world, 3);
    update(&mut world);
    world.get_mut::<LocalTransform>(chain[2]).unwrap().scale = f32::NAN;
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::NotFinite { entity: chain[2], count: 1 };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
    assert_eq!(place(&world, chain[2]), Vec3::new(3.0, 0.0, 0.0));
}

/// Updates, and expects that only this entity is not finite.
#[track_caller]
fn update_with(world: &mut World, bad: Entity) {
    let errors = update_transforms(world).unwrap_err();
    let expected = TransformError::NotFinite { entity: bad, count: 1 };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
    world.check_invariants().unwrap();
}

/// Marks an entity whose matrix other code writes.
#[derive(Component, Clone, Copy)]
#[component(name = "tests::Guided", write_group(LocalToWorld))]
struct Guided;

const INFINITE: Vec4 = Vec4::new(0.0, f32::INFINITY, 0.0, 1.0);
const BAD: [Mat4; 2] = [Mat4::NAN, Mat4::from_cols(Vec4::X, Vec4::Y, Vec4::Z, INFINITE)];

fn along(x: f32) -> Mat4 {
    Mat4::from_translation(Vec3::new(x, 0.0, 0.0))
}

#[test]
fn a_nan_custom_matrix_is_reported_and_children_stay() {
    for bad in BAD {
        let mut world = world();
        let hand = world.spawn(CustomLocalToWorld(along(1.0)));
        let sword = world.spawn((at(0.0, 1.0, 0.0), Parent(hand)));
        let alone = world.spawn(CustomLocalToWorld(bad));
        update(&mut world);
        assert!(!world.has::<LocalToWorld>(alone), "no component asks for a matrix");
        world.get_mut::<CustomLocalToWorld>(hand).unwrap().0 = bad;
        update_with(&mut world, hand);
        assert_eq!(place(&world, sword), Vec3::new(1.0, 1.0, 0.0));
        assert!(world_transform(&world, sword).is_err());
        // A child that comes meanwhile has no place that is a number.
        let shield = world.spawn((at(0.0, 2.0, 0.0), Parent(hand)));
        update_with(&mut world, shield);
        assert_eq!(world.get(shield), Ok(&LocalToWorld::IDENTITY));
        world.get_mut::<CustomLocalToWorld>(hand).unwrap().0 = along(5.0);
        update(&mut world);
        assert_eq!(place(&world, sword), Vec3::new(5.0, 1.0, 0.0));
        assert_eq!(place(&world, shield), Vec3::new(5.0, 2.0, 0.0));
    }
}

#[test]
fn a_nan_matrix_of_another_system_is_reported_and_children_stay() {
    for bad in BAD {
        let mut world = world();
        let guided = world.spawn((at(9.0, 9.0, 9.0), LocalToWorld(along(1.0)), Guided));
        let below = world.spawn((at(0.0, 1.0, 0.0), Parent(guided)));
        update(&mut world);
        assert_eq!(place(&world, below), Vec3::new(1.0, 1.0, 0.0));
        world.get_mut::<LocalToWorld>(guided).unwrap().0 = bad;
        update_with(&mut world, guided);
        assert_eq!(place(&world, below), Vec3::new(1.0, 1.0, 0.0));
        assert!(!matrix(&world, guided).is_finite(), "it belongs to who writes it");
        world.get_mut::<LocalToWorld>(guided).unwrap().0 = along(5.0);
        update(&mut world);
        assert_eq!(place(&world, below), Vec3::new(5.0, 1.0, 0.0));
    }
}

#[test]
fn a_nan_post_transform_is_reported_and_the_hierarchy_stays() {
    for bad in BAD {
        let mut world = world();
        let flat = world.spawn((at(0.0, 0.0, 1.0), PostTransformMatrix(along(1.0))));
        let root = world.spawn((LocalTransform::IDENTITY, PostTransformMatrix(along(1.0))));
        let below = world.spawn((at(0.0, 1.0, 0.0), Parent(root)));
        update(&mut world);
        world.get_mut::<PostTransformMatrix>(root).unwrap().0 = bad;
        update_with(&mut world, root);
        assert_eq!(place(&world, root), Vec3::X);
        assert_eq!(place(&world, below), Vec3::new(1.0, 1.0, 0.0));
        world.get_mut::<PostTransformMatrix>(root).unwrap().0 = along(5.0);
        world.get_mut::<PostTransformMatrix>(flat).unwrap().0 = bad;
        update_with(&mut world, flat);
        assert_eq!(place(&world, below), Vec3::new(5.0, 1.0, 0.0));
        assert_eq!(place(&world, flat), Vec3::new(1.0, 0.0, 1.0));
    }
}

/// Forces a rebuild of the cached hierarchy.
fn rebuild(world: &mut World) {
    let parent = world.spawn(at(0.0, 0.0, 0.0));
    world.spawn((at(0.0, 0.0, 0.0), Parent(parent)));
    update(world);
}

#[test]
fn writes_below_an_input_that_is_not_finite_are_relative_to_the_last_matrix() {
    for rebuilds in [false, true] {
        let mut world = world();
        let chain = chain(&mut world, 4);
        update(&mut world);
        world.get_mut::<LocalTransform>(chain[1]).unwrap().position.y = f32::NAN;
        update_with(&mut world, chain[1]);
        if rebuilds {
            rebuild(&mut world);
        }
        world.get_mut::<LocalTransform>(chain[2]).unwrap().position.z = 1.0;
        let late = world.spawn((at(0.0, 0.0, 3.0), Parent(chain[1])));
        update(&mut world);
        assert_eq!(place(&world, chain[1]), Vec3::new(2.0, 0.0, 0.0));
        assert_eq!(place(&world, chain[2]), Vec3::new(3.0, 0.0, 1.0));
        assert_eq!(place(&world, chain[3]), Vec3::new(4.0, 0.0, 1.0));
        assert_eq!(place(&world, late), Vec3::new(2.0, 0.0, 3.0));
        world.get_mut::<LocalTransform>(chain[1]).unwrap().position.y = 5.0;
        update(&mut world);
        assert_eq!(place(&world, chain[3]), Vec3::new(4.0, 5.0, 1.0));
    }
}

/// Spawns a parent that is placed by a matrix, two children, and a child of these.
fn below_a_matrix(world: &mut World, is_custom: bool) -> [Entity; 4] {
    let parent = if is_custom {
        world.spawn(CustomLocalToWorld(along(1.0)))
    } else {
        world.spawn((LocalToWorld(along(1.0)), Guided))
    };
    let leaf = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    let inner = world.spawn((at(0.0, 2.0, 0.0), Parent(parent)));
    let below = world.spawn((at(0.0, 1.0, 0.0), Parent(inner)));
    [parent, leaf, inner, below]
}

fn set_matrix(world: &mut World, entity: Entity, matrix: Mat4) {
    match world.get_mut::<CustomLocalToWorld>(entity) {
        Ok(custom) => custom.0 = matrix,
        Err(_) => world.get_mut::<LocalToWorld>(entity).unwrap().0 = matrix,
    }
}

#[test]
fn writes_below_a_matrix_that_is_not_finite_change_nothing() {
    for bad in BAD {
        for (is_custom, rebuilds) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut world = world();
            let [parent, leaf, inner, below] = below_a_matrix(&mut world, is_custom);
            // Many others, so that few have moved.
            chain(&mut world, 300);
            update(&mut world);
            set_matrix(&mut world, parent, bad);
            update_with(&mut world, parent);
            if rebuilds {
                rebuild(&mut world);
            }
            world.get_mut::<Position>(leaf).unwrap().0 = Vec3::Z;
            update_with(&mut world, leaf);
            world.get_mut::<Position>(inner).unwrap().0 = Vec3::Z;
            update_with(&mut world, inner);
            assert_eq!(place(&world, leaf), Vec3::new(1.0, 1.0, 0.0));
            assert_eq!(place(&world, inner), Vec3::new(1.0, 2.0, 0.0));
            // Its parent has a matrix that is a number: where it was.
            world.get_mut::<Position>(below).unwrap().0 = Vec3::X;
            update(&mut world);
            assert_eq!(place(&world, below), Vec3::new(2.0, 2.0, 0.0));
            set_matrix(&mut world, parent, along(5.0));
            update(&mut world);
            assert_eq!(place(&world, leaf), Vec3::new(5.0, 0.0, 1.0));
            assert_eq!(place(&world, below), Vec3::new(6.0, 0.0, 1.0));
        }
    }
}

#[test]
fn the_message_covers_all_values_that_are_not_finite() {
    let mut world = world();
    let hand = world.spawn(CustomLocalToWorld(Mat4::NAN));
    world.spawn((at(0.0, 1.0, 0.0), Parent(hand)));
    world.spawn((at(0.0, 2.0, 0.0), Parent(hand)));
    let errors = update_transforms(&mut world).unwrap_err();
    assert_eq!(
        errors.to_string(),
        format!(
            "A0141: the transform of {hand} and of 2 more is NaN or infinite; the entity and its descendants stay \
             where they were: look for a division by zero in the code that writes the position, rotation, scale or \
             matrix of the entity or its ancestors"
        )
    );
}

#[test]
fn new_entities_that_are_not_finite_are_counted_once() {
    let mut world = world();
    let flat = world.spawn(at(f32::NAN, 0.0, 0.0));
    update_with(&mut world, flat);
    // Others come to its chunk, and it is found again.
    let others: Vec<_> = (0..3).map(|_| world.spawn(at(f32::NAN, 0.0, 0.0))).collect();
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::NotFinite { entity: flat, count: 1 + others.len() };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
}

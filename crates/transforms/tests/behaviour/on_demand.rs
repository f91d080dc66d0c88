//! World matrices on demand.

use ancho_entities::Component;
use ancho_transforms::{
    LocalToWorld, Parent, Position, Scale, Static, TransformError, depth_of, update_transforms,
    world_transform,
};
use glam::Vec3;

use crate::common::{at, chain, matrix, update, world};

/// A cleanup component that is unrelated to transforms.
#[derive(Component, Clone, Copy)]
#[component(name = "on_demand::Stays", cleanup)]
struct Stays;

#[test]
fn the_computed_matrix_equals_that_of_the_next_update() {
    let mut world = world();
    let chain = chain(&mut world, 50);
    let before: Vec<_> =
        chain.iter().map(|&node| world_transform(&world, node).unwrap().0).collect();
    update(&mut world);
    assert!(chain.iter().zip(before).all(|(&node, before)| matrix(&world, node) == before));
}

#[test]
fn errors_name_the_entity_without_a_transform() {
    let mut world = world();
    let nowhere = world.spawn(());
    let child = world.spawn((at(1.0, 0.0, 0.0), Parent(nowhere)));
    let error = world_transform(&world, child).unwrap_err();
    assert_eq!(error, TransformError::NotPlaced { entity: child, ancestor: nowhere });
    assert_eq!(
        error.to_string(),
        format!(
            "A0142: {child} has no transform in the world, because its ancestor {nowhere} has none; add to the \
             ancestor a `LocalTransform`, or one of `Position`, `Rotation`, `Scale`"
        )
    );
    assert_eq!(
        world_transform(&world, nowhere).unwrap_err().to_string(),
        format!(
            "A0142: {nowhere} has no transform; add a `LocalTransform`, or one of `Position`, `Rotation`, `Scale`"
        )
    );
    world.detach_children(nowhere).unwrap();
    world.despawn(nowhere).unwrap();
    assert_eq!(world_transform(&world, child).unwrap().position(), Vec3::X);
    assert!(world_transform(&world, nowhere).unwrap_err().to_string().starts_with("A0050: "));
}

#[test]
fn values_that_are_not_finite_are_errors() {
    let mut world = world();
    let bad = world.spawn(at(f32::NAN, 0.0, 0.0));
    let error = world_transform(&world, bad).unwrap_err();
    assert_eq!(error, TransformError::NotFinite { entity: bad, count: 1 });
}

#[test]
fn an_ancestor_without_inputs_has_the_matrix_of_its_parent() {
    let mut world = world();
    let root = world.spawn(at(1.0, 0.0, 0.0));
    let inner = world.spawn((LocalToWorld::IDENTITY, Parent(root)));
    let leaf = world.spawn((at(0.0, 1.0, 0.0), Parent(inner)));
    let before = [inner, leaf].map(|entity| world_transform(&world, entity).unwrap().0);
    update(&mut world);
    assert_eq!([inner, leaf].map(|entity| matrix(&world, entity)), before);
    assert_eq!(world_transform(&world, leaf).unwrap().position(), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn entities_with_only_cleanup_components_do_not_exist() {
    let mut world = world();
    let chain = chain(&mut world, 3);
    update(&mut world);
    world.add(chain[1], Stays).unwrap();
    world.detach_children(chain[1]).unwrap();
    world.despawn(chain[1]).unwrap();
    assert!(world.exists(chain[1]), "it has a cleanup component");
    let expected = format!("A0050: entity {} no longer exists: it was despawned", chain[1]);
    for error in
        [world_transform(&world, chain[1]).unwrap_err(), depth_of(&world, chain[1]).unwrap_err()]
    {
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    assert_eq!(depth_of(&world, chain[2]), Ok(0));
}

#[test]
fn values_that_updates_reject_are_errors() {
    let mut world = world();
    // Numbers whose sums are none.
    let root = world.spawn((at(2e38, 0.0, 0.0), Scale(Vec3::splat(2e38))));
    let leaf = world.spawn((at(-1.0, 0.0, 0.0), Scale(Vec3::splat(1e-38)), Parent(root)));
    for entity in [root, leaf] {
        let error = world_transform(&world, entity).unwrap_err();
        assert_eq!(error, TransformError::NotFinite { entity, count: 1 });
    }
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::NotFinite { entity: root, count: 1 };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
}

#[test]
fn frozen_entities_keep_their_matrix() {
    let mut world = world();
    let root = world.spawn((at(1.0, 0.0, 0.0), Static));
    let leaf = world.spawn((at(0.0, 1.0, 0.0), Parent(root)));
    update(&mut world);
    update(&mut world);
    world.get_mut::<Position>(root).unwrap().0 = Vec3::ZERO;
    assert_eq!(world_transform(&world, leaf).unwrap().position(), Vec3::new(1.0, 1.0, 0.0));
}

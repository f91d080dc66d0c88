//! Static and frozen entities.

use ancho_entities::{Disabled, Entity, Prefab, QueryDescriptor, World};
use ancho_transforms::{
    CustomLocalToWorld, Frozen, FrozenPending, LocalToWorld, Parent, Position, Static,
    TransformError, update_transforms,
};
use glam::{Mat4, Vec3};

use crate::common::{at, chain, place, update, world};

#[test]
fn a_static_entity_is_frozen_after_one_more_update() {
    let mut world = world();
    let entity = world.spawn((at(1.0, 0.0, 0.0), Static));
    update(&mut world);
    assert!(world.has::<FrozenPending>(entity) && !world.has::<Frozen>(entity));
    assert_eq!(place(&world, entity), Vec3::X);
    update(&mut world);
    assert!(!world.has::<FrozenPending>(entity) && world.has::<Frozen>(entity));
    world.get_mut::<Position>(entity).unwrap().0 = Vec3::Y;
    update(&mut world);
    assert_eq!(place(&world, entity), Vec3::X);

    world.remove::<(Static, Frozen)>(entity).unwrap();
    update(&mut world);
    assert_eq!(place(&world, entity), Vec3::Y, "it moves again");
}

#[test]
fn frozen_entities_keep_their_matrix_and_children_follow_them() {
    let mut world = world();
    let root = world.spawn(at(1.0, 0.0, 0.0));
    let inner = world.spawn((at(0.0, 1.0, 0.0), Parent(root), Static));
    let leaf = world.spawn((at(0.0, 0.0, 1.0), Parent(inner)));
    update(&mut world);
    update(&mut world);
    world.get_mut::<Position>(root).unwrap().0 = Vec3::new(7.0, 0.0, 0.0);
    update(&mut world);
    assert_eq!(place(&world, inner), Vec3::new(1.0, 1.0, 0.0));
    assert_eq!(place(&world, leaf), Vec3::new(1.0, 1.0, 1.0));
    world.get_mut::<Position>(leaf).unwrap().0 = Vec3::ZERO;
    update(&mut world);
    assert_eq!(place(&world, leaf), Vec3::new(1.0, 1.0, 0.0));
    world.remove::<(Static, Frozen)>(inner).unwrap();
    update(&mut world);
    assert_eq!(place(&world, leaf), Vec3::new(7.0, 1.0, 0.0));
}

#[test]
fn whole_chunks_of_children_are_frozen() {
    let mut world = world();
    let root = world.spawn(at(1.0, 0.0, 0.0));
    let all: Vec<_> = world.spawn_many((at(0.0, 1.0, 0.0), Parent(root), Static), 500).collect();
    update(&mut world);
    update(&mut world);
    world.get_mut::<Position>(root).unwrap().0 = Vec3::ZERO;
    update(&mut world);
    assert!(all.iter().all(|&leaf| place(&world, leaf) == Vec3::new(1.0, 1.0, 0.0)));
    world
        .batch(QueryDescriptor::of::<(), ancho_entities::With<Frozen>>())
        .remove::<(Static, Frozen)>()
        .unwrap();
    update(&mut world);
    assert!(all.iter().all(|&leaf| place(&world, leaf) == Vec3::Y));
}

#[test]
fn entities_with_a_custom_matrix_are_not_frozen() {
    let mut world = world();
    let own = CustomLocalToWorld(Mat4::from_translation(Vec3::Z));
    let entity = world.spawn((own, at(1.0, 0.0, 0.0), Static));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(entity)));
    let below = world.spawn((at(0.0, 1.0, 0.0), Parent(child)));
    update(&mut world);
    update(&mut world);
    assert!(!world.has::<LocalToWorld>(entity) && !world.has::<Frozen>(entity));
    assert_eq!(place(&world, below), Vec3::new(0.0, 2.0, 1.0));
    world.get_mut::<CustomLocalToWorld>(entity).unwrap().0 = Mat4::IDENTITY;
    update(&mut world);
    assert_eq!(place(&world, below), Vec3::new(0.0, 2.0, 0.0));
    world.remove::<CustomLocalToWorld>(entity).unwrap();
    update(&mut world);
    assert_eq!(place(&world, below), Vec3::new(1.0, 2.0, 0.0));
}

#[test]
fn a_static_entity_without_frozen_is_computed_once_and_frozen_again() {
    let mut world = world();
    let root = world.spawn((at(1.0, 0.0, 0.0), Static));
    let leaf = world.spawn((at(0.0, 1.0, 0.0), Parent(root)));
    update(&mut world);
    update(&mut world);
    world.get_mut::<Position>(root).unwrap().0 = Vec3::Z;
    world.remove::<Frozen>(root).unwrap();
    update(&mut world);
    assert!(world.has::<FrozenPending>(root) && !world.has::<Frozen>(root));
    assert_eq!(place(&world, leaf), Vec3::new(0.0, 1.0, 1.0));
    update(&mut world);
    assert!(!world.has::<FrozenPending>(root) && world.has::<Frozen>(root));
    world.get_mut::<Position>(root).unwrap().0 = Vec3::X;
    update(&mut world);
    assert_eq!(place(&world, root), Vec3::Z);
    assert_eq!(place(&world, leaf), Vec3::new(0.0, 1.0, 1.0));
}

#[test]
fn a_custom_matrix_has_precedence() {
    let mut world = world();
    let own = CustomLocalToWorld(Mat4::from_translation(Vec3::Z));
    let other = LocalToWorld(Mat4::from_translation(Vec3::splat(8.0)));
    let alone = world.spawn((own, other, at(1.0, 0.0, 0.0), Static));
    let parent = world.spawn((own, other, at(1.0, 0.0, 0.0)));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    for _ in 0..3 {
        update(&mut world);
        for entity in [alone, parent] {
            assert_eq!((world.get(entity), world.get(entity)), (Ok(&own), Ok(&other)));
        }
        assert_eq!(place(&world, child), Vec3::new(0.0, 1.0, 1.0));
        world.get_mut::<Position>(parent).unwrap().0.x += 1.0;
    }
    assert!(!world.has::<Frozen>(alone));
}

#[test]
fn below_a_disabled_ancestor_entities_are_frozen_only_after_an_update() {
    let mut world = world();
    let root = world.spawn((at(1.0, 0.0, 0.0), Disabled));
    let inner = world.spawn((at(0.0, 1.0, 0.0), Parent(root), Static));
    let leaf = world.spawn((at(0.0, 0.0, 1.0), Parent(inner), Static));
    let prefab = world.spawn((at(1.0, 0.0, 0.0), Prefab));
    let of_prefab = world.spawn((at(0.0, 1.0, 0.0), Parent(prefab), Static));
    let other = world.spawn(at(5.0, 0.0, 0.0));
    let frozen = world.spawn((at(0.0, 1.0, 0.0), Parent(other), Static));
    let errors = update_transforms(&mut world).unwrap_err();
    assert!(errors.iter().eq(&[TransformError::ChildOfPrefab { child: of_prefab, prefab }]));
    for _ in 0..2 {
        update(&mut world);
    }
    for waiting in [inner, leaf, of_prefab] {
        assert!(!world.has::<FrozenPending>(waiting) && !world.has::<Frozen>(waiting));
    }
    assert!(world.has::<Frozen>(frozen), "beside them others are");
    assert_eq!(place(&world, frozen), Vec3::new(5.0, 1.0, 0.0));

    world.remove::<Disabled>(root).unwrap();
    update(&mut world);
    update(&mut world);
    assert!(world.has::<Frozen>(inner) && world.has::<Frozen>(leaf));
    world.get_mut::<Position>(root).unwrap().0 = Vec3::ZERO;
    update(&mut world);
    assert_eq!(place(&world, inner), Vec3::new(1.0, 1.0, 0.0));
    assert_eq!(place(&world, leaf), Vec3::new(1.0, 1.0, 1.0));
}

#[test]
fn freezing_waits_while_an_ancestor_is_disabled() {
    let mut world = world();
    let chain = chain(&mut world, 3);
    update(&mut world);
    world.add(chain[2], Static).unwrap();
    update(&mut world);
    assert!(world.has::<FrozenPending>(chain[2]));
    world.add(chain[0], Disabled).unwrap();
    update(&mut world);
    assert!(world.has::<FrozenPending>(chain[2]) && !world.has::<Frozen>(chain[2]));
    world.remove::<Disabled>(chain[0]).unwrap();
    update(&mut world);
    assert!(!world.has::<FrozenPending>(chain[2]) && world.has::<Frozen>(chain[2]));
    assert_eq!(place(&world, chain[2]), Vec3::new(3.0, 0.0, 0.0));
}

/// Updates, and expects that exactly these are not finite. The first one has the lowest index.
#[track_caller]
fn update_with(world: &mut World, bad: &[Entity]) {
    let errors = update_transforms(world).unwrap_err();
    let expected = TransformError::NotFinite { entity: bad[0], count: bad.len() };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
    world.check_invariants().unwrap();
}

#[test]
fn an_entity_is_frozen_once_its_matrix_is_finite() {
    let mut world = world();
    let bad = at(f32::NAN, 0.0, 0.0);
    let flat = world.spawn((bad, Static));
    let root = world.spawn((bad, Static));
    let below = world.spawn((at(0.0, 1.0, 0.0), Parent(root)));
    let parent = world.spawn(at(2.0, 0.0, 0.0));
    let leaf = world.spawn((bad, Parent(parent), Static));
    let all = [flat, root, leaf];
    for _ in 0..3 {
        // The error is reported in each update, because the entities are checked until they are frozen.
        update_with(&mut world, &all);
        for entity in all {
            assert!(!world.has::<FrozenPending>(entity) && !world.has::<Frozen>(entity));
        }
    }
    for entity in all {
        world.get_mut::<Position>(entity).unwrap().0 = Vec3::X;
    }
    update(&mut world);
    update(&mut world);
    assert!(all.iter().all(|&entity| world.has::<Frozen>(entity)));
    assert_eq!(all.map(|entity| place(&world, entity).x), [1.0, 1.0, 3.0]);
    assert_eq!(place(&world, below), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn an_entity_that_was_reported_before_it_became_static_is_not_frozen() {
    let mut world = world();
    let parent = world.spawn(at(2.0, 0.0, 0.0));
    let flat = world.spawn(at(f32::NAN, 0.0, 0.0));
    let leaf = world.spawn((at(f32::NAN, 0.0, 0.0), Parent(parent)));
    update_with(&mut world, &[flat, leaf]);
    update(&mut world);
    world.add(flat, Static).unwrap();
    world.add(leaf, Static).unwrap();
    for _ in 0..3 {
        update_with(&mut world, &[flat, leaf]);
    }
    assert!(!world.has::<Frozen>(flat) && !world.has::<Frozen>(leaf));
}

#[test]
fn an_unfrozen_entity_is_found_in_its_new_row() {
    let mut world = world();
    let parents: Vec<Entity> = (0..3).map(|_| world.spawn((at(1.0, 0.0, 0.0), Static))).collect();
    let child = |world: &mut World, parent| world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    let children: Vec<Entity> = parents.iter().map(|&it| child(&mut world, it)).collect();
    update(&mut world);
    let custom = |x| CustomLocalToWorld(Mat4::from_translation(Vec3::new(x, 0.0, 0.0)));
    world.add(parents[0], custom(f32::NAN)).unwrap();
    world.add(parents[1], custom(2.0)).unwrap();
    world.add(parents[2], custom(3.0)).unwrap();
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::NotFinite { entity: parents[0], count: 1 };
    assert!(errors.iter().eq([&expected]), "{errors}");
    world.set(parents[2], custom(5.0)).unwrap();
    _ = update_transforms(&mut world);
    assert_eq!(place(&world, children[1]), Vec3::new(2.0, 1.0, 0.0));
    assert_eq!(place(&world, children[2]), Vec3::new(5.0, 1.0, 0.0));
    world.set(parents[0], custom(7.0)).unwrap();
    update(&mut world);
    assert_eq!(place(&world, children[0]), Vec3::new(7.0, 1.0, 0.0));
}

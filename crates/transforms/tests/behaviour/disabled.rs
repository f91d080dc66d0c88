//! Inactive branches.

use ancho_entities::{Disabled, Prefab};
use ancho_transforms::{LocalToWorld, Parent, Position, TransformError, update_transforms};
use glam::Vec3;

use crate::common::{at, chain, children, place, update, world};

#[test]
fn children_of_a_disabled_parent_are_placed_when_it_is_enabled() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(parent)));
    world.add(parent, Disabled).unwrap();
    update(&mut world);
    update(&mut world);
    assert_eq!(children(&world, parent), [child]);
    assert_eq!(world.get(child), Ok(&LocalToWorld::IDENTITY));
    world.remove::<Disabled>(parent).unwrap();
    update(&mut world);
    assert_eq!(children(&world, parent), [child]);
    assert_eq!(place(&world, child), Vec3::new(1.0, 1.0, 0.0));
}

#[test]
fn a_disabled_branch_is_skipped_and_catches_up() {
    let mut world = world();
    let chain = chain(&mut world, 4);
    update(&mut world);
    world.set_enabled(chain[1], false).unwrap();
    world.get_mut::<ancho_transforms::LocalTransform>(chain[0]).unwrap().position = Vec3::Y;
    update(&mut world);
    assert_eq!(place(&world, chain[0]), Vec3::Y);
    assert_eq!(place(&world, chain[3]), Vec3::new(4.0, 0.0, 0.0));
    assert_eq!(children(&world, chain[0]), [chain[1]], "it stays a child");
    world.set_enabled(chain[1], true).unwrap();
    update(&mut world);
    assert_eq!(place(&world, chain[3]), Vec3::new(3.0, 1.0, 0.0));
}

#[test]
fn a_disabled_child_follows_when_it_is_enabled() {
    let mut world = world();
    let (old, new) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(2.0, 0.0, 0.0)));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(old)));
    update(&mut world);
    world.set_enabled(child, false).unwrap();
    world.get_mut::<Position>(old).unwrap().0 = Vec3::ZERO;
    update(&mut world);
    world.set(child, Parent(new)).unwrap();
    update(&mut world);
    update(&mut world);
    assert_eq!(place(&world, child), Vec3::new(1.0, 1.0, 0.0));
    world.set_enabled(child, true).unwrap();
    update(&mut world);
    assert_eq!(children(&world, new), [child]);
    assert_eq!(place(&world, child), Vec3::new(2.0, 1.0, 0.0));
}

#[test]
fn a_child_below_a_prefab_is_skipped_until_the_tag_is_removed() {
    let mut world = world();
    let prefab = world.spawn((at(1.0, 0.0, 0.0), Prefab));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(prefab)));
    let below = world.spawn((at(0.0, 0.0, 1.0), Parent(child)));
    let errors = update_transforms(&mut world).unwrap_err();
    assert!(errors.iter().eq(&[TransformError::ChildOfPrefab { child, prefab }]));
    for _ in 0..2 {
        update(&mut world);
        assert!(!world.has::<LocalToWorld>(prefab));
        assert_eq!(world.get(child), Ok(&Parent(prefab)));
        assert_eq!(world.get(child), Ok(&LocalToWorld::IDENTITY));
        assert_eq!(world.get(below), Ok(&LocalToWorld::IDENTITY));
    }
    // It is instantiated along with it.
    let copy = world.instantiate(prefab).unwrap();
    update(&mut world);
    let below_copy = children(&world, children(&world, copy)[0])[0];
    assert_eq!(place(&world, below_copy), Vec3::new(1.0, 1.0, 1.0));
    world.remove::<Prefab>(prefab).unwrap();
    update(&mut world);
    assert_eq!(children(&world, prefab), [child]);
    assert_eq!(place(&world, below), Vec3::new(1.0, 1.0, 1.0));
}

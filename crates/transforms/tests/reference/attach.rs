//! Hierarchies built by requests to attach.

use ancho_entities::{Entity, World};
use ancho_transforms::{
    Attach, Attached, Child, LocalToParent, LocalToWorld, Parent, Position, TransformError,
    update_transforms,
};
use glam::{Mat4, Vec3};

use crate::{assert_at, update, world};

/// Spawns two possible parents, and a child of the first.
fn attached() -> (World, Entity, Entity, Entity) {
    let mut world = world();
    let at = |x| Position(Vec3::new(x, 0.0, 0.0));
    let (first, second, child) =
        (world.spawn(at(10.0)), world.spawn(at(20.0)), world.spawn(at(1.0)));
    world.spawn(Attach { parent: first, child });
    update(&mut world);
    (world, first, second, child)
}

#[test]
fn the_child_gets_its_components_and_the_request_is_removed() {
    let (world, first, _, child) = attached();
    assert!(world.has::<Attached>(child));
    assert_eq!(world.get::<Parent>(child), Ok(&Parent(first)));
    let local = Mat4::from_translation(Vec3::X);
    assert_eq!(world.get::<LocalToParent>(child).unwrap().0, local);
    assert_eq!(world.entity_count(), 3);
    assert_at(&world, child, [11.0, 0.0, 0.0]);
}

#[test]
fn local_to_parent_follows() {
    let (mut world, _, _, child) = attached();
    world.get_mut::<Position>(child).unwrap().0 = Vec3::Y;
    update(&mut world);
    assert_eq!(world.get::<LocalToParent>(child).unwrap().0, Mat4::from_translation(Vec3::Y));
    assert_at(&world, child, [10.0, 1.0, 0.0]);
}

#[test]
fn a_child_is_attached_to_another() {
    let (mut world, first, second, child) = attached();
    world.spawn(Attach { parent: second, child });
    update(&mut world);
    assert_eq!(world.get::<Parent>(child), Ok(&Parent(second)));
    assert!(world.buffer::<Child>(first).is_err());
    assert_at(&world, child, [21.0, 0.0, 0.0]);
    assert_eq!(world.entity_count(), 3);
}

#[test]
fn of_two_attach_requests_the_later_one_counts() {
    let (mut world, first, second, child) = attached();
    world.spawn(Attach { parent: second, child });
    world.spawn(Attach { parent: first, child });
    update(&mut world);
    assert_eq!(world.get::<Parent>(child), Ok(&Parent(first)));
    assert_eq!(world.entity_count(), 3);
}

#[test]
fn nothing_is_attached_to_a_missing_entity() {
    let (mut world, first, second, child) = attached();
    world.despawn(second).unwrap();
    world.spawn(Attach { parent: second, child });
    let errors = update_transforms(&mut world).unwrap_err();
    let told: Vec<_> = errors.iter().cloned().collect();
    let missing = second;
    assert_eq!(told, [TransformError::NothingToAttach { parent: second, child, missing }]);
    assert_eq!(world.get::<Parent>(child), Ok(&Parent(first)));
    assert_eq!(world.entity_count(), 2);
    update(&mut world);
}

#[test]
fn local_to_parent_is_computed_for_a_child_that_does_not_move() {
    let mut world = world();
    let parent = world.spawn(Position(Vec3::X));
    let child = world.spawn((Position(Vec3::Y), Parent(parent)));
    let inner = world.spawn((Position(Vec3::Z), Parent(parent)));
    world.spawn((Position(Vec3::Z), Parent(inner)));
    update(&mut world);
    world.spawn(Attach { parent, child });
    world.add(inner, LocalToParent::default()).unwrap();
    update(&mut world);
    let local = |entity| world.get::<LocalToParent>(entity).unwrap().0;
    assert_eq!(local(child), Mat4::from_translation(Vec3::Y));
    assert_eq!(local(inner), Mat4::from_translation(Vec3::Z));
}

/// Updates, and expects that a cycle is reported and nothing has changed.
#[track_caller]
fn update_with_a_cycle(world: &mut World, child: Entity) {
    let parent = world.get::<Parent>(child).ok().copied();
    let attached = world.has::<Attached>(child);
    let local = world.get::<LocalToParent>(child).ok().copied();
    let place = world.get::<LocalToWorld>(child).copied();
    let errors = update_transforms(world).unwrap_err();
    let told: Vec<_> = errors.iter().collect();
    let is_refused = |error: &&TransformError| {
        let text = error.to_string();
        text.starts_with("A0140: ") || text.starts_with("A0210: ")
    };
    // There were two requests.
    assert!(told.len() == 2 && told.iter().all(is_refused), "{errors}");
    for _ in 0..2 {
        assert_eq!(world.get::<Parent>(child).ok().copied(), parent);
        assert_eq!(world.has::<Attached>(child), attached);
        assert_eq!(world.get::<LocalToParent>(child).ok().copied(), local);
        assert_eq!(world.get::<LocalToWorld>(child).copied(), place);
        update(world);
    }
}

#[test]
fn a_cycle_is_refused() {
    // Of one that had no parent, one with a plain one, and one that was attached.
    let (mut world, root, second, attached) = attached();
    let plain = world.spawn((Position(Vec3::Y), Parent(root)));
    let below = world.spawn((Position(Vec3::Z), Parent(plain)));
    let below_attached = world.spawn((Position(Vec3::Z), Parent(attached)));
    update(&mut world);
    for (parent, child) in [
        (below, root),
        (second, second),
        (plain, plain),
        (below, plain),
        (attached, attached),
        (below_attached, attached),
    ] {
        world.spawn(Attach { parent, child });
        // The same again makes no difference.
        world.spawn(Attach { parent, child });
        update_with_a_cycle(&mut world, child);
    }
    // What was attached still is, and can be detached; what was not cannot.
    world.remove::<Attached>(attached).unwrap();
    update(&mut world);
    assert!(!world.has::<Parent>(attached) && world.has::<Parent>(plain));
    world.spawn(Attach { parent: second, child: plain });
    update(&mut world);
    assert!(world.has::<Attached>(plain));
    assert_at(&world, plain, [20.0, 1.0, 0.0]);
}

#[test]
fn a_detached_child_keeps_its_values_as_world_values() {
    let (mut world, first, _, child) = attached();
    world.remove::<Attached>(child).unwrap();
    update(&mut world);
    assert!(!world.has::<Parent>(child) && !world.has::<LocalToParent>(child));
    assert!(world.buffer::<Child>(first).is_err());
    assert_at(&world, child, [1.0, 0.0, 0.0]);
}

#[test]
fn a_child_is_detached_and_attached_again() {
    let (mut world, first, _, child) = attached();
    world.remove::<Attached>(child).unwrap();
    update(&mut world);
    world.spawn(Attach { parent: first, child });
    update(&mut world);
    assert!(world.has::<(Parent, Attached, LocalToParent)>(child));
    assert_at(&world, child, [11.0, 0.0, 0.0]);
}

#[test]
fn an_attached_pair_is_despawned() {
    let (mut world, first, second, child) = attached();
    for entity in [first, second] {
        world.despawn(entity).unwrap();
    }
    assert!(!world.exists(child));
    update(&mut world);
    assert_eq!(world.entity_count(), 0);
}

//! Requests to attach.

use ancho_entities::{Buffer, Component, EntityError};
use ancho_transforms::{
    Attach, Attached, Child, LocalToParent, Parent, Rotation, TransformError, look_rotation,
    update_transforms,
};
use glam::{Mat4, Vec3};

use crate::common::{at, children, place, update, world};

/// A cleanup component that is unrelated to transforms.
#[derive(Component, Clone, Copy)]
#[component(name = "attach::Stays", cleanup)]
struct Stays;

#[test]
fn a_child_is_attached_and_detached() {
    let mut world = world();
    let parent = world.spawn((at(0.0, 2.0, 0.0), Rotation(look_rotation(Vec3::X, Vec3::Y))));
    let child = world.spawn(at(0.0, 0.0, 1.0));
    let order = world.spawn(Attach { parent, child });
    update(&mut world);
    assert!(!world.exists(order));
    assert!(world.has::<(Parent, Attached, LocalToParent)>(child));
    assert!(place(&world, child).abs_diff_eq(Vec3::new(1.0, 2.0, 0.0), 1e-6));
    assert_eq!(world.get::<LocalToParent>(child).unwrap().0, Mat4::from_translation(Vec3::Z));

    world.remove::<Attached>(child).unwrap();
    update(&mut world);
    assert!(!world.has::<Parent>(child) && !world.has::<LocalToParent>(child));
    assert!(!world.has::<Buffer<Child>>(parent));
    assert_eq!(place(&world, child), Vec3::Z);
}

#[test]
fn a_chain_of_attached_entities() {
    let mut world = world();
    let east = Rotation(look_rotation(Vec3::X, Vec3::Y));
    let root = world.spawn((at(0.0, 2.0, 0.0), east));
    let inner = world.spawn(at(0.0, 0.0, 1.0));
    let child = world.spawn(at(0.0, 0.0, 1.0));
    world.spawn(Attach { parent: inner, child });
    world.spawn(Attach { parent: root, child: inner });
    update(&mut world);
    assert!(place(&world, child).abs_diff_eq(Vec3::new(2.0, 2.0, 0.0), 1e-6));
}

#[test]
fn attaching_to_another_parent_leaves_the_first() {
    let mut world = world();
    let (first, second) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(2.0, 0.0, 0.0)));
    let child = world.spawn(at(0.0, 1.0, 0.0));
    world.spawn(Attach { parent: first, child });
    update(&mut world);
    world.spawn(Attach { parent: second, child });
    update(&mut world);
    assert!(!world.has::<Buffer<Child>>(first));
    assert_eq!(children(&world, second), [child]);
    assert_eq!(place(&world, child), Vec3::new(2.0, 1.0, 0.0));
    world.get_mut::<ancho_transforms::Position>(child).unwrap().0 = Vec3::Z;
    update(&mut world);
    assert_eq!(world.get::<LocalToParent>(child).unwrap().0, Mat4::from_translation(Vec3::Z));
}

#[test]
fn attached_entities_that_lose_their_parent_are_detached() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn(at(0.0, 1.0, 0.0));
    let other = world.spawn(at(0.0, 1.0, 0.0));
    world.spawn(Attach { parent, child });
    world.spawn(Attach { parent, child: other });
    update(&mut world);
    world.remove::<Parent>(other).unwrap();
    update(&mut world);
    assert!(!world.has::<Attached>(other) && !world.has::<LocalToParent>(other));
    world.detach_children(parent).unwrap();
    world.despawn(parent).unwrap();
    update(&mut world);
    assert!(!world.has::<Attached>(child) && !world.has::<LocalToParent>(child));
    assert_eq!(place(&world, child), Vec3::Y);
}

#[test]
fn attached_entities_are_despawned_with_their_parent() {
    let mut world = world();
    let parent = world.spawn(at(1.0, 0.0, 0.0));
    let all = [(); 2].map(|()| world.spawn(at(0.0, 1.0, 0.0)));
    for child in all {
        world.spawn(Attach { parent, child });
    }
    update(&mut world);
    world.despawn(parent).unwrap();
    assert_eq!(world.entity_count(), 0);
    update(&mut world);
}

#[test]
fn attach_requests_without_entities_are_errors() {
    let mut world = world();
    let child = world.spawn(at(0.0, 1.0, 0.0));
    let parent = world.spawn(());
    world.despawn(parent).unwrap();
    let order = world.spawn(Attach { parent, child });
    let errors = update_transforms(&mut world).unwrap_err();
    let expected = TransformError::NothingToAttach { parent, child, missing: parent };
    assert_eq!(errors.iter().collect::<Vec<_>>(), [&expected]);
    assert_eq!(
        errors.to_string(),
        format!(
            "A0145: {child} cannot be attached to {parent}, because {parent} does not exist; the request was \
             despawned: look for the code that despawned the entity before the transforms were updated"
        )
    );
    assert!(!world.exists(order) && !world.has::<Parent>(child));
    assert_eq!(place(&world, child), Vec3::Y);
}

#[test]
fn an_attach_request_for_a_despawned_child_is_an_error() {
    let mut world = world();
    let parent = world.spawn(at(0.0, 1.0, 0.0));
    let (child, known) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(1.0, 0.0, 0.0)));
    world.spawn(Attach { parent, child: known });
    update(&mut world);
    world.despawn(child).unwrap();
    // An entity that has only cleanup components left cannot be attached.
    world.add(known, Stays).unwrap();
    world.despawn(known).unwrap();
    assert!(!world.exists(child) && world.exists(known));
    for gone in [child, known] {
        world.spawn(Attach { parent, child: gone });
    }
    let errors = update_transforms(&mut world).unwrap_err();
    let told: Vec<_> = errors.iter().cloned().collect();
    let expected = [child, known].map(|child| TransformError::NothingToAttach {
        parent,
        child,
        missing: child,
    });
    assert_eq!(told, expected);
    assert_eq!(world.entity_count(), 2);
    assert!(!world.has::<Buffer<Child>>(parent));
    update(&mut world);
}

#[test]
fn attach_requests_work_in_a_strict_world() {
    let settings = ancho_entities::WorldSettings::new().strict(true);
    let mut world = ancho_entities::World::with_settings("Strict", settings);
    let (first, second) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(2.0, 0.0, 0.0)));
    let child = world.spawn(at(0.0, 1.0, 0.0));
    for (parent, x) in [(first, 1.0), (second, 2.0), (second, 2.0)] {
        world.spawn(Attach { parent, child });
        update(&mut world);
        assert_eq!(place(&world, child), Vec3::new(x, 1.0, 0.0));
    }
    world.spawn(Attach { parent: child, child: second });
    let errors = update_transforms(&mut world).unwrap_err();
    let [error] = errors.iter().collect::<Vec<_>>()[..] else { panic!("{errors}") };
    let is_cycle = matches!(error, TransformError::Entities(EntityError::LinkCycle { .. }));
    assert!(is_cycle && errors.to_string().starts_with("A0140: "), "{errors}");
    assert!(!world.has::<Attached>(second) && !world.has::<LocalToParent>(second));
    world.remove::<Attached>(child).unwrap();
    update(&mut world);
    assert!(!world.has::<Parent>(child) && !world.has::<LocalToParent>(child));
    update(&mut world);
}

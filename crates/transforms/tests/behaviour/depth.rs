//! Depths of entities.

use ancho_entities::{Buffer, Entity, World};
use ancho_transforms::{Attach, Child, Parent, TransformError, depth_of};

use crate::common::{at, chain, update, world};

/// Returns the depth of an entity with children, as Unity's former shared component `Depth`.
fn depth_of_parent(world: &World, entity: Entity) -> Option<usize> {
    world.has::<Buffer<Child>>(entity).then(|| depth_of(world, entity).unwrap())
}

#[test]
fn a_parent_has_a_depth_while_it_has_children() {
    let mut world = world();
    let (first, second) = (world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(2.0, 0.0, 0.0)));
    let child = world.spawn(at(0.0, 1.0, 0.0));
    world.spawn(Attach { parent: first, child });
    update(&mut world);
    assert_eq!(depth_of_parent(&world, first), Some(0));
    assert_eq!(depth_of_parent(&world, child), None, "a leaf");
    world.spawn(Attach { parent: second, child });
    update(&mut world);
    assert_eq!(depth_of_parent(&world, first), None);
    assert_eq!(depth_of_parent(&world, second), Some(0));
}

#[test]
fn depths_of_a_chain_and_of_a_branch_that_moves() {
    let mut world = world();
    let (root, inner, child) =
        (world.spawn(at(0.0, 2.0, 0.0)), world.spawn(at(0.0, 0.0, 1.0)), world.spawn(()));
    world.spawn(Attach { parent: inner, child });
    world.spawn(Attach { parent: root, child: inner });
    update(&mut world);
    assert_eq!(depth_of_parent(&world, root), Some(0));
    assert_eq!(depth_of_parent(&world, inner), Some(1));
    assert_eq!(depth_of(&world, child), Ok(2));

    // By what is said now, before it is seen.
    let other = chain(&mut world, 3);
    world.set(inner, Parent(other[2])).unwrap();
    assert_eq!(depth_of(&world, child), Ok(4));
    world.detach_children(other[1]).unwrap();
    assert_eq!(depth_of(&world, child), Ok(2));
    world.remove::<Parent>(inner).unwrap();
    assert_eq!(depth_of(&world, child), Ok(1));
    world.add(inner, Parent(root)).unwrap();
    update(&mut world);
    assert_eq!(depth_of_parent(&world, inner), Some(1));
}

#[test]
fn missing_entities_have_no_depth() {
    let mut world = world();
    let gone = world.spawn(());
    world.despawn(gone).unwrap();
    assert!(matches!(depth_of(&world, gone), Err(TransformError::Entities(_))));
}

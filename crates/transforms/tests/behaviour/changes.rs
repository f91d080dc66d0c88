//! Matrices of unmoved entities are not written.

use ancho_entities::{ChunkArena, Component, Entity, Version, World, WorldSettings};
use ancho_transforms::{LocalToWorld, LocalTransform, Parent, Position, update_transforms};
use glam::Vec3;

use crate::common::{at, place, update, world};

/// Returns the version of the last write to matrices in the chunk of an entity.
fn written(world: &World, entity: Entity) -> Version {
    let info = world.storage_info().get(entity).unwrap();
    info.chunk().change_version::<LocalToWorld>().unwrap()
}

#[test]
fn chunks_that_did_not_change_are_not_written() {
    let mut world = world();
    let all: Vec<_> = world.spawn_many(at(1.0, 0.0, 0.0), 1000).collect();
    update(&mut world);
    let before: Vec<_> = all.iter().map(|&entity| written(&world, entity)).collect();
    update(&mut world);
    assert!(all.iter().zip(&before).all(|(&entity, before)| written(&world, entity) == *before));
    world.get_mut::<Position>(all[0]).unwrap().0 = Vec3::Y;
    update(&mut world);
    assert_ne!(written(&world, all[0]), before[0]);
    assert_eq!(written(&world, all[999]), before[999]);
    assert_eq!(place(&world, all[0]), Vec3::Y);
}

#[test]
fn branches_that_did_not_move_are_not_written() {
    let mut world = world();
    // Two trees, each large enough to have its own chunks.
    let roots = [0.0, 1.0].map(|x| {
        let root = world.spawn(LocalTransform::from_position(Vec3::new(x, 0.0, 0.0)));
        let leaves = (LocalTransform::from_position(Vec3::Y), Parent(root));
        (root, world.spawn_many(leaves, 1000).collect::<Vec<_>>())
    });
    update(&mut world);
    let versions = |world: &World| {
        roots.each_ref().map(|(_, leaves)| (written(world, leaves[0]), written(world, leaves[999])))
    };
    let before = versions(&world);
    update(&mut world);
    assert_eq!(versions(&world), before);
    world.get_mut::<LocalTransform>(roots[1].0).unwrap().position = Vec3::Z;
    update(&mut world);
    let after = versions(&world);
    assert_eq!(after[0].0, before[0].0);
    assert_ne!(after[1].1, before[1].1);
    assert!(roots[1].1.iter().all(|&leaf| place(&world, leaf) == Vec3::new(0.0, 1.0, 1.0)));
    // A child that comes to one tree does not touch the other.
    let before = versions(&world);
    world.spawn((LocalTransform::IDENTITY, Parent(roots[1].0)));
    update(&mut world);
    assert_eq!(versions(&world)[0].0, before[0].0);
}

#[test]
fn a_copy_of_a_world_is_updated_independently() {
    let mut world = world();
    let root = world.spawn(at(1.0, 0.0, 0.0));
    let leaf = world.spawn((at(0.0, 1.0, 0.0), Parent(root)));
    update(&mut world);
    let mut fork = world.fork().unwrap();
    fork.get_mut::<Position>(root).unwrap().0 = Vec3::Z;
    update(&mut fork);
    update(&mut world);
    assert_eq!(place(&fork, leaf), Vec3::new(0.0, 1.0, 1.0));
    assert_eq!(place(&world, leaf), Vec3::new(1.0, 1.0, 0.0));
}

#[derive(Component, Clone, Copy)]
#[component(name = "changes::Large")]
struct Large(#[field(opaque)] [u8; 1024]);

#[test]
fn the_next_update_completes_a_failed_one() {
    let arena = ChunkArena::with_limit(512 * 1024);
    let mut world = World::with_settings("Simulation", WorldSettings::new().arena(arena.clone()));
    let root = world.spawn(at(1.0, 0.0, 0.0));
    let child = world.spawn((at(0.0, 1.0, 0.0), Parent(root)));
    let flat = world.spawn(at(0.0, 0.0, 1.0));
    update(&mut world);
    for entity in [root, flat] {
        world.get_mut::<Position>(entity).unwrap().0.x = 5.0;
    }
    // What is shared with it has to be copied to be written, and there is no memory for that.
    let fork = world.fork().unwrap();
    let mut other = World::with_settings("Other", WorldSettings::new().arena(arena.clone()));
    while other.try_spawn(Large([0; 1024])).is_ok() {}
    assert!(update_transforms(&mut world).is_err());
    drop((fork, other));
    update(&mut world);
    assert_eq!(place(&world, child), Vec3::new(5.0, 1.0, 0.0));
    assert_eq!(place(&world, flat), Vec3::new(5.0, 0.0, 1.0));
}

//! Fixtures of the tests.

use ancho_entities::{Entity, World};
use ancho_transforms::{Child, LocalToWorld, LocalTransform, Parent, Position, update_transforms};
use glam::{Mat4, Vec3};

pub(crate) fn world() -> World {
    World::new("Simulation")
}

/// Updates transforms, and expects no errors.
#[track_caller]
pub(crate) fn update(world: &mut World) {
    update_transforms(world).unwrap();
    world.check_invariants().unwrap();
}

#[track_caller]
pub(crate) fn matrix(world: &World, entity: Entity) -> Mat4 {
    world.get::<LocalToWorld>(entity).unwrap().0
}

#[track_caller]
pub(crate) fn place(world: &World, entity: Entity) -> Vec3 {
    world.get::<LocalToWorld>(entity).unwrap().position()
}

#[track_caller]
pub(crate) fn children(world: &World, entity: Entity) -> Vec<Entity> {
    world.buffer::<Child>(entity).unwrap().iter().map(|child| child.0).collect()
}

pub(crate) fn at(x: f32, y: f32, z: f32) -> Position {
    Position(Vec3::new(x, y, z))
}

/// Spawns a chain: the root, its child, and so on, each one step to the right of its parent.
pub(crate) fn chain(world: &mut World, length: usize) -> Vec<Entity> {
    let step = LocalTransform::from_position(Vec3::X);
    let mut chain = vec![world.spawn(step)];
    for _ in 1..length {
        let last = *chain.last().unwrap();
        chain.push(world.spawn((step, Parent(last))));
    }
    chain
}

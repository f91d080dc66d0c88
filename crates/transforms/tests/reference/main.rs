//! Transforms against a naive computation, and against numbers computed by hand.

mod attach;
mod combinations;
mod forest;
mod hierarchy;
mod in_systems;
mod lost;
mod moving;
mod naive;
mod not_finite;
mod numbers;
mod on_demand;
mod opting_out;
mod script;
mod shapes;
mod versions;

use ancho_entities::{Entity, World};
use ancho_transforms::{LocalToWorld, update_transforms};
use glam::Vec3;

/// Creates a world without systems, which tests update themselves.
fn world() -> World {
    World::new("reference")
}

/// Updates transforms, and expects no errors.
#[track_caller]
fn update(world: &mut World) {
    if let Err(errors) = update_transforms(world) {
        panic!("{errors}");
    }
}

/// Returns the world position of an entity.
#[track_caller]
fn position(world: &World, entity: Entity) -> Vec3 {
    world.get::<LocalToWorld>(entity).unwrap().position()
}

#[track_caller]
fn assert_at(world: &World, entity: Entity, wanted: [f32; 3]) {
    let found = position(world, entity);
    assert!(found.abs_diff_eq(Vec3::from(wanted), 1e-5), "at {found}, not at {wanted:?}");
}

//! The program that the project is for.

use ancho_burst::burst;
use ancho_entities::{Component, Query, Time, World};

#[derive(Component, Clone, Copy)]
struct Position(glam::Vec3);

#[derive(Component, Clone, Copy)]
struct Velocity(glam::Vec3);

/// Runs on every core, in the background.
#[burst]
fn drift(time: Time, mut movers: Query<(&mut Position, &Velocity)>) {
    let dt = time.delta();
    movers.schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * dt);
}

#[test]
fn a_function_with_a_query_and_a_job_is_a_system() {
    let mut world = World::new("Simulation");
    world.spawn_many((Position(glam::Vec3::ZERO), Velocity(glam::Vec3::X)), 5_000);
    world.add_system(drift);
    for _ in 0..60 {
        world.update(1.0 / 64.0);
    }
    let moved =
        world.query::<&Position>().iter().all(|position| (position.0.x - 60.0 / 64.0).abs() < 1e-4);
    assert!(moved);
}

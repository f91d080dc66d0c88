//! A program that uses nothing but the prelude.

use stack::prelude::*;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(Vec3);

#[derive(Component, Clone, Copy)]
struct Velocity(Vec3);

#[test]
fn a_program_of_the_prelude() {
    let mut world = World::new("Simulation");
    let ships: Vec<Entity> =
        world.spawn_many(1_000, (Position(Vec3::ZERO), Velocity(Vec3::X))).collect();
    world.query_mut::<(&mut Position, &Velocity)>().for_each(|(position, velocity)| {
        position.0 += velocity.0;
    });
    assert_eq!(world.get(ships[0]), Ok(&Position(Vec3::X)));
}

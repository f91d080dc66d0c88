//! A program that uses nothing but the prelude.

use stack::prelude::*;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(Vec3);

#[derive(Component, Clone, Copy)]
struct Velocity(Vec3);

/// Number of updates.
#[derive(Resource, Clone)]
struct Frames(u32);

#[burst]
fn drift(time: Time, mut movers: Query<(&mut Position, &Velocity)>) {
    let dt = time.delta();
    movers.schedule_parallel(move |(position, velocity)| position.0 += velocity.0 * dt);
}

fn count(mut frames: ResMut<Frames>) {
    frames.0 += 1;
}

#[test]
fn a_program_of_the_prelude() {
    let mut world = World::new("Simulation");
    let ships: Vec<Entity> =
        world.spawn_many((Position(Vec3::ZERO), Velocity(Vec3::X)), 1_000).collect();
    world.insert_resource(Frames(0));
    world.add_system(count.after(drift));
    world.add_system(drift);
    for _ in 0..4 {
        world.update(0.25);
    }
    assert_eq!(world.get(ships[0]), Ok(&Position(Vec3::X)));
    assert_eq!(world.resource::<Frames>().0, 4);
}

//! Systems that a world adds automatically (SY11), through the umbrella crate.

use stack::entities::{Bootstrap, bootstrap, system};
use stack::prelude::*;

#[derive(Resource, Default)]
#[resource(local)]
struct Runs(u32);

#[system]
fn count(mut runs: ResMut<Runs>) {
    runs.0 += 1;
}

#[bootstrap]
fn game(bootstrap: Bootstrap) -> World {
    let mut world = bootstrap.build();
    world.insert_resource(Runs::default());
    world
}

#[test]
fn a_world_finds_systems_by_itself() {
    let mut world = World::default_world();
    for _ in 0..3 {
        world.update(0.1);
    }
    assert_eq!(world.resource::<Runs>().0, 3);
}

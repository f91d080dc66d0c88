//! A sub-state starts at its default.

use ancho_entities::{States, World};

#[derive(States, Clone, Debug, PartialEq)]
enum Game {
    Running,
}

#[derive(States, Clone, Debug, Default, PartialEq)]
#[sub_state(of = Game::Running)]
struct Phase(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.add_state(Phase(1));
}

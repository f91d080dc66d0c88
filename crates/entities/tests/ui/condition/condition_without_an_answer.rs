//! A condition returns `bool`.

use ancho_entities::{IntoSystem, World};

fn holds() {}

fn main() {
    let mut world = World::new("Simulation");
    world.add_system((|| ()).run_if(holds));
}

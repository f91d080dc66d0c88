use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let world = World::new("Simulation");
    world.spawn(Health(20));
}

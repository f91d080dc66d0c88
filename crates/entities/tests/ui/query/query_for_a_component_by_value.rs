use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let world = World::new("Simulation");
    world.query::<Health>().count();
}

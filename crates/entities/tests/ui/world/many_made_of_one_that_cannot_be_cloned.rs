use ancho_entities::{Component, World};

#[derive(Component)]
struct Ticket(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn_many(10, Ticket(1));
}

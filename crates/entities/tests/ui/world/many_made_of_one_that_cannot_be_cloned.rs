use ancho_entities::{Component, World};

#[derive(Component)]
struct Ticket(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn_many(Ticket(1), 10);
}

use ancho_entities::{Component, EntityManager, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let world = World::new("Simulation");
    let entities: &EntityManager = &world;
    entities.spawn(Health(20));
}

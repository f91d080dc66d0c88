use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn_many(Health(20), 10);
    let chunk = world.chunks().next().unwrap();
    world.spawn_many(Health(20), 10);
    assert_eq!(chunk.len(), 10);
}

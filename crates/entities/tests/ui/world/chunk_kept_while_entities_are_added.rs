use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn_many(10, Health(20));
    let chunk = world.entities().chunks().next().unwrap();
    world.spawn_many(10, Health(20));
    assert_eq!(chunk.len(), 10);
}

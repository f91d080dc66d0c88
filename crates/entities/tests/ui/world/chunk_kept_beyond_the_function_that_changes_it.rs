use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn_many(Health(20), 10);
    let mut kept = Vec::new();
    world.for_each_chunk_mut(|chunk| kept.push(chunk));
}

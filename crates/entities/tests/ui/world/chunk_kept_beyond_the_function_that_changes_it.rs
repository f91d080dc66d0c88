use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn_many(10, Health(20));
    let mut kept = Vec::new();
    world.entities_mut().for_each_chunk_mut(|chunk| kept.push(chunk));
}

use ancho_entities::{Component, PerChunk, World};

#[derive(Component)]
struct Bounds([f32; 4]);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn(PerChunk::<Bounds>::new());
}

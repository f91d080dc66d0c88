use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn_many(Health(20), 10);
    world.for_each_chunk_mut(|mut chunk| {
        let one = chunk.slice_mut::<Health>().unwrap();
        let other = chunk.slice_mut::<Health>().unwrap();
        one[0].0 = other[0].0;
    });
}

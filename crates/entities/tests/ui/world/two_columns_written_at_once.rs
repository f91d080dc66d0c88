use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn_many(10, Health(20));
    world.entities_mut().for_each_chunk_mut(|mut chunk| {
        let one = chunk.slice_mut::<Health>().unwrap();
        let other = chunk.slice_mut::<Health>().unwrap();
        one[0].0 = other[0].0;
    });
}

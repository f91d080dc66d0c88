use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let new = world.spawn_many(10, Health(20));
    world.despawn_all();
    for orc in new {
        println!("{orc}");
    }
}

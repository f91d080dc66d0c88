use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let new = world.spawn_many(Health(20), 10);
    world.despawn_all();
    for orc in new {
        println!("{orc}");
    }
}

use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn(Health(20));
    let mut kept = Vec::new();
    world.query_mut::<&mut Health>().for_each_pair(|first, _| kept.push(first));
}

use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let orc = world.spawn(Health(20));
    let health = world.lookup::<&Health>();
    world.despawn(orc).unwrap();
    assert!(!health.has(orc));
}

use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let orc = world.spawn(Health(20));
    let health = world.get::<Health>(orc).unwrap();
    drop(world);
    assert_eq!(health.0, 20);
}

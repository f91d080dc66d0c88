use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let orc = world.spawn(Health(20));
    let read = world.get::<Health>(orc).unwrap();
    let written = world.get_mut::<Health>(orc).unwrap();
    written.0 = read.0 + 1;
}

use ancho_entities::{Component, EnabledRef, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let world = World::new("Simulation");
    world.query::<EnabledRef<Health>>().count();
}

use ancho_entities::{Component, Lookup, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let (health,) = world.split::<(Lookup<&mut Health>,)>();
    let _ = health.into_job();
}

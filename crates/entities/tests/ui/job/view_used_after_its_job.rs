use ancho_entities::{Component, Query, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let (mut health,) = world.split::<(Query<&mut Health>,)>();
    let _ = health.job().schedule(|health| health.0 += 1);
    health.for_each(|health| health.0 += 1);
}

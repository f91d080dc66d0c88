use ancho_entities::{Component, Query, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn(Health(20));
    let (mut health,) = world.split::<(Query<&mut Health>,)>();
    for first in health.iter_mut() {
        health.for_each(|second| first.0 += second.0);
    }
}

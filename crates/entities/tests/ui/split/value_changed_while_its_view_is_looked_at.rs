use ancho_entities::{Component, Query, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn(Health(20));
    let (mut health,) = world.split::<(Query<&mut Health>,)>();
    let looked = health.as_read_only();
    for first in looked.iter() {
        health.for_each(|second| second.0 += first.0);
    }
}

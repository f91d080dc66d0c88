use ancho_entities::{Component, Lookup, Query, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let orc = world.spawn(Health(20));
    let (health,) = world.split::<(Query<&mut Health>,)>();
    health.get(orc);
    let (health,) = world.split::<(Lookup<&mut Health>,)>();
    health.get(orc);
}

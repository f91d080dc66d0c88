use ancho_entities::{Component, Lookup, Query, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let (all, health) = world.split::<(Query<&Health>, Lookup<&Health>)>();
    let orc = world.spawn(Health(20));
    assert_eq!(all.count(), 1);
    assert!(health.has(orc));
}

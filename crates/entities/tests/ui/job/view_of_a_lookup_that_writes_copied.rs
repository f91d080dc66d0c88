use ancho_entities::{Component, Entity, Lookup, Query, World};

#[derive(Component)]
struct Health(u32);

#[derive(Component)]
struct Healer(Entity);

fn main() {
    let mut world = World::new("Simulation");
    let (healers, health) = world.split::<(Query<&Healer>, Lookup<&mut Health>)>();
    let _ = healers.job().with(health.into_job()).schedule(|healer, health| {
        let mut other = *health;
        let first = health.get_mut(healer.0).unwrap();
        let second = other.get_mut(healer.0).unwrap();
        std::mem::swap(first, second);
    });
}

use ancho_entities::{Component, Lookup, Query, World};

#[derive(Component)]
struct Health(u32);

#[derive(Component)]
struct Armour(u32);

fn main() {
    let mut world = World::new("Simulation");
    let orc = world.spawn((Health(20), Armour(3)));
    let (mut health, mut armour) = world.split::<(Query<&mut Health>, Lookup<&mut Armour>)>();
    let first = health.get_mut(orc).unwrap();
    let second = health.get_mut(orc).unwrap();
    std::mem::swap(first, second);
    let first = armour.get_mut(orc).unwrap();
    let second = armour.get_mut(orc).unwrap();
    std::mem::swap(first, second);
}

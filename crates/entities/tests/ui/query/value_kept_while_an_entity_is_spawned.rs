use ancho_entities::{Component, EntityQuery, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let query = EntityQuery::<&mut Health>::new();
    let health = query.write(&mut world).single().unwrap();
    world.spawn(Health(3));
    health.0 += 1;
}

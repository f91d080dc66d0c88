use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(Health(3));
    let health = world.get::<Health>(entity).unwrap();
    let _ = world.query_mut::<&mut Health>().schedule(|health| health.0 += 1);
    println!("{}", health.0);
}

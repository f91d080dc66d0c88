use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let mut sum = 0;
    let _ = world.query::<&Health>().schedule(|health| sum += health.0);
    let amount = 3;
    let _ = world.query_mut::<&mut Health>().schedule_parallel(|health| health.0 += amount);
}

use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let world = World::new("Simulation");
    let mut seen = Vec::new();
    let _ = world.query::<&Health>().schedule_parallel(move |health| seen.push(health.0));
}

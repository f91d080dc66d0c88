use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn heal(world: &World) {
    world.query::<&mut Health>().for_each(|health| health.0 += 1);
}

fn main() {
    heal(&World::new("Simulation"));
}

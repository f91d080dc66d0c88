use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn heal(world: &World) {
    for health in world.query::<&mut Health>() {
        health.0 += 1;
    }
}

fn main() {
    heal(&World::new("Simulation"));
}

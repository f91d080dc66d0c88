use ancho_entities::{Component, Query, World};

#[derive(Component)]
struct Health(u32);

fn count(health: Query<&Health>) -> usize {
    health.count()
}

fn main() {
    let mut world = World::new("Simulation");
    world.add_system(count);
    world.add_system(|| -> Result<u32, String> { Ok(1) });
}

use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.query_mut::<&mut Health>().for_each(|health| {
        world.spawn(Health(health.0));
    });
}

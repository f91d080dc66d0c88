use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let mut query = world.query_mut::<&mut Health>();
    let health = query.single_mut().unwrap();
    world.spawn(Health(3));
    health.0 += 1;
}

use ancho_entities::{Component, World, QueryDescriptor};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.batch(QueryDescriptor::of::<&Health, ()>()).for_each(|_, entity| {
        world.despawn(entity).unwrap();
    });
}

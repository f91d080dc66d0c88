use ancho_entities::{Component, QueryDescriptor, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let query = QueryDescriptor::of::<&mut Health, ()>();
    let health = query.write(&mut world).single().unwrap();
    world.spawn(Health(3));
    health.0 += 1;
}

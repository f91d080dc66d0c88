use ancho_entities::{Component, World};

#[derive(Component, Clone, Copy)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let health = vec![Health(20), Health(30)];
    world.spawn_columns((health,)).unwrap();
    assert_eq!(health.len(), 2);
}

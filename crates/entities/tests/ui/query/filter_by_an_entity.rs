use ancho_entities::{Entity, With, Without, World};

fn main() {
    let world = World::new("Simulation");
    _ = world.query_filtered::<(), With<Entity>>();
    _ = world.query_filtered::<(), Without<Entity>>();
}

use ancho_entities::{Entity, With, Without, World};

fn main() {
    let world = World::new("Simulation");
    _ = world.query::<()>().filter::<With<Entity>>();
    _ = world.query::<()>().filter::<Without<Entity>>();
}

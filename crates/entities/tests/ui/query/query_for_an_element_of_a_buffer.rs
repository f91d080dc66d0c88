use ancho_entities::{BufferElement, World};

#[derive(BufferElement)]
struct Waypoint(f32);

fn main() {
    let _ = World::new("Simulation").query::<&Waypoint>();
}

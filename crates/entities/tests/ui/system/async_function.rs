use ancho_entities::{Time, World};

async fn load(_time: Time) {}

fn main() {
    World::new("Simulation").add_system(load);
}

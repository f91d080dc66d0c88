use ancho_entities::{SharedComponent, World};

#[derive(SharedComponent, PartialEq, Eq, Hash)]
struct Team(u32);

fn main() {
    World::new("Simulation").spawn(Team(1));
}

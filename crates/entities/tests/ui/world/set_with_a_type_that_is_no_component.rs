use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

struct Armour(u32);

fn main() {
    World::new("Simulation").spawn((Health(20), Armour(3)));
}

use ancho_entities::{Component, Query, World};

#[derive(Component)]
struct Position(f32);

fn drift(all: &mut Query<&mut Position>) {
    all.for_each(|position| position.0 += 1.0);
}

fn main() {
    World::new("Simulation").add_system(drift);
}

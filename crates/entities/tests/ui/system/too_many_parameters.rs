use ancho_entities::{Time, World};

type T = Time;

fn many(_: T, _: T, _: T, _: T, _: T, _: T, _: T, _: T, _: T, _: T, _: T, _: T, _: T, _: T, _: T, _: T, _: T) {}

fn main() {
    World::new("Simulation").add_system(many);
}

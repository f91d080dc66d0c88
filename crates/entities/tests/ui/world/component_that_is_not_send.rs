use std::rc::Rc;

use ancho_entities::{Component, World};

#[derive(Component)]
struct Shared<T> {
    #[field(opaque)]
    data: T,
}

fn main() {
    let mut world = World::new("Simulation");
    world.spawn(Shared { data: Rc::new(1) });
}

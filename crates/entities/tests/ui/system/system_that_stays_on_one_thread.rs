//! A world can be sent to another thread, and its systems with it.

use std::rc::Rc;

use ancho_entities::World;

fn main() {
    let mut world = World::new("Simulation");
    let count = Rc::new(1);
    world.add_system(move || assert_eq!(*count, 1));
}

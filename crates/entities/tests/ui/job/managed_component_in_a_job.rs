use std::cell::Cell;

use ancho_entities::{Managed, ManagedComponent, World};

#[derive(ManagedComponent)]
struct Script(#[field(opaque)] Cell<u32>);

fn main() {
    let mut world = World::new("Simulation");
    let _ = world.query_mut::<&Managed<Script>>().schedule(|script| script.0.set(1));
}

use std::cell::Cell;
use std::thread;

use ancho_entities::{Managed, ManagedComponent, World};

#[derive(ManagedComponent)]
struct Calls(#[field(opaque)] Cell<u32>);

fn main() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(Managed::new(Calls(Cell::new(0))));
    let calls = world.managed::<Calls>(entity).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || calls.0.set(1));
        calls.0.set(2);
    });
}

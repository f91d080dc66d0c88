use std::cell::Cell;
use std::thread;

use ancho_entities::Managed;

fn main() {
    let managed = Managed::new(Cell::new(0));
    let shared = &managed;
    thread::scope(|scope| {
        scope.spawn(|| shared.get_mut().set(1));
    });
}

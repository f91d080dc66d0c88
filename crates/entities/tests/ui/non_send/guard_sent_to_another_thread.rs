//! A guard of a non-send value stays on its thread, even if the value itself could be sent.

use std::thread;

use ancho_entities::World;

fn main() {
    let mut world = World::new("Game");
    world.insert_non_send(1_u32);
    world.insert_non_send(1_u64);
    thread::scope(|threads| {
        let guard = world.non_send::<u32>();
        threads.spawn(move || assert_eq!(*guard, 1));
    });
    thread::scope(|threads| {
        let mut guard = world.non_send_mut::<u64>();
        threads.spawn(move || *guard += 1);
    });
}

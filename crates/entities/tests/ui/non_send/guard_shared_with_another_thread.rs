//! A reference to a guard of a non-send value stays on its thread.

use std::thread;

use ancho_entities::World;

fn main() {
    let mut world = World::new("Game");
    world.insert_non_send(1_u32);
    world.insert_non_send(1_u64);
    let guard = world.non_send::<u32>();
    thread::scope(|threads| {
        threads.spawn(|| assert_eq!(*guard, 1));
    });
    drop(guard);
    let guard = world.non_send_mut::<u64>();
    thread::scope(|threads| {
        threads.spawn(|| assert_eq!(*guard, 1));
    });
}

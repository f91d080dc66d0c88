//! While a guard exists, the world does not lend the value again mutably, does not remove it, and is not moved.

use std::thread;

use ancho_entities::World;

fn lent_twice(world: &mut World) {
    let _read = world.non_send::<u32>();
    let _written = world.non_send_mut::<u32>();
}

fn removed(world: &mut World) {
    let _read = world.non_send::<u32>();
    world.remove_non_send::<u32>();
}

fn sent(mut world: World) {
    let _written = world.non_send_mut::<u32>();
    thread::spawn(move || drop(world));
}

fn main() {}

use std::sync::{Arc, Mutex};

use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let kept: Arc<Mutex<Vec<&'static mut Health>>> = Arc::default();
    let list = kept.clone();
    let _ = world.query_mut::<&mut Health>().schedule(move |health| list.lock().unwrap().push(health));
    world.spawn(Health(3));
    kept.lock().unwrap()[0].0 = 1;
}

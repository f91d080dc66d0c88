use std::rc::Rc;

use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let amount = Rc::new(3);
    let _ = world.query_mut::<&mut Health>().schedule(move |health| health.0 += *amount);
}

//! A value that is not `Send` is not a resource, which is sent with its world. `insert_non_send` stores it instead.

use std::rc::Rc;

use ancho_entities::{Res, Resource, World};

#[derive(Resource)]
#[resource(local)]
struct Window(Rc<str>);

fn main() {
    let mut world = World::new("Game");
    world.insert_resource(Window("Orcs".into()));
    world.add_system(|_: Res<Window>| {});
}

use std::rc::Rc;

use ancho_entities::{Res, Resource};

#[derive(Resource)]
#[resource(local)]
struct Device(Rc<u32>);

fn play(_: Res<Device>) {}

fn main() {}

use std::rc::Rc;

use ancho_entities::Res;

struct Device(Rc<u32>);

fn play(_: Res<Device>) {}

fn main() {}

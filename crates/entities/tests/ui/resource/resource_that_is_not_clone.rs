//! A fork copies a state resource.

use ancho_entities::Resource;

#[derive(Resource)]
struct Score(u32);

fn main() {}

//! Forks on other threads share a state resource, so all its fields are `Sync`.

use std::cell::Cell;

use ancho_entities::Resource;

#[derive(Resource, Clone)]
struct Score {
    #[field(opaque)]
    points: Cell<u32>,
}

fn main() {}

use ancho_entities::{EntityRemap, Field, Shape, StateHasher};

struct Position {
    x: bool,
}

impl Field for Position {
    const SHAPE: &'static Shape = u8::SHAPE;

    fn hash_state(&self, _: &mut StateHasher) {}

    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

fn main() {}

use ancho_entities::{Component, Query};

#[derive(Component)]
struct Position(f32);

fn print(_: Query<Position>) {}

fn main() {}

use ancho_entities::{Component, Query};

#[derive(Component)]
struct Position(f32);

#[derive(Component)]
struct Player;

fn print(_: Query<&Position, Player>) {}

fn main() {}

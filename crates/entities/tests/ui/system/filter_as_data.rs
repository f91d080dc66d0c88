use ancho_entities::{Component, Query, With};

#[derive(Component)]
struct Position(f32);

#[derive(Component)]
struct Player;

fn print(_: Query<(&Position, With<Player>)>) {}

fn main() {}

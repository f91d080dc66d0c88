use ancho_entities::{Component, Query};

#[derive(Component)]
struct Position(f32);

struct Velocity(f32);

fn drift(_: Query<(&mut Position, &Velocity)>) {}

fn main() {}

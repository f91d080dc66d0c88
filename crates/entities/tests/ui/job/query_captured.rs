use ancho_entities::{Component, Query};

#[derive(Component)]
struct Position(f32);

#[derive(Component)]
struct Magnet(f32);

fn attract(mut iron: Query<&mut Position>, magnets: Query<&Magnet>) {
    iron.schedule_parallel(move |position| position.0 += magnets.count() as f32);
}

fn main() {}

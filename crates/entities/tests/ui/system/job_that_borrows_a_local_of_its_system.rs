//! A job goes on when the system has returned.

use ancho_entities::{Component, Query, Time};

#[derive(Component)]
struct Position(f32);

fn drift(time: Time, mut movers: Query<&mut Position>) {
    let dt = time.delta();
    movers.schedule_parallel(|position| position.0 += dt);
}

fn main() {}

use ancho_entities::{Component, Query, Time, World};

#[derive(Component)]
struct Position(f32);

struct Params<'w> {
    time: Time,
    all: Query<'w, &'static mut Position>,
}

fn drift(mut params: Params) {
    let dt = params.time.delta();
    params.all.for_each(|position| position.0 += dt);
}

fn main() {
    World::new("Simulation").add_system(drift);
}

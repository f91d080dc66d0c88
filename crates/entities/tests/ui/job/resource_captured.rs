use ancho_entities::{Component, Query, Res, Resource};

#[derive(Component)]
struct Velocity(f32);

#[derive(Resource, Clone)]
struct Gravity(f32);

fn fall(mut all: Query<&mut Velocity>, gravity: Res<Gravity>) {
    all.schedule_parallel(move |velocity| velocity.0 -= gravity.0);
}

fn main() {}

use ancho_entities::{Component, Entity, Lookup, Query};

#[derive(Component)]
struct Position(f32);

#[derive(Component)]
struct Follow(Entity);

fn follow(mut followers: Query<&Follow>, positions: Lookup<&Position>) {
    followers.schedule_parallel(move |follow| assert!(positions.has(follow.0)));
}

fn main() {}

use ancho_entities::{Component, Entity, Lookup, Query};

#[derive(Component)]
struct Position(f32);

fn follow(followers: Query<Entity>, positions: Lookup<&Position>) {
    let _ = followers.job().with(positions);
}

fn main() {}

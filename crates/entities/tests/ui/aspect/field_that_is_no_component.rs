use ancho_entities::{Aspect, Component};

#[derive(Component)]
struct Health(u32);

#[derive(Aspect)]
struct Wounded<'w> {
    health: &'w mut Health,
    speed: u32,
}

fn main() {}

use ancho_entities::{Aspect, Component};

#[derive(Component)]
struct Health(u32);

#[derive(Aspect)]
struct Wounded<'a, 'b> {
    health: &'a mut Health,
    other: &'b Health,
}

fn main() {}

use ancho_entities::{Aspect, Component};

#[derive(Component)]
struct Health(u32);

#[derive(Aspect)]
enum Wounded<'w> {
    Badly { health: &'w mut Health },
}

fn main() {}

use ancho_entities::{Aspect, Component};

#[derive(Component)]
struct Health(u32);

#[derive(Aspect)]
#[aspect(shared)]
struct Wounded<'w> {
    health: &'w mut Health,
}

#[derive(Aspect)]
struct Healed<'w> {
    #[aspect(optional)]
    health: &'w mut Health,
}

fn main() {}

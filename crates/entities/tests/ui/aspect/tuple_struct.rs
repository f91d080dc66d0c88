use ancho_entities::{Aspect, Component};

#[derive(Component)]
struct Health(u32);

#[derive(Aspect)]
struct Wounded<'w>(&'w mut Health);

#[derive(Aspect)]
struct Unit;

fn main() {}

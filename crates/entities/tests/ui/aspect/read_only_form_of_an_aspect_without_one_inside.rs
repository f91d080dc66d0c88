use ancho_entities::{Aspect, Component};

#[derive(Component)]
struct Health(u32);

#[derive(Aspect)]
struct Inner<'w> {
    health: &'w mut Health,
}

#[derive(Aspect)]
#[aspect(read_only = OuterView)]
struct Outer<'w> {
    inner: Inner<'w>,
}

fn main() {}

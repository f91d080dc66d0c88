use ancho_entities::{Component, World};

#[derive(Component)]
struct Borrowed<T> {
    #[field(opaque)]
    data: T,
}

fn main() {
    let mut world = World::new("Simulation");
    let text = String::from("gone before the world");
    world.spawn(Borrowed { data: text.as_str() });
}

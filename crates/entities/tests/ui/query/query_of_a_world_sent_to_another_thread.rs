use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let world = World::new("Simulation");
    let query = world.query::<&Health>();
    std::thread::scope(|scope| {
        scope.spawn(move || query.count());
    });
}

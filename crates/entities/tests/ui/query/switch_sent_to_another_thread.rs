use ancho_entities::{Component, EnabledMut, World};

#[derive(Component)]
#[component(enableable)]
struct Engine;

fn main() {
    let mut world = World::new("Simulation");
    let mut engine = world.query_mut::<EnabledMut<Engine>>().single_mut().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || engine.set(false));
    });
}

use ancho_entities::{Managed, ManagedComponent, World};

#[derive(ManagedComponent)]
struct Script(String);

fn main() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(Managed::new(Script(String::new())));
    let script = world.managed::<Script>(entity).unwrap();
    world.despawn(entity).unwrap();
    assert_eq!(script.0, "");
}

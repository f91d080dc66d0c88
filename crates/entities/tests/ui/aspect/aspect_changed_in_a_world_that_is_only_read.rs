use ancho_entities::{Aspect, Component, World};

#[derive(Component)]
struct Health(u32);

#[derive(Aspect)]
struct Wounded<'w> {
    health: &'w mut Health,
}

fn main() {
    let world = World::new("Simulation");
    world.query::<Wounded>().for_each(|wounded| wounded.health.0 += 1);
}

use ancho_entities::{Aspect, Component, World};

#[derive(Component)]
struct Health(u32);

#[derive(Aspect)]
struct Wounded {
    health: &'static mut Health,
}

#[derive(Aspect)]
struct Borrowed<'w> {
    health: &'w mut Health,
}

fn main() {
    let mut world = World::new("Simulation");
    world.spawn(Health(20));
    let kept = world.query_mut::<Borrowed>().single_mut().unwrap();
    world.spawn(Health(20));
    kept.health.0 += 1;
}

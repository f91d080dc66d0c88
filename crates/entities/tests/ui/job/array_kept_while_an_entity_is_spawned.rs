use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let all = world.query::<&Health>().job().into_array();
    world.spawn(Health(3));
    let jobs = all.jobs();
    let _ = jobs.schedule_for_each(&[], all, 1, 1, |_, _| {});
}

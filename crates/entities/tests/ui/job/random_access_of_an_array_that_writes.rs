use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let all = world.query_mut::<&mut Health>().job().into_array();
    let jobs = all.jobs();
    let _ = jobs.schedule_parallel(&[], all, 2, 1, |mut all, _| {
        let (one, two) = (all.get(0), all.get(0));
        std::mem::swap(one, two);
    });
}

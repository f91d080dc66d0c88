use ancho_entities::{Component, Query, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let (mut all,) = world.split::<(Query<&mut Health>,)>();
    let first = all.iter_mut().next().unwrap();
    let _ = all.job().schedule(|health| health.0 += 1);
    first.0 = 3;
}

use ancho_entities::{Component, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let mut kept: &[Health] = &[];
    world.query::<&Health>().for_each_chunk_inner(|all| kept = all);
    let _ = world.query_mut::<&mut Health>().schedule(|health| health.0 += 1);
    println!("{}", kept.len());
}

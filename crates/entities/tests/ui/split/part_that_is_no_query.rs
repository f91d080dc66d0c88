use ancho_entities::{Component, Query, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    let (_, _) = world.split::<(Query<&Health>, &mut Health)>();
}

use ancho_entities::{Component, Entity, World};

#[derive(Component)]
struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    for (entity, health) in world.query::<(Entity, &Health)>() {
        if health.0 == 0 {
            world.despawn(entity).unwrap();
        }
    }
}

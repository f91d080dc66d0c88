use ancho_entities::{Entity, Lookup, Query, World};

fn main() {
    let mut world = World::new("Simulation");
    let (all, some) = world.split::<(Query<Entity>, Lookup<Entity>)>();
    std::thread::scope(|scope| {
        scope.spawn(move || all.count());
        scope.spawn(move || some.has(Entity::NULL));
    });
}

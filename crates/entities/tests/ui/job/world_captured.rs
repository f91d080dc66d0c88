use ancho_entities::{Component, Entity, World};

#[derive(Component)]
struct Target(Entity);

fn check(world: &World) {
    world.query::<&Target>().job().schedule_parallel(move |target| assert!(world.exists(target.0)));
}

fn main() {}

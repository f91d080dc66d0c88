//! A view is of one run of its system: the next has another, of a world that has changed.

use ancho_entities::{Component, Local, Query, World};

#[derive(Component)]
struct Health(u32);

fn keep<'w>(health: Query<'w, &'w Health>, mut kept: Local<Option<&'static Health>>) {
    *kept = health.iter().next();
}

fn keep_all(health: Query<&Health>, mut kept: Local<Option<Query<'static, &'static Health>>>) {
    *kept = Some(health);
}

fn main() {
    let mut world = World::new("Simulation");
    world.add_system(keep_all);
}

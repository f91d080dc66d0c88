//! A condition changes nothing and has no memory.

#![allow(unused_imports, dead_code, reason = "each of these tests uses some of the items")]

use ancho_entities::{Commands, Component, IntoSystem, Local, Query, ResMut, Resource, World};

#[derive(Component)]
struct Health(u32);

#[derive(Resource, Clone)]
struct Score(u32);

fn holds(_: Local<u32>) -> bool {
    true
}

fn main() {
    let mut world = World::new("Simulation");
    world.add_system((|| ()).run_if(holds));
}

//! The source of a relationship cannot be borrowed mutably, in queries, lookups, jobs and by entity.

use ancho_entities::{BufferElement, Component, Entity, Lookup, Query, TrackedMut, World};

#[derive(Component, Clone, Copy)]
#[relationship(reverse = Cargo)]
struct CarriedBy(Entity);

#[derive(BufferElement, Clone, Copy)]
#[buffer(reverse_of = CarriedBy)]
struct Cargo(Entity);

fn query(_: Query<&mut CarriedBy>) {}

fn tracked(_: Query<TrackedMut<CarriedBy>>) {}

fn lookup(_: Lookup<&mut CarriedBy>) {}

fn main() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(());
    let _ = world.get_mut::<CarriedBy>(entity);
    world.query_mut::<&mut CarriedBy>();
}

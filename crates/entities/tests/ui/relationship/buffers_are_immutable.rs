//! The buffer of a target cannot be borrowed mutably, in queries, lookups, commands and by entity.

use ancho_entities::{
    Buffer, BufferElement, Commands, Component, Entity, Lookup, Query, World,
};

#[derive(Component, Clone, Copy)]
#[relationship(reverse = Cargo)]
struct CarriedBy(Entity);

#[derive(BufferElement, Clone, Copy)]
#[buffer(reverse_of = CarriedBy)]
struct Cargo(Entity);

fn query(_: Query<&mut Buffer<Cargo>>) {}

fn lookup(_: Lookup<&mut Buffer<Cargo>>) {}

fn commands(mut commands: Commands) {
    commands.append(Entity::NULL, Cargo(Entity::NULL));
}

fn main() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(());
    let _ = world.buffer_mut::<Cargo>(entity);
    let _ = world.add_buffer::<Cargo>(entity);
}

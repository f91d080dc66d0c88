//! A relationship has one field, a reverse, and options that do not contradict each other.

use ancho_entities::{BufferElement, Component, Entity};

#[derive(Component, Clone, Copy)]
#[relationship(ordered)]
struct WithoutReverse(Entity);

#[derive(Component, Clone, Copy)]
#[relationship(reverse = Cargo, on_target_despawn = keep)]
struct Keep(Entity);

#[derive(Component, Clone, Copy)]
#[relationship(reverse = Cargo, sorted)]
struct Sorted(Entity);

#[derive(Component, Clone, Copy)]
#[relationship(reverse = Cargo, acyclic, allow_self)]
struct Contradiction(Entity);

#[derive(Component, Clone, Copy)]
#[relationship(reverse = Cargo)]
struct TwoFields(Entity, u32);

#[derive(BufferElement, Clone, Copy)]
#[buffer(reverse_of = TwoFields)]
struct Cargo(Entity, u32);

fn main() {}

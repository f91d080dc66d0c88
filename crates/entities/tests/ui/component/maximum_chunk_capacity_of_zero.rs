use ancho_entities::{BufferElement, Component, SharedComponent};

#[derive(Component)]
#[component(maximum_chunk_capacity = 0)]
struct Position(f32);

#[derive(BufferElement)]
#[buffer(maximum_chunk_capacity = 0)]
struct Item(u32);

#[derive(SharedComponent, PartialEq, Eq, Hash)]
#[shared(maximum_chunk_capacity = 0)]
struct Team(u32);

#[derive(Component)]
#[component(maximum_chunk_capacity = 8, maximum_chunk_capacity = 4)]
struct Force(f32);

#[derive(Component)]
#[component(maximum_chunk_capacity = "8")]
struct Velocity(f32);

fn main() {}

use ancho_entities::{Entity, SharedComponent};

#[derive(SharedComponent, PartialEq, Eq, Hash)]
struct Owner(Entity);

fn main() {}

use ancho_entities::{Query, Shared, SharedComponent};

#[derive(SharedComponent, PartialEq, Eq, Hash)]
struct Team(u32);

fn change(_: Query<&mut Shared<Team>>) {}

fn main() {}

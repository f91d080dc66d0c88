use ancho_entities::{Shared, SharedComponent, World};

#[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
struct Team(u32);

fn main() {
    let mut world = World::new("Simulation");
    let ant = world.spawn(Shared::new(Team(1)));
    let team: &Team = world.shared(ant).unwrap();
    world.despawn(ant).unwrap();
    println!("{team:?}");
}

use ancho_entities::World;

fn main() {
    let mut world = World::new("Simulation");
    let (one, other) = (world.spawn(()), world.spawn(()));
    world.add(one, other).unwrap();
}

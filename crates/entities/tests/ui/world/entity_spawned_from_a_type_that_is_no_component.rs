use ancho_entities::World;

struct Health(u32);

fn main() {
    let mut world = World::new("Simulation");
    world.spawn(Health(20));
}

use ancho_entities::World;

struct Clock {
    seconds: f64,
}

fn main() {
    let mut world = World::new("Simulation");
    world.add_system(Clock { seconds: 0.0 });
}

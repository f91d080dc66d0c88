//! A world may outlive what its systems would borrow.

use ancho_entities::World;

fn main() {
    let mut world = World::new("Simulation");
    let mut count = 0;
    world.add_system(|| count += 1);
    world.update(0.1);
}

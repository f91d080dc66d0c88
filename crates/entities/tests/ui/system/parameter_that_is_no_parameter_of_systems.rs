use ancho_entities::{Component, IntoSystem, World};

#[derive(Component)]
struct Health(u32);

fn hurt(health: &mut Health, amount: u32) {
    health.0 -= amount;
}

fn main() {
    let mut world = World::new("Simulation");
    world.add_system(hurt);
    world.add_system((|amount: u32| assert!(amount > 0)).named("check"));
}

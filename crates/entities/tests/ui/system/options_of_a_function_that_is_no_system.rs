use ancho_entities::{Component, FixedStep, IntoSystem, World};

#[derive(Component)]
struct Health(u32);

fn hurt(health: &mut Health) {
    health.0 -= 1;
}

fn count() -> usize {
    1
}

struct Clock;

fn main() {
    let mut world = World::new("Simulation");
    world.add_system(hurt.in_group(FixedStep));
    world.add_system(count.before(hurt));
    world.add_system(Clock.named("clock"));
}

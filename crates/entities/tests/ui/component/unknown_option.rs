use ancho_entities::Component;

#[derive(Component)]
#[component(storage = "sparse")]
struct Position(f32);

#[derive(Component)]
#[component(name = "")]
struct Velocity(f32);

#[derive(Component)]
#[component(name = "a", name = "b")]
struct Force(f32);

fn main() {}

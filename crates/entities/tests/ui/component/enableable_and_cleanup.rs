use ancho_entities::Component;

#[derive(Component)]
#[component(enableable, cleanup)]
struct Handle(u32);

fn main() {}

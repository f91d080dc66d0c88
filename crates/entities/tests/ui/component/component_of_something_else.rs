use ancho_entities::Component;

struct Handle(u32);

#[derive(Component, Clone, Default)]
struct Aim {
    handle: Handle,
}

fn main() {}

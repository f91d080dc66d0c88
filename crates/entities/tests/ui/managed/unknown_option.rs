use ancho_entities::ManagedComponent;

#[derive(ManagedComponent)]
#[managed(inline = 4)]
struct Script(String);

fn main() {}

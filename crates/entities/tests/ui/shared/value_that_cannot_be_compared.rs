use ancho_entities::SharedComponent;

#[derive(SharedComponent)]
struct Team(u32);

fn main() {}

use ancho_entities::Field;

#[derive(Field)]
struct Position {
    #[field(hidden)]
    x: f32,
}

#[derive(Field)]
#[field(opaque, name = "Velocity")]
struct Velocity {
    x: f32,
}

fn main() {}

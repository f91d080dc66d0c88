use ancho_entities::system;

#[system]
enum Drift {
    Slow,
}

fn main() {}

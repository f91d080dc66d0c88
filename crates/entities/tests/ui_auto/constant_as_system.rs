use ancho_entities::system;

#[system]
const SPEED: f32 = 1.0;

#[system]
impl Drift {
    fn update() {}
}

struct Drift;

fn main() {}

use ancho_entities::system;

#[system]
fn drift(speed: f32) {
    assert!(speed > 0.0);
}

fn main() {}

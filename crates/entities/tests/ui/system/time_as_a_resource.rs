use ancho_entities::{Res, Time};

fn drift(time: Res<Time>) {
    assert!(time.delta() > 0.0);
}

fn main() {}

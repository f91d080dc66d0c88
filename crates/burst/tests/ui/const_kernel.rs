use ancho_burst::burst;

#[burst]
const fn kernel(value: f32) -> f32 {
    value
}

fn main() {}

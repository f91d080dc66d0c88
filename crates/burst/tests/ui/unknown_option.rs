use ancho_burst::burst;

#[burst(fast)]
fn kernel(value: f32) -> f32 {
    value
}

fn main() {}

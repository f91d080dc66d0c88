use ancho_burst::burst;

#[burst(inline, closures)]
fn kernel(value: f32) -> f32 {
    value
}

fn main() {}

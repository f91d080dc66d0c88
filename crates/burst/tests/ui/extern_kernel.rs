use ancho_burst::burst;

#[burst]
extern "C" fn kernel(value: f32) -> f32 {
    value
}

fn main() {}

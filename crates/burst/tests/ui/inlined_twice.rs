use ancho_burst::burst;

#[burst(inline)]
#[inline(never)]
fn helper(value: f32) -> f32 {
    value
}

fn main() {}

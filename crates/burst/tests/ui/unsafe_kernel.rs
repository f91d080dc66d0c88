#![expect(unsafe_code, reason = "the qualifier that is refused")]

use ancho_burst::burst;

#[burst]
unsafe fn kernel(value: f32) -> f32 {
    value
}

fn main() {}

use ancho_burst::burst;

#[burst]
struct Kernel;

fn main() {}

use ancho_entities::system;

#[system(group = "Simulation")]
fn drift() {}

fn main() {}

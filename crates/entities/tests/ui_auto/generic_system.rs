use ancho_entities::system;

#[system]
fn drift<T>() {}

fn main() {}

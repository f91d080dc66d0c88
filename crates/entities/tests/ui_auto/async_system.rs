use ancho_entities::system;

#[system]
async fn drift() {}

fn main() {}

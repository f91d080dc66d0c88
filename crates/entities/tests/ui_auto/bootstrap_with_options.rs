use ancho_entities::{Bootstrap, World, bootstrap};

#[bootstrap(first)]
fn game(bootstrap: Bootstrap) -> World {
    bootstrap.build()
}

fn main() {}

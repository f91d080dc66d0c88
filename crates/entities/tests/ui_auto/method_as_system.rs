use ancho_entities::system;

struct Ship;

impl Ship {
    #[system]
    fn drift(&self) {}
}

fn main() {}

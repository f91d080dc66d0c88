use std::rc::Rc;

use ancho_entities::Component;

#[derive(Component)]
struct Shared {
    #[field(opaque)]
    data: Rc<u32>,
}

fn main() {}

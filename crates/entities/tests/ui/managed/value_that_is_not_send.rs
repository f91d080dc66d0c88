use std::rc::Rc;

use ancho_entities::ManagedComponent;

#[derive(ManagedComponent)]
struct Counted(#[field(opaque)] Rc<u32>);

fn main() {}

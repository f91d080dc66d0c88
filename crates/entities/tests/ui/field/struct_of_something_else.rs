use std::collections::HashMap;
use std::sync::Arc;

use ancho_entities::Field;

struct Handle(u32);

#[derive(Field)]
struct Aim {
    handle: Handle,
    names: HashMap<u32, String>,
}

#[derive(Field)]
enum Shared {
    Text(Arc<String>),
}

fn main() {}

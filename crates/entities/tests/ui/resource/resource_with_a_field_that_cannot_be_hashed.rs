//! All fields of a state resource can be hashed. The error names the field, and the way to opt out.

use std::collections::HashMap;

use ancho_entities::Resource;

#[derive(Resource, Clone)]
struct Scores {
    best: u32,
    all: HashMap<u32, u32>,
}

fn main() {}

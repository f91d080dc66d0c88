//! Each field of a struct of parameters is a parameter.

use ancho_entities::{Component, Query, SystemParam};

#[derive(Component)]
struct Health(u32);

#[derive(SystemParam)]
struct Combat<'w> {
    units: Query<'w, &'static Health>,
    rounds: u32,
}

fn main() {}

//! The lifetimes of a struct of parameters have names that say what they borrow.

use ancho_entities::{Component, Query, SystemParam};

#[derive(Component)]
struct Health(u32);

#[derive(SystemParam)]
struct Combat<'a> {
    units: Query<'a, &'static Health>,
}

fn main() {}

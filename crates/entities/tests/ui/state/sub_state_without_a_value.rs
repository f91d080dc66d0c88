//! A sub-state names the value of its parent.

use ancho_entities::States;

#[derive(States, Clone, Debug, Default, PartialEq)]
#[sub_state]
struct Phase(u32);

fn main() {}

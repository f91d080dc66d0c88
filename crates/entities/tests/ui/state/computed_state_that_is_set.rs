//! A computed state is a function of other states.

use ancho_entities::{ComputedState, NextState, States, World};

#[derive(States, Clone, Debug, PartialEq)]
struct Level(u32);

#[derive(States, Clone, Debug, PartialEq)]
#[computed_state]
struct InLevel;

impl ComputedState for InLevel {
    type Sources = Level;

    fn compute(level: Option<&Level>) -> Option<Self> {
        level.map(|_| Self)
    }
}

fn main() {
    let mut world = World::new("Simulation");
    world.set_state(InLevel);
    world.add_system(|mut next: NextState<InLevel>| next.set(InLevel));
}

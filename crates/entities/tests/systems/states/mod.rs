//! States: transitions, sub-states, computed states, and components that despawn.

mod computed;
mod despawn;
mod failures;
mod replay;
mod steps;
mod sub_states;
mod transitions;

use ancho_entities::{States, World};

use crate::common::{self, take};

#[derive(States, Clone, Debug, PartialEq)]
#[state(name = "Game")]
pub(crate) enum Game {
    Menu,
    Running,
    Over(u32),
}

#[derive(States, Clone, Debug, Default, PartialEq)]
#[sub_state(of = Game::Running)]
#[state(name = "Phase")]
pub(crate) enum Phase {
    #[default]
    Day,
    Night,
}

/// Creates a world with a log and a state.
pub(crate) fn world() -> World {
    let mut world = common::world();
    world.add_state(Game::Menu);
    world
}

/// Updates the world, and returns the lines that systems logged.
pub(crate) fn update(world: &mut World) -> Vec<String> {
    world.update(0.25);
    take(world)
}

//! Run conditions, sets of systems and chains.

mod chains;
mod combined;
mod failures;
mod groups;
mod sets;
mod start_and_stop;
mod supplied;

use ancho_entities::{Res, Resource, World};

use crate::common::{self, take};

/// A number that conditions compare.
#[derive(Resource, Clone, Default)]
pub(crate) struct Level(pub(crate) u32);

/// Creates a world with a log and a level.
pub(crate) fn world() -> World {
    let mut world = common::world();
    world.insert_resource(Level(0));
    world
}

pub(crate) fn is_positive(level: Res<'_, Level>) -> bool {
    level.0 > 0
}

/// Updates the world, and returns the lines that systems logged.
pub(crate) fn update(world: &mut World) -> Vec<String> {
    world.update(0.25);
    take(world)
}

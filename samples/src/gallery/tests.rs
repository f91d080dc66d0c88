//! What the tests of samples begin with.

use ancho::prelude::*;

use super::{Kind, Options, STEP, Sample, WorldSample, same_hash_in_all_cases};

/// So many entities, seed 1, and a worker.
pub(crate) fn options(entities: usize) -> Options {
    Options { entities, seed: 1, pool: JobPool::builder().workers(1).build().unwrap() }
}

/// The world of a sample after so many frames.
pub(crate) fn run(sample: &Sample, options: &Options, frames: u32) -> World {
    let mut world = (world_sample(sample).build)(options).unwrap();
    go_on(&mut world, frames);
    world
}

/// Updates a world so many times.
pub(crate) fn go_on(world: &mut World, frames: u32) {
    for _ in 0..frames {
        world.try_update(STEP).unwrap();
    }
    world.complete_jobs();
}

/// The state hash after so many frames, which must be the same on any number of workers and at every CPU level.
pub(crate) fn hash(sample: &Sample, entities: usize, frames: u32) -> u64 {
    same_hash_in_all_cases(world_sample(sample), entities, frames).unwrap()
}

fn world_sample(sample: &Sample) -> &WorldSample {
    match &sample.kind {
        Kind::World(world) => world,
        Kind::Jobs(_) => panic!("`{}` has no world", sample.name),
    }
}

//! Helpers for the tests of samples, and tests that apply to all of their worlds.

use ancho::prelude::*;

use super::{Canvas, Kind, Options, STEP, Sample, WorldSample, same_hash_in_all_cases};
use crate::samples::SAMPLES;

/// Returns options with this number of entities, seed 1 and one worker.
pub(crate) fn options(entities: usize) -> Options {
    Options { entities, seed: 1, pool: JobPool::builder().workers(1).build().unwrap() }
}

/// Returns the world of a sample after `frames` frames.
pub(crate) fn run(sample: &Sample, options: &Options, frames: u32) -> World {
    let mut world = world_sample(sample).world(options).unwrap();
    go_on(&mut world, frames);
    world
}

/// Updates a world `frames` times.
pub(crate) fn go_on(world: &mut World, frames: u32) {
    for _ in 0..frames {
        world.try_update(STEP).unwrap();
    }
    world.complete_jobs();
}

/// Returns the state hash after `frames` frames, which must be the same on any number of workers and at every CPU
/// level.
pub(crate) fn hash(sample: &Sample, entities: usize, frames: u32) -> u64 {
    same_hash_in_all_cases(world_sample(sample), entities, frames).unwrap()
}

fn world_sample(sample: &Sample) -> &WorldSample {
    match &sample.kind {
        Kind::World(world) => world,
        Kind::Jobs(_) => panic!("`{}` has no world", sample.name),
    }
}

/// Returns a number of entities that is small enough for a test and large enough to be meaningful.
fn few(sample: &WorldSample) -> usize {
    sample.entities.min(2_000)
}

fn worlds() -> impl Iterator<Item = (&'static Sample, &'static WorldSample)> {
    SAMPLES.iter().filter_map(|sample| match &sample.kind {
        Kind::World(world) => Some((*sample, world)),
        Kind::Jobs(_) => None,
    })
}

#[test]
fn a_copy_of_a_world_goes_on_as_the_world_does() {
    for (sample, of_world) in worlds() {
        let mut world = run(sample, &options(few(of_world)), 30);
        let mut copy = world.fork().unwrap();
        (of_world.add_systems)(&mut copy);
        assert_eq!(copy.state_hash(), world.state_hash(), "{} at frame 30", sample.name);
        let before = world.state_hash();
        go_on(&mut world, 30);
        assert_ne!(world.state_hash(), before, "{} does something", sample.name);
        go_on(&mut copy, 30);
        assert_eq!(copy.state_hash(), world.state_hash(), "{} at frame 60", sample.name);
        go_on(&mut world, 90);
        go_on(&mut copy, 90);
        assert_eq!(copy.state_hash(), world.state_hash(), "{} at frame 150", sample.name);
    }
}

#[test]
fn another_seed_is_another_world_where_there_is_one() {
    for (sample, of_world) in worlds() {
        let hash =
            |seed, entities| run(sample, &Options { seed, ..options(entities) }, 5).state_hash();
        let entities = few(of_world);
        assert_eq!(hash(7, entities), hash(7, entities), "{}", sample.name);
        let is_other = hash(7, entities) != hash(8, entities);
        assert_eq!(is_other, of_world.seed.is_some(), "{}", sample.name);
        assert_ne!(hash(7, entities), hash(7, entities + 1), "{}", sample.name);
    }
}

#[test]
fn there_is_something_to_see_of_each_world_and_it_changes() {
    for (sample, of_world) in worlds() {
        let mut world = run(sample, &options(few(of_world)), 10);
        let drawn = |world: &World| -> Vec<_> {
            let mut canvas = Canvas::new(100, 60);
            (of_world.paint)(world, &mut canvas);
            (0..6000).map(|dot| canvas.color(dot % 100, dot / 100)).collect()
        };
        let before = drawn(&world);
        assert!(before.iter().any(Option::is_some), "{} is seen", sample.name);
        go_on(&mut world, 60);
        assert!(drawn(&world) != before, "{} changes", sample.name);
    }
}

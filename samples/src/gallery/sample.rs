//! What a sample is.

use std::error::Error;

use ancho::entities::WorldSettings;
use ancho::prelude::*;

use super::Canvas;

/// Samples pass every error on: none of them is expected.
pub(crate) type SampleResult<T> = Result<T, Box<dyn Error>>;

/// A sample: what it is called, what it shows, and how it is run.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    /// What it shows, in less than a line.
    pub(crate) summary: &'static str,
    pub(crate) kind: Kind,
}

impl Sample {
    /// The options of the command line that mean something for it.
    pub(crate) fn options(&self) -> Vec<&'static str> {
        let mut options = vec!["--frames", "--workers"];
        match &self.kind {
            Kind::World(sample) => {
                options.extend(sample.seed.map(|_| "--seed"));
                options.extend(["--entities", "--trace", "--picture", "--view"]);
            }
            Kind::Jobs(_) => options.extend(["--trace", "--view"]),
        }
        options
    }
}

/// Most samples are worlds that live on. A few are about jobs alone.
#[derive(Debug)]
pub(crate) enum Kind {
    World(WorldSample),
    Jobs(JobSample),
}

/// A world that is updated frame by frame, and can be watched.
#[derive(Debug)]
pub(crate) struct WorldSample {
    /// What the sample has many of, in a few words.
    pub(crate) counts: &'static str,
    /// How many there are of that, if `--entities` says nothing.
    pub(crate) entities: usize,
    /// How many there may be: more would be no fun to wait for.
    pub(crate) most: usize,
    /// How many frames it runs for where nobody watches, if `--frames` says nothing.
    pub(crate) frames: u32,
    /// Where random numbers begin, if `--seed` says nothing. Where nothing is random, there is none, and `--seed` is refused.
    pub(crate) seed: Option<u64>,
    /// Makes the world and its entities. All state that goes on from frame to frame is in their components.
    pub(crate) build: fn(&Options) -> SampleResult<World>,
    /// Adds the systems. A copy of the world, to which they are added, goes on as the world does.
    pub(crate) add_systems: fn(&mut World),
    /// Draws the world, from above.
    pub(crate) paint: fn(&World, &mut Canvas),
    /// What keys do, if they do something.
    pub(crate) steering: Option<Steering>,
}

impl WorldSample {
    /// The world, with its entities and its systems.
    pub(crate) fn world(&self, options: &Options) -> SampleResult<World> {
        let mut world = (self.build)(options)?;
        (self.add_systems)(&mut world);
        Ok(world)
    }
}

/// How those who watch a sample take part in it.
#[derive(Debug)]
pub(crate) struct Steering {
    /// Which keys there are, in a few words.
    pub(crate) help: &'static str,
    /// A key was pressed. Called between two updates, also several times.
    pub(crate) press: fn(&mut World, Key),
}

/// A key that samples may take. The gallery has `q`, `n` and the space bar for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Up,
    Down,
    Left,
    Right,
    Char(char),
}

/// What a world is made with.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// How many there are to be of what the sample has many of.
    pub(crate) entities: usize,
    /// Where random numbers begin.
    pub(crate) seed: u64,
    /// The threads that work for the world.
    pub(crate) pool: JobPool,
}

impl Options {
    /// A world without anything in it, for which the threads work that were asked for.
    pub(crate) fn world(&self, name: &str) -> World {
        World::with_settings(name, WorldSettings::new().job_pool(&self.pool))
    }
}

/// A sample about jobs alone: it prints what it does.
#[derive(Debug)]
pub(crate) struct JobSample {
    /// How many frames it runs for, if `--frames` says nothing.
    pub(crate) frames: u32,
    /// Runs it for the eyes: prints what happens and how long it takes.
    pub(crate) show: fn(&Stage<'_>) -> SampleResult<()>,
    /// Runs it for so many frames, in silence, and returns the hash of what it ends with.
    pub(crate) state_hash: fn(&JobScheduler, u32) -> SampleResult<u64>,
}

/// What a sample about jobs is shown with.
#[derive(Debug)]
pub(crate) struct Stage<'s> {
    pub(crate) jobs: &'s JobScheduler,
    pub(crate) frames: u32,
}

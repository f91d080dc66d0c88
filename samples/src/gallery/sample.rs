//! Definition of a sample.

use std::error::Error;

use ancho::entities::WorldSettings;
use ancho::prelude::*;

use super::Canvas;

/// Result with any error: samples expect no errors, and propagate them all.
pub(crate) type SampleResult<T> = Result<T, Box<dyn Error>>;

/// A sample: its name, description and entry points.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    /// Description, shorter than a line.
    pub(crate) summary: &'static str,
    pub(crate) kind: Kind,
}

impl Sample {
    /// Returns the command line options that apply to this sample.
    pub(crate) fn options(&self) -> Vec<&'static str> {
        let mut options = vec!["--frames", "--workers"];
        match &self.kind {
            Kind::World(sample) => {
                options.extend(sample.seed.map(|_| "--seed"));
                options.extend(["--entities", "--trace", "--picture", "--view"]);
                options.extend(["--save", "--load", "--record", "--replay"]);
            }
            Kind::Jobs(_) => options.extend(["--trace", "--view"]),
        }
        options
    }
}

/// Kind of a sample: most are worlds, and a few consist of jobs alone.
#[derive(Debug)]
pub(crate) enum Kind {
    World(WorldSample),
    Jobs(JobSample),
}

/// A world that is updated frame by frame, and can be shown.
#[derive(Debug)]
pub(crate) struct WorldSample {
    /// Things counted by `--entities`, in a few words.
    pub(crate) counts: &'static str,
    /// Default of `--entities`.
    pub(crate) entities: usize,
    /// Maximum of `--entities`. With more entities, a frame would take too long.
    pub(crate) most: usize,
    /// Default of `--frames` without a view.
    pub(crate) frames: u32,
    /// Default of `--seed`. `None` if nothing is random, so that `--seed` is rejected.
    pub(crate) seed: Option<u64>,
    /// Builds the world and its entities. All state that persists between frames is in their components.
    pub(crate) build: fn(&Options) -> SampleResult<World>,
    /// Adds the systems. A copy of the world with these systems continues as the original does.
    pub(crate) add_systems: fn(&mut World),
    /// Draws the world from above.
    pub(crate) paint: fn(&World, &mut Canvas),
    /// Keyboard input, if the sample accepts any.
    pub(crate) steering: Option<Steering>,
}

impl WorldSample {
    /// Returns the world with its entities and systems.
    pub(crate) fn world(&self, options: &Options) -> SampleResult<World> {
        let mut world = (self.build)(options)?;
        (self.add_systems)(&mut world);
        Ok(world)
    }
}

/// Keyboard input of a sample.
#[derive(Debug)]
pub(crate) struct Steering {
    /// Description of the keys, in a few words.
    pub(crate) help: &'static str,
    /// Handles a key press. Called between two updates, any number of times.
    pub(crate) press: fn(&mut World, Key),
}

/// A key that samples may handle. The gallery reserves `q`, `n` and the space bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Up,
    Down,
    Left,
    Right,
    Char(char),
}

/// Parameters for building a world.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Number of entities, in the sense of `WorldSample::counts`.
    pub(crate) entities: usize,
    /// Seed of the random numbers.
    pub(crate) seed: u64,
    /// Threads that run the world's jobs.
    pub(crate) pool: JobPool,
}

impl Options {
    /// Returns an empty world that uses these threads.
    pub(crate) fn world(&self, name: &str) -> World {
        World::with_settings(name, WorldSettings::new().job_pool(&self.pool))
    }
}

/// A sample that consists of jobs alone, and prints its results.
#[derive(Debug)]
pub(crate) struct JobSample {
    /// Default of `--frames`.
    pub(crate) frames: u32,
    /// Runs the sample, and prints results and durations.
    pub(crate) show: fn(&Stage<'_>) -> SampleResult<()>,
    /// Runs the sample for a number of frames, without output, and returns the hash of the final state.
    pub(crate) state_hash: fn(&JobScheduler, u32) -> SampleResult<u64>,
}

/// Environment in which a job sample is shown.
#[derive(Debug)]
pub(crate) struct Stage<'s> {
    pub(crate) jobs: &'s JobScheduler,
    pub(crate) frames: u32,
}

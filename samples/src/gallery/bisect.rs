//! Search for the first difference between two runs of a sample.

use ancho::bisect::Bisection;
use ancho::entities::World;
use ancho::jobs::{ExecutionMode, JobPool};

use super::{Kind, Options, STEP, Sample, SampleResult, WorldSample};

/// Runs a sample twice in lockstep, and compares the worlds after each system: one without workers and in order, one
/// with `workers` workers and shuffled.
///
/// # Errors
///
/// Returns the first difference as an error.
pub(crate) fn bisect(sample: &Sample, frames: u32, workers: usize) -> SampleResult<()> {
    let name = sample.name;
    let Kind::World(world) = &sample.kind else {
        return Err(format!("`{name}` consists of jobs alone, and has no world to compare.").into());
    };
    let serial = options(world, 0)?;
    let shuffled = options(world, workers)?;
    // A world that cannot be built is reported as its own error.
    drop(world.world(&serial)?);
    let found = Bisection::of(|| build(world, &serial, ExecutionMode::Serial))
        .against(|| build(world, &shuffled, ExecutionMode::Shuffle { seed: 42 }))
        .frames(frames.into())
        .drive(|world, _| world.try_update(STEP).unwrap_or_else(|errors| panic!("{errors}")))
        .run()?;
    if let Some(found) = found {
        return Err(format!("{name}: {found}").into());
    }
    say!("{name}: equal for {frames} frames, in order without workers and shuffled with {workers}");
    Ok(())
}

fn options(sample: &WorldSample, workers: usize) -> SampleResult<Options> {
    let (entities, seed) = (sample.entities, sample.seed.unwrap_or_default());
    Ok(Options { entities, seed, pool: JobPool::builder().workers(workers).build()? })
}

fn build(sample: &WorldSample, options: &Options, mode: ExecutionMode) -> World {
    let world = sample.world(options).unwrap_or_else(|error| panic!("{error}"));
    world.jobs().set_mode(mode);
    world
}

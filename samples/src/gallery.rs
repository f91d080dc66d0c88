//! The list of samples, and how they are shown.

use std::error::Error;
use std::path::Path;

use ancho::jobs::{JobPool, JobScheduler};

use crate::{first_job, life, mandelbrot, native_counter, particles, timeline};

/// All samples, in the order to read them.
pub(crate) const SAMPLES: &[Sample] = &[
    first_job::SAMPLE,
    native_counter::SAMPLE,
    particles::SAMPLE,
    life::SAMPLE,
    mandelbrot::SAMPLE,
    timeline::SAMPLE,
];

/// How many frames a sample runs for in passing, and with `--headless`.
pub(crate) const FRAMES: u32 = 60;

/// How many frames a sample runs for when it is shown alone.
const MANY_FRAMES: u32 = 300;

/// Samples pass every error on: none of them is expected.
pub(crate) type SampleResult<T> = Result<T, Box<dyn Error>>;

/// A sample: what it is called, what it teaches, and how it is run.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// Runs it for the eyes: prints what happens and how long it takes.
    pub(crate) show: fn(&Stage<'_>) -> SampleResult<()>,
    /// Runs it for so many frames, in silence, and returns the hash of what it ends with.
    pub(crate) state_hash: fn(&JobScheduler, u32) -> SampleResult<u32>,
}

/// What a sample is shown with.
#[derive(Debug)]
pub(crate) struct Stage<'s> {
    pub(crate) jobs: &'s JobScheduler,
    pub(crate) frames: u32,
    /// Where a trace goes, if the sample writes one.
    pub(crate) trace: &'s Path,
}

pub(crate) fn list() {
    for sample in SAMPLES {
        println!("  {:<16}{}", sample.name, sample.summary);
    }
}

pub(crate) fn show_all(trace: &Path) -> SampleResult<()> {
    println!("The samples of ancho. `cargo run --release -- NAME` shows one of them for longer.\n");
    list();
    let jobs = JobScheduler::new(&JobPool::new());
    let stage = Stage { jobs: &jobs, frames: FRAMES, trace };
    SAMPLES.iter().try_for_each(|sample| show(sample, &stage))
}

pub(crate) fn show_one(sample: &Sample, trace: &Path) -> SampleResult<()> {
    let jobs = JobScheduler::new(&JobPool::new());
    show(sample, &Stage { jobs: &jobs, frames: MANY_FRAMES, trace })
}

fn show(sample: &Sample, stage: &Stage<'_>) -> SampleResult<()> {
    println!("\n== {}: {}\n", sample.name, sample.summary);
    (sample.show)(stage).map_err(|error| format!("{}: {error}", sample.name).into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::SAMPLES;

    #[test]
    fn names_are_unique_and_can_be_typed() {
        let names: BTreeSet<_> = SAMPLES.iter().map(|sample| sample.name).collect();
        assert_eq!(names.len(), SAMPLES.len());
        for name in names {
            assert!(name.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase()), "{name}");
        }
    }

    #[test]
    fn summaries_fit_in_a_line() {
        for sample in SAMPLES {
            assert!(sample.summary.len() <= 80, "{}", sample.name);
        }
    }
}

//! `--headless`: the samples without a show, and the proof that their results do not depend on timing.

use std::fmt;
use std::path::Path;

use ancho::jobs::{ExecutionMode, JobPool, JobScheduler};

use crate::gallery::{FRAMES, SAMPLES, SampleResult};
use crate::timeline;

/// How many workers, and in which order they take what they may take in any order.
#[derive(Clone, Copy, Debug)]
struct Case {
    workers: usize,
    mode: ExecutionMode,
}

/// Prints the state hash of each sample. Fails if one of them is not the same in all cases.
pub(crate) fn run(trace: Option<&Path>) -> SampleResult<()> {
    let mut failures = Vec::new();
    for sample in SAMPLES {
        match hash_in_all_cases(|jobs| (sample.state_hash)(jobs, FRAMES)) {
            Ok(hash) => println!("{}: state hash {hash:08x}", sample.name),
            Err(error) => failures.push(format!("{}: {error}", sample.name)),
        }
    }
    if let Some(file) = trace {
        timeline::record(&JobScheduler::new(&JobPool::new()), FRAMES, file)?;
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// Returns the hash if it is the same in all cases, or a sentence that names two that differ.
pub(crate) fn hash_in_all_cases(
    state_hash: impl Fn(&JobScheduler) -> SampleResult<u32>,
) -> SampleResult<u32> {
    let mut first: Option<(Case, u32)> = None;
    for case in cases() {
        let pool = JobPool::builder().workers(case.workers).build()?;
        let jobs = JobScheduler::new(&pool);
        jobs.set_mode(case.mode);
        let hash = state_hash(&jobs).map_err(|error| format!("with {case}: {error}"))?;
        let (other_case, other) = *first.get_or_insert((case, hash));
        if hash != other {
            let difference = format!(
                "the state hash is {other:08x} with {other_case}, but {hash:08x} with {case}; \
                 the result depends on which job or batch runs first"
            );
            return Err(difference.into());
        }
    }
    first.map(|(_, hash)| hash).ok_or_else(|| "there are no cases".into())
}

fn cases() -> impl Iterator<Item = Case> {
    let modes =
        [ExecutionMode::Serial, ExecutionMode::Parallel, ExecutionMode::Shuffle { seed: 42 }];
    modes.into_iter().flat_map(|mode| [0, 1, 2].map(|workers| Case { workers, mode }))
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.workers {
            1 => f.write_str("1 worker")?,
            workers => write!(f, "{workers} workers")?,
        }
        f.write_str(match self.mode {
            ExecutionMode::Parallel => " in parallel mode",
            ExecutionMode::Serial => " in serial mode",
            ExecutionMode::Shuffle { .. } => " in shuffle mode",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_that_is_always_the_same_is_returned() {
        assert_eq!(hash_in_all_cases(|_| Ok(0xC0FF_EE00)).unwrap(), 0xC0FF_EE00);
    }

    #[test]
    fn a_hash_that_differs_is_told_with_both_cases() {
        let hash = |jobs: &JobScheduler| Ok(jobs.thread_count() as u32);
        assert_eq!(
            hash_in_all_cases(hash).unwrap_err().to_string(),
            "the state hash is 00000001 with 0 workers in serial mode, but 00000002 with 1 worker in \
             serial mode; the result depends on which job or batch runs first"
        );
    }

    #[test]
    fn an_error_is_told_with_its_case() {
        let error = hash_in_all_cases(|_| Err("no luck".into())).unwrap_err();
        assert_eq!(error.to_string(), "with 0 workers in serial mode: no luck");
    }
}

//! Check that the results of samples depend neither on timing nor on the machine.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use ancho::burst::CpuLevel;
use ancho::jobs::{ExecutionMode, JobPool, JobScheduler};

use super::{Kind, Options, STEP, Sample, SampleResult, WorldSample};

/// Number of workers, execution mode of jobs, and CPU level of the loops.
#[derive(Clone, Copy, Debug)]
struct Case {
    workers: usize,
    mode: ExecutionMode,
    level: CpuLevel,
}

/// Prints the state hash of each sample.
///
/// # Errors
///
/// Returns an error if the hash of a sample differs between two cases.
pub(crate) fn check(samples: &[&Sample], frames: u32) -> SampleResult<()> {
    let mut failures = Vec::new();
    for sample in samples {
        let hash = match &sample.kind {
            Kind::World(world) => same_hash_in_all_cases(world, world.entities, frames),
            Kind::Jobs(jobs) => hash_in_all_cases(|scheduler| (jobs.state_hash)(scheduler, frames)),
        };
        match hash {
            Ok(hash) => say!("{}: state hash {hash:016x}", sample.name),
            Err(error) => failures.push(format!("{}: {error}", sample.name)),
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// Returns the state hash of a world after `frames` frames if it is the same in all cases, or a sentence that names two
/// cases that differ.
pub(crate) fn same_hash_in_all_cases(
    sample: &WorldSample,
    entities: usize,
    frames: u32,
) -> SampleResult<u64> {
    hash_in_all_cases(|jobs| {
        let seed = sample.seed.unwrap_or_default();
        let options = Options { entities, seed, pool: jobs.pool().clone() };
        let mut world = sample.world(&options)?;
        world.jobs().set_mode(jobs.mode());
        for _ in 0..frames {
            world.try_update(STEP)?;
        }
        world.complete_jobs();
        Ok(world.state_hash())
    })
}

/// Lock for changing the CPU level, which is global to the program while tests run in parallel.
static CPU_LEVEL: Mutex<()> = Mutex::new(());

/// Returns a hash if it is the same in all cases, or a sentence that names two cases that differ.
pub(crate) fn hash_in_all_cases(
    state_hash: impl Fn(&JobScheduler) -> SampleResult<u64>,
) -> SampleResult<u64> {
    let _level = CPU_LEVEL.lock().unwrap_or_else(PoisonError::into_inner);
    let before = CpuLevel::current();
    let mut first: Option<(Case, u64)> = None;
    for case in cases() {
        let pool = JobPool::builder().workers(case.workers).build()?;
        let jobs = JobScheduler::new(&pool);
        jobs.set_mode(case.mode);
        case.level.limit();
        let hash = state_hash(&jobs);
        before.limit();
        let hash = hash.map_err(|error| format!("with {case}: {error}"))?;
        let (other_case, other) = *first.get_or_insert((case, hash));
        if hash != other {
            let difference = format!(
                "the state hash is {other:016x} with {other_case}, but {hash:016x} with {case}"
            );
            return Err(difference.into());
        }
    }
    first.map(|(_, hash)| hash).ok_or_else(|| "there are no cases".into())
}

/// Returns one case for each number of workers in parallel mode, then one for each other mode.
fn cases() -> impl Iterator<Item = Case> + Clone {
    let shuffle = ExecutionMode::Shuffle { seed: 42 };
    [
        (0, ExecutionMode::Parallel, CpuLevel::V3),
        (1, ExecutionMode::Parallel, CpuLevel::Baseline),
        (2, ExecutionMode::Parallel, CpuLevel::V4),
        (1, ExecutionMode::Serial, CpuLevel::V3),
        (2, shuffle, CpuLevel::V3),
    ]
    .into_iter()
    .map(|(workers, mode, level)| Case { workers, mode, level })
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
        })?;
        write!(f, " at CPU level {}", self.level)
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
        let hash = |jobs: &JobScheduler| Ok(jobs.thread_count() as u64);
        assert_eq!(
            hash_in_all_cases(hash).unwrap_err().to_string(),
            "the state hash is 0000000000000001 with 0 workers in parallel mode at CPU level v3, but \
             0000000000000002 with 1 worker in parallel mode at CPU level baseline"
        );
    }

    #[test]
    fn each_case_runs_at_its_level_on_its_number_of_workers() {
        let seen = Mutex::new(Vec::new());
        hash_in_all_cases(|jobs| {
            let case = (jobs.pool().workers(), jobs.mode(), CpuLevel::current());
            seen.lock().unwrap().push(case);
            Ok(0)
        })
        .unwrap();
        let expected: Vec<_> = cases()
            .map(|case| (case.workers, case.mode, case.level.min(CpuLevel::available())))
            .collect();
        assert_eq!(seen.into_inner().unwrap(), expected);
        let levels = cases().map(|case| case.level);
        assert!(
            [CpuLevel::Baseline, CpuLevel::V3, CpuLevel::V4]
                .into_iter()
                .all(|level| levels.clone().any(|other| other == level))
        );
        assert!((0..=2).all(|workers| cases().any(|case| case.workers == workers)));
    }

    #[test]
    fn an_error_is_told_with_its_case() {
        let error = hash_in_all_cases(|_| Err("no luck".into())).unwrap_err();
        let expected = "with 0 workers in parallel mode at CPU level v3: no luck";
        assert_eq!(error.to_string(), expected);
    }
}

//! The CPU level of a parallel job's loop, and keeping it at the level of the build.
//!
//! Results are the same at every level, so the tests inspect the callers of the job: every level is a separate
//! function.
#![cfg(target_arch = "x86_64")]

use crate::common;

use std::backtrace::Backtrace;
use std::sync::{Arc, Mutex};

use ancho_burst::CpuLevel;
use ancho_jobs::{JobBuilder, JobHandle, JobScheduler, ScheduleError};
use common::scheduler;

/// The kinds of parallel jobs that are compiled for each level, each with a closure that records its callers.
type Schedule = fn(JobBuilder<'_>, Callers) -> Result<JobHandle, ScheduleError>;

const KINDS: [(&str, Schedule); 3] = [
    ("for each", |job, callers| {
        job.schedule_for_each(&[], (), 10, 100, move |(), _| callers.note())
    }),
    ("parallel", |job, callers| {
        job.schedule_parallel(&[], (), 10, 100, move |(), _| callers.note())
    }),
    ("deferred", |job, callers| {
        job.schedule_deferred(&[], (), |()| 10, 100, move |(), _| callers.note())
    }),
];

/// The functions through which a job was called.
#[derive(Clone, Default)]
struct Callers(Arc<Mutex<String>>);

impl Callers {
    fn note(&self) {
        *self.0.lock().unwrap() = Backtrace::force_capture().to_string();
    }

    /// Returns the level whose function is among the callers.
    fn level(&self) -> Option<CpuLevel> {
        let callers = self.0.lock().unwrap();
        assert!(callers.contains("note"), "the job has run, and names are known:\n{callers}");
        let is_in = |level: &CpuLevel| callers.contains(&format!("at_{level}"));
        CpuLevel::ALL.into_iter().find(is_in)
    }
}

fn levels(
    jobs: &JobScheduler,
    change: fn(JobBuilder<'_>) -> JobBuilder<'_>,
) -> Vec<Option<CpuLevel>> {
    let level = |(name, schedule): (&'static str, Schedule)| {
        let callers = Callers::default();
        jobs.complete(schedule(change(jobs.named(name)), callers.clone()).unwrap());
        callers.level()
    };
    KINDS.map(level).to_vec()
}

#[test]
#[cfg(feature = "dispatch")]
fn a_job_runs_at_the_current_cpu_level_by_default() {
    let jobs = scheduler(1);
    for limit in CpuLevel::ALL {
        let level = limit.limit();
        assert_eq!(levels(&jobs, |job| job), [Some(level); KINDS.len()]);
        let without = levels(&jobs, |job| job.without_dispatch());
        assert_eq!(without, [Some(CpuLevel::Baseline); KINDS.len()], "at {level}");
    }
}

#[test]
#[cfg(not(feature = "dispatch"))]
fn a_build_without_dispatch_compiles_jobs_once() {
    let jobs = scheduler(1);
    assert_eq!(levels(&jobs, |job| job), [None; KINDS.len()]);
    assert_eq!(levels(&jobs, |job| job.without_dispatch()), [None; KINDS.len()]);
}

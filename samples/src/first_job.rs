//! Jobs copy plain values, and share containers.
//!
//! A job owns its captures: it may change its copy of `a`, and no other code sees the change. Writes to a container are
//! visible to the owner once the job is completed. Jobs that share a container could race. Every use is therefore
//! declared with a token, `write()` or `read()`, and a conflicting job without a dependency is rejected.

use ancho::jobs::{Job, JobScheduler, JobSlice, JobStruct, SliceWrite};

use crate::gallery::{JobSample, Kind, Sample, SampleResult, Stage};
use crate::state_hash::StateHash;

pub(crate) const SAMPLE: Sample = Sample {
    name: "first_job",
    summary: "a job changes its copy of a number, and an array that it shares",
    kind: Kind::Jobs(JobSample { frames: 2, show, state_hash }),
};

/// Schedules the job as a closure, which captures `a` and the array. Returns the owner's `a`.
fn add_with_closure(jobs: &JobScheduler, mut a: f32, b: &mut JobSlice<f32>) -> SampleResult<f32> {
    let job = jobs.schedule(&[], b.write(), move |b| {
        a += b[0]; // The closure's copy of `a`: invisible outside of the job.
        b[0] = a; // The shared array: the owner sees this.
    })?;
    jobs.complete(job);
    Ok(a)
}

/// The same job as a struct, for named fields, and for scheduling it from several places.
#[derive(JobStruct)]
struct Add<'a> {
    a: f32,
    b: SliceWrite<'a, f32>,
}

impl Job for Add<'_> {
    fn execute(job: AddView<'_>) {
        *job.a += job.b[0];
        job.b[0] = *job.a;
    }
}

fn add_with_struct(jobs: &JobScheduler, a: f32, b: &mut JobSlice<f32>) -> SampleResult<f32> {
    let job = jobs.schedule_job(&[], Add { a, b: b.write() })?;
    jobs.complete(job);
    Ok(a)
}

fn show(stage: &Stage<'_>) -> SampleResult<()> {
    let jobs = stage.jobs;
    say!("before:           a = 5, b[0] = 3");
    let mut b = JobSlice::new(1, 3.0);
    let a = add_with_closure(jobs, 5.0, &mut b)?;
    say!("after a closure:  a = {a}, b[0] = {}", b.as_slice()?[0]);

    let mut b = JobSlice::new(1, 3.0).named("b");
    let a = add_with_struct(jobs, 5.0, &mut b)?;
    say!("after a struct:   a = {a}, b[0] = {}", b.as_slice()?[0]);

    say!("\nTwo jobs that write `b` without an order are rejected, on every run:");
    let first = jobs.named("First").schedule_job(&[], Add { a, b: b.write() })?;
    match jobs.named("Second").schedule_job(&[], Add { a, b: b.write() }) {
        Ok(_) => return Err("two jobs that race were accepted".into()),
        Err(refused) => say!("  {refused}"),
    }
    say!("\nThe owner cannot read `b` until the job is completed:");
    match b.as_slice() {
        Ok(_) => return Err("an array in use was lent".into()),
        Err(refused) => say!("  {refused}"),
    }

    let second = jobs.named("Second").schedule_job(&[first], Add { a, b: b.write() })?;
    jobs.complete(second);
    say!("\nWith a dependency, both jobs run: b[0] = {}", b.as_slice()?[0]);
    Ok(())
}

fn state_hash(jobs: &JobScheduler, frames: u32) -> SampleResult<u64> {
    let mut b = JobSlice::new(1, 3.0);
    for frame in 0..frames {
        if frame % 2 == 0 {
            add_with_closure(jobs, 5.0, &mut b)?;
        } else {
            add_with_struct(jobs, 5.0, &mut b)?;
        }
    }
    let mut hash = StateHash::new();
    hash.add_f32(b.as_slice()?);
    Ok(hash.finish())
}

#[cfg(test)]
mod tests {
    use ancho::jobs::JobPool;

    use super::*;
    use crate::gallery::hash_in_all_cases;

    #[test]
    fn the_state_is_the_same_in_all_cases() {
        hash_in_all_cases(|jobs| state_hash(jobs, 5)).unwrap();
    }

    #[test]
    fn the_array_is_changed_and_the_number_is_not() {
        let jobs = JobScheduler::new(&JobPool::new());
        for add in [add_with_closure, add_with_struct] {
            let mut b = JobSlice::new(1, 3.0);
            assert_eq!(add(&jobs, 5.0, &mut b).unwrap(), 5.0);
            assert_eq!(b.as_slice().unwrap(), [8.0]);
        }
    }
}

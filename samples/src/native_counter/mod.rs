//! Containers of one's own: a counter that all the batches of a job count with.
//!
//! The data is a plain type. `Container` lets `Native` guard it: the owner and jobs get at it through the
//! same calls as at any container, and the same conflicts are refused. `ConcurrentWrite` says what each
//! batch of a parallel job writes through; meanwhile nobody can read the counter.
//!
//! There are two of them. `Counter` is one atomic number, which all threads fight for. `PerThreadCounter`
//! has a number for each thread, in a cache line of its own, and adds them up when it is asked.

mod counter;
mod per_thread;
#[cfg(test)]
mod tests;

use std::time::Instant;

use ancho::collections::{Native, NativeArray};
use ancho::jobs::{CellConcurrent, ConcurrentWrite, JobScheduler};

use crate::gallery::{JobSample, Kind, Sample, SampleResult, Stage};
use crate::random;
use crate::state_hash::StateHash;
use counter::Counter;
use per_thread::PerThreadCounter;

pub(crate) const SAMPLE: Sample = Sample {
    name: "native_counter",
    summary: "a container of one's own, which all threads count with",
    kind: Kind::Jobs(JobSample { frames: 1, show, state_hash }),
};

/// A counter that jobs share.
type NativeCounter = Native<Counter>;

/// A counter that jobs share, with a part for each thread.
type NativePerThreadCounter = Native<PerThreadCounter>;

/// What a batch counts with.
trait Increment {
    fn increment(&self);
}

/// Counts the zeros in an array, with all threads. It takes either counter's writer.
fn count_zeros<C>(
    jobs: &JobScheduler,
    numbers: &NativeArray<u32>,
    counter: CellConcurrent<'_, C>,
) -> SampleResult<()>
where
    C: ConcurrentWrite,
    for<'b> C::Item<'b>: Increment,
{
    let (length, tokens) = (numbers.len(), (counter, numbers.read()));
    let job =
        jobs.named("CountZeros").schedule_for_each(&[], tokens, length, 1024, |tokens, i| {
            let (counter, numbers) = tokens;
            if numbers[i] == 0 {
                counter.increment();
            }
        })?;
    jobs.complete(job);
    Ok(())
}

/// A million numbers below ten.
fn numbers() -> NativeArray<u32> {
    NativeArray::from_fn(1_000_000, |index| (random::unit(0, index as u64) * 10.0) as u32)
}

fn show(stage: &Stage<'_>) -> SampleResult<()> {
    let (jobs, numbers) = (stage.jobs, numbers());
    let mut counter = NativeCounter::of(Counter::default()).named("zeros");
    let mut per_thread = NativePerThreadCounter::of(PerThreadCounter::default());
    let start = Instant::now();
    count_zeros(jobs, &numbers, counter.writer())?;
    let one = start.elapsed();
    let start = Instant::now();
    count_zeros(jobs, &numbers, per_thread.writer())?;
    let each = start.elapsed();
    println!("a million numbers, {} zeros", counter.get()?.count());
    assert_eq!(counter.get()?.count(), per_thread.get()?.count());
    println!("one counter for all:         {one:>8.0?}");
    println!("one counter for each thread: {each:>8.0?}");
    println!("\nThe owner sets a counter, and counts:");
    per_thread.get_mut()?.set_count(41);
    per_thread.get_mut()?.increment();
    counter.get_mut()?.set_count(per_thread.get()?.count());
    counter.get_mut()?.increment();
    println!("  {} and {}", per_thread.get()?.count(), counter.get()?.count());
    println!("\nWhile a job counts, the counter cannot be read:");
    let job = jobs.named("Count").schedule(&[], counter.writer(), |counter| counter.increment())?;
    match counter.get() {
        Ok(_) => return Err("a counter in use was lent".into()),
        Err(refused) => println!("  {refused}"),
    }
    jobs.complete(job);
    Ok(())
}

fn state_hash(jobs: &JobScheduler, _: u32) -> SampleResult<u64> {
    let numbers = numbers();
    let mut counter = NativeCounter::of(Counter::default());
    let mut per_thread = NativePerThreadCounter::of(PerThreadCounter::default());
    count_zeros(jobs, &numbers, counter.writer())?;
    count_zeros(jobs, &numbers, per_thread.writer())?;
    let mut hash = StateHash::new();
    for count in [counter.get()?.count(), per_thread.get()?.count()] {
        hash.add_bytes(&count.to_le_bytes());
    }
    Ok(hash.finish())
}

//! Workers that have nothing to do sleep.
//!
//! In a file of its own: it measures the whole process, which must do nothing else.
#![cfg(target_os = "linux")]

#[path = "jobs/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};
use std::{fs, thread};

use ancho_jobs::JobSlice;
use common::scheduler;

/// How long the process's threads have been running, to about 10 ms.
fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // The name, which stands before, is in parentheses and may have spaces.
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = |field: usize| fields[field].parse::<u64>().unwrap();
    // User and system time, in hundredths of a second on every Linux there is.
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

#[test]
fn idle_workers_burn_no_time() {
    let jobs = scheduler(4);
    let mut values = JobSlice::new(1000, 0);
    let job = jobs.schedule_for_each(&[], values.write(), 1000, 1, |value, i| *value = i);
    jobs.flush();
    jobs.complete(job.unwrap());
    // Enough for the last of them to fall asleep.
    thread::sleep(Duration::from_millis(100));

    let (start, before) = (Instant::now(), cpu_time());
    thread::sleep(Duration::from_millis(300));
    let burnt = cpu_time() - before;
    // One of four workers that looked for work all the time would burn as much as has passed.
    assert!(burnt < start.elapsed() / 2, "burnt {burnt:?}");
}

//! Idle workers sleep.
//!
//! In a separate file: it measures the whole process, which must do nothing else.
#![cfg(target_os = "linux")]

#[path = "jobs/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};
use std::{fs, thread};

use ancho_jobs::JobSlice;
use common::scheduler;

/// Returns the CPU time of all threads of the process, to about 10 ms.
fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // The name comes before these fields, in parentheses, and may contain spaces.
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = |field: usize| fields[field].parse::<u64>().unwrap();
    // User and system time, in hundredths of a second on every Linux.
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

#[test]
fn idle_workers_burn_no_time() {
    let jobs = scheduler(4);
    let mut values = JobSlice::new(1000, 0);
    let job = jobs.schedule_for_each(&[], values.write(), 1000, 1, |value, i| *value = i);
    jobs.flush();
    jobs.complete(job.unwrap());
    // Enough time for the last worker to fall asleep.
    thread::sleep(Duration::from_millis(100));

    let (start, before) = (Instant::now(), cpu_time());
    thread::sleep(Duration::from_millis(300));
    let burnt = cpu_time() - before;
    // One of four workers that searched all the time would use as much CPU time as has passed.
    assert!(burnt < start.elapsed() / 2, "burnt {burnt:?}");
}

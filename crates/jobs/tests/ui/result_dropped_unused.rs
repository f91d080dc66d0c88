#![deny(unused_must_use)]

use ancho_jobs::{JobPool, JobScheduler};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    jobs.schedule(&[], (), |()| {});
    jobs.named("Nothing");
}

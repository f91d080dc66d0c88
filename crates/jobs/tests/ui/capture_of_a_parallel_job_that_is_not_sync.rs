use ancho_jobs::{JobPool, JobScheduler};
use std::cell::Cell;

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let count = Cell::new(0);
    let job = jobs.schedule_for_each(&[], (), 10, 1, move |(), _| count.set(count.get() + 1));
    jobs.complete(job.unwrap());
}

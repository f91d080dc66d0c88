use ancho_jobs::{JobCell, JobPool, JobScheduler};
use std::cell::Cell;

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let cell = JobCell::new(Cell::new(0));
    let job = jobs.schedule(&[], cell.read(), |cell| cell.set(1));
    jobs.complete(job.unwrap());
}

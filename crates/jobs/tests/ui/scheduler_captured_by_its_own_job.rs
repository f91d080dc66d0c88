use ancho_jobs::{JobPool, JobScheduler};
use std::sync::Arc;

fn main() {
    let jobs = Arc::new(JobScheduler::new(&JobPool::new()));
    let inner = Arc::clone(&jobs);
    let job = jobs.schedule(&[], (), move |()| inner.flush());
    jobs.complete(job.unwrap());
}

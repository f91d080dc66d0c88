use ancho_jobs::{JobPool, JobScheduler};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let job = jobs.schedule(&[], 5, |five| assert_eq!(five, 5));
    jobs.complete(job.unwrap());
}

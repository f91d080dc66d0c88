use ancho_jobs::{JobCell, JobPool, JobScheduler};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut total = JobCell::new(0);
    let job = jobs.schedule_for_each(&[], total.write(), 10, 1, |total, i| *total += i);
    jobs.complete(job.unwrap());
}

use ancho_jobs::{JobPool, JobScheduler};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let text = String::from("local");
    let job = jobs.schedule(&[], (), |()| assert_eq!(text.len(), 5));
    jobs.complete(job.unwrap());
}

use ancho_jobs::{JobPool, JobScheduler};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut count = 0;
    let job = jobs.schedule_for_each(&[], (), 10, 1, move |(), _| count += 1);
    jobs.complete(job.unwrap());
}

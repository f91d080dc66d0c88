use ancho_jobs::{JobPool, JobScheduler, JobSlice};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut values = JobSlice::new(10, 0);
    let token = values.write();
    drop(values);
    let job = jobs.schedule(&[], token, |values| values[0] = 1);
    jobs.complete(job.unwrap());
}

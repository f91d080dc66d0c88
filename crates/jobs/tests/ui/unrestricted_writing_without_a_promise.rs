use ancho_jobs::{JobPool, JobScheduler, JobSlice};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut values = JobSlice::new(10, 0);
    let job = jobs.schedule_for_each(&[], values.write_unrestricted(), 10, 1, |_, _| {});
    jobs.complete(job.unwrap());
}

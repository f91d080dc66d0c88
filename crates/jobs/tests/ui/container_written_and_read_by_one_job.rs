use ancho_jobs::{JobPool, JobScheduler, JobSlice};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut values = JobSlice::new(10, 0);
    let job = jobs.schedule(&[], (values.write(), values.read()), |(written, read)| {
        written[0] = read[0];
    });
    jobs.complete(job.unwrap());
}

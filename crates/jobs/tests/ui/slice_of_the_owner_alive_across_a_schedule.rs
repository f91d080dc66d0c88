use ancho_jobs::{JobPool, JobScheduler, JobSlice};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut values = JobSlice::new(10, 0);
    let mine = values.as_slice().unwrap();
    let job = jobs.schedule(&[], values.write(), |values| values[0] = 1).unwrap();
    assert_eq!(mine[0], 0);
    jobs.complete(job);
}

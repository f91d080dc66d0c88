use ancho_jobs::{JobPool, JobScheduler, JobSlice};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut values = JobSlice::new(10, 0);
    let mine = values.as_mut_slice().unwrap();
    let job = jobs.schedule(&[], values.read(), |values| assert_eq!(values[0], 0)).unwrap();
    mine[0] = 1;
    jobs.complete(job);
}

use ancho_jobs::{JobPool, JobScheduler, JobSlice};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut values = JobSlice::new(10, 0);
    let kept = jobs.run(values.write(), |values| values).unwrap();
    kept[0] = 1;
}

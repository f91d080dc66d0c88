use ancho_jobs::{JobPool, JobScheduler, JobSlice};
use std::sync::Mutex;

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut values = JobSlice::new(10, 0);
    let kept: Mutex<Vec<&mut [i32]>> = Mutex::default();
    jobs.run_parallel(values.write(), 10, 5, |values, _| kept.lock().unwrap().push(values)).unwrap();
}

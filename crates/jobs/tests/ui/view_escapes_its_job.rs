use ancho_jobs::{JobPool, JobScheduler, JobSlice};
use std::sync::{Arc, Mutex};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let values = JobSlice::new(10, 0);
    let kept: Arc<Mutex<Vec<&'static [i32]>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let job = jobs.schedule(&[], values.read(), move |values| keep.lock().unwrap().push(values));
    jobs.complete(job.unwrap());
}

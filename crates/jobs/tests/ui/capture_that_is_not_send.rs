use ancho_jobs::{JobPool, JobScheduler};
use std::rc::Rc;

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let shared = Rc::new(5);
    let job = jobs.schedule(&[], (), move |()| drop(shared));
    jobs.complete(job.unwrap());
}

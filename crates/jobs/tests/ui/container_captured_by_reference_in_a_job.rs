use ancho_jobs::{JobCell, JobPool, JobScheduler};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let cell: &'static JobCell<i32> = Box::leak(Box::new(JobCell::new(0)));
    let job = jobs.schedule(&[], (), move |()| assert!(cell.get().is_ok()));
    jobs.complete(job.unwrap());
}

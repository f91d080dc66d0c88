use ancho_jobs::{JobPool, JobScheduler};

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    std::thread::scope(|scope| {
        scope.spawn(|| jobs.flush());
    });
}

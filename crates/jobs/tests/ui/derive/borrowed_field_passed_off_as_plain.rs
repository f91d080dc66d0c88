use ancho_jobs::{Job, JobPool, JobScheduler, JobStruct, Plain};

#[derive(JobStruct)]
struct Show<'a> {
    text: Plain<&'a str>,
}

impl Job for Show<'_> {
    fn execute(_: ShowView<'_>) {}
}

fn main() {
    let jobs = JobScheduler::new(&JobPool::new());
    let text = String::from("local");
    let job = jobs.schedule_job(&[], Show { text: Plain(&text) });
    jobs.complete(job.unwrap());
}

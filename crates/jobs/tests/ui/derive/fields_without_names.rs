use ancho_jobs::{CellWrite, JobStruct};

#[derive(JobStruct)]
struct Add<'a>(CellWrite<'a, u32>);

fn main() {}

use ancho_jobs::{JobStruct, ParallelJobStruct};

#[derive(JobStruct, ParallelJobStruct)]
enum Add {
    One,
}

fn main() {}

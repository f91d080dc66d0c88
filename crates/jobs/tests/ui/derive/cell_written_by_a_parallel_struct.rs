use ancho_jobs::{CellWrite, ParallelJobStruct};

#[derive(ParallelJobStruct)]
struct Add<'a> {
    total: CellWrite<'a, u32>,
}

fn main() {}

use ancho_jobs::{CellRead, CellWrite, JobStruct};

#[derive(JobStruct)]
struct Add<'a, 'b> {
    total: CellWrite<'a, u32>,
    amount: CellRead<'b, u32>,
}

fn main() {}

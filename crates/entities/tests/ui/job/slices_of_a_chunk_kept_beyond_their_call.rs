use ancho_entities::{ChunkInJob, ChunkJob, Component, World};
use ancho_jobs::ParallelJobStruct;

#[derive(Component)]
struct Health(u32);

#[derive(ParallelJobStruct)]
struct Twice {
    amount: u32,
}

impl ChunkJob for Twice {
    type Query = &'static mut Health;

    fn execute(job: &mut TwiceBatch<'_>, mut chunk: ChunkInJob<'_, &'static mut Health>) {
        let mut kept = None;
        chunk.for_each_run(|health| kept = Some(health));
        chunk.for_each_run(|health| health[0].0 += *job.amount);
        kept.unwrap()[0].0 = 1;
    }
}

fn main() {
    let mut world = World::new("Simulation");
    let _ = world.query_mut::<&mut Health>().job().schedule_chunk_job_parallel(Twice { amount: 1 });
}

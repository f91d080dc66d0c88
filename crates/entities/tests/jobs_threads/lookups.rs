//! Data of many entities in any order, in jobs.

use ancho_entities::{ChunkInJob, ChunkJob, Entity, JobLookup, Lookup, Query};
use ancho_jobs::{JobSlice, ParallelJobStruct, SliceRead};

use crate::common::*;

#[derive(ParallelJobStruct)]
struct Compare<'a> {
    all: JobLookup<'a, &'static B>,
    asked: SliceRead<'a, Entity>,
    /// How many of them.
    count: usize,
}

impl ChunkJob for Compare<'_> {
    type Query = &'static mut A;

    fn execute(job: &mut CompareBatch<'_>, mut chunk: ChunkInJob<'_, &'static mut A>) {
        let asked = &job.asked[..*job.count];
        let many: Vec<_> = job.all.get_many(asked.iter().copied()).collect();
        let each: Vec<_> = asked.iter().map(|&entity| job.all.get(entity)).collect();
        assert_eq!(many, each);
        let found = many.iter().flatten().count() as u32;
        chunk.for_each_run(|all| all.iter_mut().for_each(|a| a.0 = found));
    }
}

#[test]
fn many_are_what_each_is_however_many_they_are() {
    for workers in WORKERS {
        let mut world = world_of(workers, 50);
        let with: Vec<_> = world.spawn_batch((0..200).map(B)).collect();
        let without = world.spawn(A(0));
        let gone = world.spawn(B(7));
        world.despawn(gone).unwrap();
        let mut asked: Vec<_> = with.iter().rev().copied().collect();
        asked.splice(20..20, [gone, without, Entity::NULL]);
        let asked = JobSlice::from(asked);
        // Fewer than are looked for ahead, just as many, and more.
        for count in [0, 1, 15, 16, 17, 31, 32, 33, 64, 203] {
            let (takers, all) = world.split::<(Query<&mut A>, Lookup<&B>)>();
            let job = Compare { all: all.into_job(), asked: asked.read(), count };
            let job = takers.job().schedule_chunk_job(job).unwrap();
            world.entities().jobs().complete(job);
            let missing = count.saturating_sub(20).min(3);
            assert_eq!(world.get::<A>(without).unwrap().0 as usize, count - missing);
        }
    }
}

//! Jobs over entities as structs: [`EntityJob`] and [`ChunkJob`].

use ancho_jobs::{JobHandle, ParallelJobStruct};

use super::QueryJob;
use super::chunk::ChunkInJob;
use super::schedule::{BatchWork, MarkRows, MarkSlices, Task};
use crate::query::batch::Divide;
use crate::query::data::{ChunkData, QueryData};
use crate::query::parallel::ParallelData;

/// Indices of the entity that an [`EntityJob`] is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityAt {
    /// Index among all entities that match, starting with zero, in the order of the chunks. This is Unity's `EntityIndexInQuery`.
    pub in_query: usize,
    /// Row in the chunk. Entities that do not match are counted too. This is Unity's `EntityIndexInChunk`.
    pub row: usize,
    /// Index among the entities of the chunk that match. In each container that the job writes, the entity has the element with
    /// this index.
    pub in_batch: usize,
    /// Index of the chunk, as returned by [`ChunkInJob::index`]. This is Unity's `ChunkIndexInQuery`.
    pub chunk: usize,
}

/// A job as a struct that is called for each entity. This is Unity's `IJobEntity`.
///
/// The fields are captures: tokens of containers, [lookups](crate::JobLookup) and plain values, as in a
/// [`ParallelFor`](ancho_jobs::ParallelFor). [`QueryJob::schedule_job`] and [`QueryJob::schedule_job_parallel`] schedule the job,
/// on a query of [`Self::Query`].
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EntityAt, EntityJob, World};
/// use ancho_jobs::{JobSlice, ParallelJobStruct, SliceWrite};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Velocity(f32);
///
/// #[derive(ParallelJobStruct)]
/// struct Move<'a> {
///     dt: f32,
///     moved: SliceWrite<'a, f32>,
/// }
///
/// impl EntityJob for Move<'_> {
///     type Query = (&'static mut Position, &'static Velocity);
///
///     fn execute(job: &mut MoveBatch<'_>, (position, velocity): (&mut Position, &Velocity), at: EntityAt) {
///         position.0 += velocity.0 * *job.dt;
///         job.moved[at.in_batch] = position.0;
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// world.spawn_batch((0..1000).map(|x| (Position(x as f32), Velocity(2.0))));
/// let mut moved = JobSlice::new(1000, 0.0);
/// let job = Move { dt: 0.5, moved: moved.write() };
/// let job = world.query_mut::<(&mut Position, &Velocity)>().job().schedule_job_parallel(job);
/// world.jobs().complete(job);
/// assert_eq!(moved.as_slice().unwrap()[999], 1000.0);
/// ```
#[doc(alias = "IJobEntity")]
pub trait EntityJob: ParallelJobStruct {
    /// Query data of each entity.
    type Query: ParallelData + 'static;

    /// Processes one entity.
    fn execute(
        job: &mut Self::Batch<'_>,
        entity: <Self::Query as QueryData>::Item<'_>,
        at: EntityAt,
    );

    /// Called before the first entity of a chunk. Returns `false` to skip the chunk, which then does not count as changed.
    ///
    /// The entities that match are determined before the call.
    fn begin_chunk(job: &mut Self::Batch<'_>, chunk: &mut ChunkInJob<'_>) -> bool {
        _ = (job, chunk);
        true
    }

    /// Called after the last entity of a chunk that was not skipped.
    fn end_chunk(job: &mut Self::Batch<'_>, chunk: &mut ChunkInJob<'_>) {
        _ = (job, chunk);
    }
}

/// A job as a struct that is called for each chunk. This is Unity's `IJobChunk`.
///
/// The job is called once for each chunk with matching entities. A chunk counts as changed if the job fetches
/// [values](ChunkInJob::for_each_run) that it can write.
///
/// Captured containers are indexed by [chunk](ChunkInJob::index): for each container that the job writes, a chunk receives the
/// element at the chunk's index, as a slice of length one. The container needs an element for each of the
/// [chunks](crate::Query::count_chunks_unfiltered) of the query. To write an element for each entity, use [`EntityJob`].
///
/// # Examples
///
/// ```
/// use ancho_entities::{ChunkInJob, ChunkJob, Component, World};
/// use ancho_jobs::ParallelJobStruct;
///
/// #[derive(Component, Clone, Copy)]
/// struct Heat(f32);
///
/// #[derive(ParallelJobStruct)]
/// struct Even {
///     share: f32,
/// }
///
/// impl ChunkJob for Even {
///     type Query = &'static mut Heat;
///
///     fn execute(job: &mut EvenBatch<'_>, mut chunk: ChunkInJob<'_, &'static mut Heat>) {
///         chunk.for_each_run(|heat| {
///             let mean = heat.iter().map(|heat| heat.0).sum::<f32>() / heat.len() as f32;
///             heat.iter_mut().for_each(|heat| heat.0 += (mean - heat.0) * *job.share);
///         });
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// let stones: Vec<_> = world.spawn_batch([Heat(10.0), Heat(30.0)]).collect();
/// world.query_mut::<&mut Heat>().job().schedule_chunk_job_parallel(Even { share: 0.5 });
/// assert_eq!(world.get::<Heat>(stones[0]).unwrap().0, 15.0);
/// ```
///
/// A sum for each chunk, in a container:
///
/// ```
/// use ancho_entities::{ChunkInJob, ChunkJob, Component, World};
/// use ancho_jobs::{JobSlice, ParallelJobStruct, SliceWrite};
///
/// #[derive(Component, Clone, Copy)]
/// struct Weight(u32);
///
/// #[derive(ParallelJobStruct)]
/// struct Weigh<'a> {
///     sums: SliceWrite<'a, u32>,
/// }
///
/// impl ChunkJob for Weigh<'_> {
///     type Query = &'static Weight;
///
///     fn execute(job: &mut WeighBatch<'_>, mut chunk: ChunkInJob<'_, &'static Weight>) {
///         chunk.for_each_run(|weights| job.sums[0] += weights.iter().map(|weight| weight.0).sum::<u32>());
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// world.spawn_many(Weight(2), 1000);
/// let query = world.query::<&Weight>();
/// let mut sums = JobSlice::new(query.count_chunks_unfiltered(), 0);
/// let weigh = query.job().schedule_chunk_job_parallel(Weigh { sums: sums.write() });
/// world.jobs().complete(weigh);
/// assert_eq!(sums.as_slice().unwrap().iter().sum::<u32>(), 2000);
/// ```
#[doc(alias = "IJobChunk")]
pub trait ChunkJob: ParallelJobStruct {
    /// Query data of the entities of a chunk.
    type Query: ParallelData + ChunkData + 'static;

    /// Processes one chunk.
    fn execute(job: &mut Self::Batch<'_>, chunk: ChunkInJob<'_, Self::Query>);
}

/// Calls a job for each entity of a chunk.
#[inline(always)]
fn each_entity<J: EntityJob>(work: BatchWork<'_, '_, J::Query, J::Data>) {
    let (batch, captures) = work.open_with(false);
    let mut job = J::batch(captures);
    let (mut items, chunk) = batch.split();
    let mut chunk = ChunkInJob::new(chunk);
    if !J::begin_chunk(&mut job, &mut chunk) {
        return;
    }
    let (index, first) = (chunk.index(), chunk.in_query().start);
    let mut in_batch = 0;
    items.each_item(
        #[inline(always)]
        |item, row| {
            let at = EntityAt { in_query: first + in_batch, row, in_batch, chunk: index };
            J::execute(&mut job, item, at);
            in_batch += 1;
        },
    );
    J::end_chunk(&mut job, &mut chunk);
}

/// Calls a job for a chunk.
#[inline(always)]
fn whole_chunk<J: ChunkJob>(work: BatchWork<'_, '_, J::Query, J::Data>) {
    let (batch, captures) = work.open_with(true);
    J::execute(&mut J::batch(captures), ChunkInJob::new(batch));
}

/// Methods that schedule or run job structs.
///
/// All of them panic with the codes of [`QueryJob`]. The methods for an [`EntityJob`] panic with A0010 if a container that the job
/// writes has fewer elements than the query has entities. The methods for a [`ChunkJob`] panic with A0158 if a container that the
/// job writes has fewer elements than the query has [chunks](crate::Query::count_chunks_unfiltered).
impl<D: ParallelData + 'static> QueryJob<'_, D> {
    /// Schedules an [`EntityJob`] on one thread. Chunks are processed in order.
    #[track_caller]
    pub fn schedule_job<J: EntityJob<Query = D>>(self, job: J) -> JobHandle {
        self.entity_task(job).schedule(|whole| {
            whole.each_batch(Divide::NUMBERED_CHUNKS, each_entity::<J>);
        })
    }

    /// Schedules an [`EntityJob`] on all threads. Each chunk is processed by one thread.
    #[track_caller]
    pub fn schedule_job_parallel<J: EntityJob<Query = D>>(self, job: J) -> JobHandle {
        let task = self.entity_task(job);
        task.schedule_parallel(Divide::NUMBERED_CHUNKS, |work| each_entity::<J>(work))
    }

    /// Runs an [`EntityJob`] now, on this thread.
    ///
    /// # Panics
    ///
    /// Panics if the job panics, or for the reasons of [`schedule_job`](Self::schedule_job).
    #[track_caller]
    pub fn run_job<J: EntityJob<Query = D>>(self, job: J) {
        self.entity_task(job).run(|whole| {
            whole.each_batch(Divide::NUMBERED_CHUNKS, each_entity::<J>);
        });
    }

    /// Schedules a [`ChunkJob`] on one thread. Chunks are processed in order.
    #[track_caller]
    pub fn schedule_chunk_job<J: ChunkJob<Query = D>>(self, job: J) -> JobHandle {
        self.chunk_task(job).schedule(|whole| {
            whole.each_batch(Divide::NUMBERED_SLICES, whole_chunk::<J>);
        })
    }

    /// Schedules a [`ChunkJob`] on all threads. Each chunk is processed by one thread.
    #[track_caller]
    pub fn schedule_chunk_job_parallel<J: ChunkJob<Query = D>>(self, job: J) -> JobHandle {
        let task = self.chunk_task(job);
        task.schedule_parallel(Divide::NUMBERED_SLICES, |work| whole_chunk::<J>(work))
    }

    /// Runs a [`ChunkJob`] now, on this thread.
    ///
    /// # Panics
    ///
    /// Panics if the job panics, or for the reasons of [`schedule_chunk_job`](Self::schedule_chunk_job).
    #[track_caller]
    pub fn run_chunk_job<J: ChunkJob<Query = D>>(self, job: J) {
        self.chunk_task(job).run(|whole| {
            whole.each_batch(Divide::NUMBERED_SLICES, whole_chunk::<J>);
        });
    }
}

impl<'w, D: ParallelData + 'static> QueryJob<'w, D> {
    #[track_caller]
    fn entity_task<J: EntityJob<Query = D>>(self, job: J) -> Task<'w, D, D, J::Data, MarkRows> {
        let mut task = self.task::<J, _, MarkRows>(job.into_data());
        task.check_count();
        task
    }

    #[track_caller]
    fn chunk_task<J: ChunkJob<Query = D>>(self, job: J) -> Task<'w, D, D, J::Data, MarkSlices> {
        let task = self.task::<J, _, MarkSlices>(job.into_data());
        task.check_chunk_count();
        task
    }
}

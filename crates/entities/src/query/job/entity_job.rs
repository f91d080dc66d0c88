//! Jobs over entities as structs with named fields.

#![expect(
    unsafe_code,
    reason = "values of chunks of a world, which jobs use when the call that scheduled them is over"
)]

use std::any::type_name;
use std::fmt;
use std::ops::Range;

use ancho_jobs::{JobHandle, ParallelJobStruct};

use super::super::data::{ChunkData, QueryData};
use super::super::parallel::ParallelData;
use super::super::rows::{Divide, OpenPiece, Rows};
use super::token::{GivenRows, GivenSlices, QueryBatch};
use super::{JobError, QueryJob};
use crate::entity::Entity;

/// Which entity a job is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityAt {
    /// Its number among all entities that are found, from zero on, in the order of the chunks. Unity's `EntityIndexInQuery`.
    pub in_query: usize,
    /// Its row in the chunk, whatever else is found there. Unity's `EntityIndexInChunk`.
    pub row: usize,
    /// Its number among the entities of the chunk that are found: which element of what the job writes is its own.
    pub in_batch: usize,
    /// The number of the chunk: see [`ChunkAt::chunk`]. Unity's `ChunkIndexInQuery`.
    pub chunk: usize,
}

/// Which chunk a job is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkAt {
    /// The number of the chunk among all chunks of the archetypes that match, whatever has changed, is disabled, or has another
    /// shared value: there may be gaps between the chunks that the job is given. It is below
    /// [`count_chunks_unfiltered`](crate::QueryRef::count_chunks_unfiltered). Unity's `unfilteredChunkIndex`.
    pub chunk: usize,
    /// The numbers of its entities among all that are found.
    pub in_query: Range<usize>,
}

/// A job over entities as a struct, called for each of them (Unity's `IJobEntity`).
///
/// The fields are tokens of containers, [lookups](crate::JobLookup) and plain values, as for
/// [`ParallelFor`](ancho_jobs::ParallelFor). It is scheduled by a query of the data that it names.
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
/// let job = world.query_mut::<(&mut Position, &Velocity)>().job().schedule_job_parallel(job)?;
/// world.jobs().complete(job);
/// assert_eq!(moved.as_slice().unwrap()[999], 1000.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait EntityJob: ParallelJobStruct {
    /// What the job is given of each entity.
    type Query: ParallelData + 'static;

    /// Does the work of one entity.
    fn execute(
        job: &mut Self::Batch<'_>,
        entity: <Self::Query as QueryData>::Item<'_>,
        at: EntityAt,
    );

    /// Called before the first entity of a chunk. Returns whether there is anything to do in it: a chunk that is passed over does
    /// not count as changed.
    ///
    /// Which of its entities are found is not changed by what is done here.
    fn begin_chunk(job: &mut Self::Batch<'_>, chunk: &ChunkAt) -> bool {
        _ = (job, chunk);
        true
    }

    /// Called after the last entity of a chunk, unless it was passed over.
    fn end_chunk(job: &mut Self::Batch<'_>, chunk: &ChunkAt) {
        _ = (job, chunk);
    }
}

/// A job over entities as a struct, called for each chunk (Unity's `IJobChunk`).
///
/// It is called once for each chunk in which entities are found. A chunk counts as changed if the job asks for its
/// [values](ChunkInJob::for_each_run) and can write them.
///
/// The indices of the job are the [numbers](ChunkAt::chunk) of the chunks: of each container that it writes, a chunk is given
/// the one element of its number, as a slice of one. The container has an element for each of the
/// [chunks](crate::QueryRef::count_chunks_unfiltered) of the query. To write an element for each entity, use [`EntityJob`].
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
/// world.query_mut::<&mut Heat>().job().schedule_chunk_job_parallel(Even { share: 0.5 })?;
/// assert_eq!(world.get::<Heat>(stones[0])?.0, 15.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A sum for each chunk:
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
/// let weigh = query.job().schedule_chunk_job_parallel(Weigh { sums: sums.write() })?;
/// world.jobs().complete(weigh);
/// assert_eq!(sums.as_slice().unwrap().iter().sum::<u32>(), 2000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ChunkJob: ParallelJobStruct {
    /// What the job is given of the entities of a chunk.
    type Query: ParallelData + ChunkData + 'static;

    /// Does the work of one chunk.
    fn execute(job: &mut Self::Batch<'_>, chunk: ChunkInJob<'_, Self::Query>);
}

/// A chunk that a [`ChunkJob`] is given.
pub struct ChunkInJob<'c, D: QueryData> {
    piece: OpenPiece<'c, D>,
    rows: &'c Rows,
    /// Which piece of the rows.
    at: usize,
}

impl<D: ParallelData + ChunkData> ChunkInJob<'_, D> {
    /// Which chunk it is.
    pub fn at(&self) -> ChunkAt {
        self.piece.at()
    }

    /// All entities of the chunk, found or not.
    pub fn entities(&self) -> &[Entity] {
        self.piece.chunk.entities()
    }

    /// Whether all entities of the chunk are found, since nothing of what is asked for can be switched off.
    pub fn is_whole(&self) -> bool {
        self.piece.is_whole()
    }

    /// Calls a function with slices, of entities that lie side by side and are found. If [all](Self::is_whole) are, once.
    pub fn for_each_run(&mut self, mut function: impl FnMut(D::Slices<'_>)) {
        self.for_each_run_at(|slices, _| function(slices));
    }

    /// As [`for_each_run`](Self::for_each_run), with the rows in the chunk.
    pub fn for_each_run_at(&mut self, mut function: impl FnMut(D::Slices<'_>, Range<usize>)) {
        let piece = &self.piece;
        self.rows.record_insert(self.at);
        piece.each_run(|run| {
            let rows = run.start as usize..run.end as usize;
            // SAFETY: the piece was opened by this thread alone. These are rows of it, and this is borrowed mutably while
            // they are in use: the function takes whatever the lifetime is, and so keeps nothing.
            function(unsafe { D::slices(piece.fetch, rows.start, rows.len()) }, rows);
        });
    }
}

impl<D: QueryData> fmt::Debug for ChunkInJob<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChunkInJob<{}>({:?})", type_name::<D>(), self.piece.at())
    }
}

impl<D: QueryData> OpenPiece<'_, D> {
    fn at(&self) -> ChunkAt {
        ChunkAt { chunk: self.chunk_number, in_query: self.found_numbers.clone() }
    }
}

/// Does the work of a chunk, entity by entity.
///
/// # Safety
///
/// - the rows are prepared for the data of the job, in whole chunks, and the piece is opened once
#[inline(always)]
unsafe fn each_entity<J: EntityJob>(batch: &QueryBatch<'_, J::Data>, at: usize) {
    // SAFETY: the caller's promise.
    let piece = unsafe { batch.rows.open::<J::Query>(at) };
    let chunk = piece.at();
    // SAFETY: as above. Entities have numbers of their own.
    let mut job = J::batch(unsafe { batch.extra(at, chunk.in_query.clone()) });
    if !J::begin_chunk(&mut job, &chunk) {
        return;
    }
    batch.rows.record_insert(at);
    let mut in_batch = 0;
    // SAFETY: as above. The row is there. None comes twice, so that nobody else uses what can be changed of it, and it was made
    // the world's alone.
    unsafe {
        piece.each_row(
            #[inline(always)]
            |row| {
                let in_query = chunk.in_query.start + in_batch;
                let at = EntityAt { in_query, row, in_batch, chunk: chunk.chunk };
                J::execute(&mut job, J::Query::get(piece.fetch, row), at);
                in_batch += 1;
            },
        );
    }
    J::end_chunk(&mut job, &chunk);
}

/// Does the work of a chunk at once.
///
/// # Safety
///
/// - as for [`each_entity`]
#[inline(always)]
unsafe fn whole_chunk<J: ChunkJob>(batch: &QueryBatch<'_, J::Data>, at: usize) {
    // SAFETY: the caller's promise.
    let piece = unsafe { batch.rows.open::<J::Query>(at) };
    let number = piece.chunk_number;
    // SAFETY: as above. Chunks are whole, so that each is one piece, and have numbers of their own.
    let mut job = J::batch(unsafe { batch.extra(at, number..number + 1) });
    J::execute(&mut job, ChunkInJob { piece, rows: batch.rows, at });
}

impl<D: ParallelData + 'static> QueryJob<'_, D> {
    /// Schedules a job struct that one thread does, entity by entity, in the order of the chunks. See [`EntityJob`].
    ///
    /// # Errors
    ///
    /// As [`QueryJobWith::schedule_parallel`](crate::QueryJobWith::schedule_parallel).
    #[track_caller]
    pub fn schedule_job<J: EntityJob<Query = D>>(self, job: J) -> Result<JobHandle, JobError> {
        let name = self.name_or::<J>();
        let token = self.counted_token::<_, GivenRows<D>>(job.into_data(), name)?;
        // SAFETY: the rows are prepared for the data of the job, in whole chunks.
        self.submit_single(token, Divide::NumberedChunks, name, |batch, at| unsafe {
            each_entity::<J>(batch, at);
        })
    }

    /// Schedules a job struct that all threads do, each whole chunks. See [`EntityJob`].
    ///
    /// # Errors
    ///
    /// As [`QueryJobWith::schedule_parallel`](crate::QueryJobWith::schedule_parallel).
    #[track_caller]
    pub fn schedule_job_parallel<J: EntityJob<Query = D>>(
        self,
        job: J,
    ) -> Result<JobHandle, JobError> {
        let name = self.name_or::<J>();
        // SAFETY: the rows are prepared for the data of the job, in whole chunks.
        let each = |batch: &QueryBatch<'_, J::Data>, at| unsafe { each_entity::<J>(batch, at) };
        let token = self.counted_token::<_, GivenRows<D>>(job.into_data(), name)?;
        self.submit(token, Divide::NumberedChunks, name, each)
    }

    /// Does the work of a job struct now, on this thread. See [`EntityJob`].
    ///
    /// # Errors
    ///
    /// As [`QueryJobWith::schedule_parallel`](crate::QueryJobWith::schedule_parallel).
    ///
    /// # Panics
    ///
    /// If the job panics.
    #[track_caller]
    pub fn run_job<J: EntityJob<Query = D>>(self, job: J) -> Result<(), JobError> {
        let name = self.name_or::<J>();
        let token = self.counted_token::<_, GivenRows<D>>(job.into_data(), name)?;
        // SAFETY: the rows are prepared for the data of the job, in whole chunks.
        self.run_single(token, Divide::NumberedChunks, name, |batch, at| unsafe {
            each_entity::<J>(batch, at);
        })
    }

    /// Schedules a job struct that one thread does, chunk by chunk. See [`ChunkJob`].
    ///
    /// # Errors
    ///
    /// As [`QueryJob::schedule`]; also with A0158 if a container that the job writes has fewer elements than the query has
    /// [chunks](crate::QueryRef::count_chunks_unfiltered), with A0001 if a container is in use by a job that this one is not ordered
    /// after, and with A0002 if one is taken along twice.
    #[track_caller]
    pub fn schedule_chunk_job<J: ChunkJob<Query = D>>(self, job: J) -> Result<JobHandle, JobError> {
        let name = self.name_or::<J>();
        let token = self.token_by_chunk::<_, GivenSlices<D>>(job.into_data(), name)?;
        // SAFETY: the rows are prepared for the data of the job, in whole chunks.
        self.submit_single(token, Divide::NumberedSlices, name, |batch, at| unsafe {
            whole_chunk::<J>(batch, at);
        })
    }

    /// Schedules a job struct that all threads do, chunk by chunk. See [`ChunkJob`].
    ///
    /// # Errors
    ///
    /// As [`QueryJob::schedule`]; also with A0158 if a container that the job writes has fewer elements than the query has
    /// [chunks](crate::QueryRef::count_chunks_unfiltered), with A0001 if a container is in use by a job that this one is not ordered
    /// after, and with A0002 if one is taken along twice.
    #[track_caller]
    pub fn schedule_chunk_job_parallel<J: ChunkJob<Query = D>>(
        self,
        job: J,
    ) -> Result<JobHandle, JobError> {
        let name = self.name_or::<J>();
        // SAFETY: the rows are prepared for the data of the job, in whole chunks.
        let each = |batch: &QueryBatch<'_, J::Data>, at| unsafe { whole_chunk::<J>(batch, at) };
        let token = self.token_by_chunk::<_, GivenSlices<D>>(job.into_data(), name)?;
        self.submit(token, Divide::NumberedSlices, name, each)
    }

    /// Does the work of a job struct now, on this thread, chunk by chunk. See [`ChunkJob`].
    ///
    /// # Errors
    ///
    /// As [`QueryJob::schedule`]; also with A0158 if a container that the job writes has fewer elements than the query has
    /// [chunks](crate::QueryRef::count_chunks_unfiltered), with A0001 if a container is in use by a job that this one is not ordered
    /// after, and with A0002 if one is taken along twice.
    ///
    /// # Panics
    ///
    /// If the job panics.
    #[track_caller]
    pub fn run_chunk_job<J: ChunkJob<Query = D>>(self, job: J) -> Result<(), JobError> {
        let name = self.name_or::<J>();
        let token = self.token_by_chunk::<_, GivenSlices<D>>(job.into_data(), name)?;
        // SAFETY: the rows are prepared for the data of the job, in whole chunks.
        self.run_single(token, Divide::NumberedSlices, name, |batch, at| unsafe {
            whole_chunk::<J>(batch, at);
        })
    }
}

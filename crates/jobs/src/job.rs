//! Jobs as structs with named fields.

use std::ops::Range;

use crate::data::{JobData, ParallelJobData};

/// A struct that can be scheduled as a single job. Its fields are tokens of containers and plain values.
///
/// The trait is implemented by a derive macro. Fields whose type mentions the struct's lifetime are tokens. Other fields are plain
/// values that the job owns. For a struct `Add`, the derive generates `AddView`, with the same field names. Its fields are the
/// views of the tokens, and `&mut` references to the plain values.
///
/// See [`Job`] for an example.
pub trait JobStruct {
    /// The fields of the struct, as job data.
    type Data: JobData;

    /// The view of the struct that the job gets.
    type View<'v>;

    /// Converts the struct into job data.
    fn into_data(self) -> Self::Data;

    /// Creates the view from the views of the fields.
    fn view(fields: <Self::Data as JobData>::Whole<'_>) -> Self::View<'_>;
}

/// A struct that can be scheduled as a parallel job. Its fields are tokens of containers and plain values.
///
/// The trait is implemented by a derive macro, like [`JobStruct`]. For a struct `Move`, the derive generates `MoveBatch` and
/// `MoveItem`. Their fields are the views of the tokens for a batch and for an index, and `&` references to the plain values.
///
/// See [`ParallelFor`] and [`ParallelForBatch`] for examples.
pub trait ParallelJobStruct {
    /// The fields of the struct, as job data.
    type Data: ParallelJobData;

    /// The view of the struct that a batch gets.
    type Batch<'v>;

    /// The view of the struct that an index gets.
    type Item<'b>;

    /// Converts the struct into job data.
    fn into_data(self) -> Self::Data;

    /// Creates the view of a batch from the views of the fields.
    fn batch(fields: <Self::Data as ParallelJobData>::Batch<'_>) -> Self::Batch<'_>;

    /// Creates the view of an index from the views of the fields.
    fn item(fields: <Self::Data as ParallelJobData>::Item<'_>) -> Self::Item<'_>;
}

/// A single job as a struct (Unity's `IJob`).
///
/// # Examples
///
#[cfg_attr(feature = "derive", doc = "```")]
#[cfg_attr(not(feature = "derive"), doc = "```ignore")]
/// use ancho_jobs::{CellWrite, Job, JobCell, JobPool, JobScheduler, JobStruct};
///
/// #[derive(JobStruct)]
/// struct Add<'a> {
///     total: CellWrite<'a, f32>,
///     amount: f32,
/// }
///
/// impl Job for Add<'_> {
///     fn execute(job: AddView<'_>) {
///         *job.total += *job.amount;
///     }
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut total = JobCell::new(3.0);
/// let add = jobs.schedule_job(&[], Add { total: total.write(), amount: 5.0 }).unwrap();
/// jobs.complete(add);
/// assert_eq!(*total.get().unwrap(), 8.0);
/// ```
pub trait Job: JobStruct {
    /// Runs the job.
    fn execute(job: Self::View<'_>);
}

/// A parallel job as a struct, called for each index (Unity's `IJobParallelFor`).
///
/// # Examples
///
#[cfg_attr(feature = "derive", doc = "```")]
#[cfg_attr(not(feature = "derive"), doc = "```ignore")]
/// use ancho_jobs::{JobPool, JobScheduler, JobSlice, SliceRead, SliceWrite};
/// use ancho_jobs::{ParallelFor, ParallelJobStruct};
///
/// #[derive(ParallelJobStruct)]
/// struct Move<'a> {
///     position: SliceWrite<'a, f32>,
///     velocities: SliceRead<'a, f32>,
///     dt: f32,
/// }
///
/// impl ParallelFor for Move<'_> {
///     fn execute(job: MoveItem<'_>, index: usize) {
///         *job.position += job.velocities[index] * job.dt;
///     }
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut positions = JobSlice::new(100, 1.0);
/// let velocities = JobSlice::new(100, 4.0);
/// let job = Move { position: positions.write(), velocities: velocities.read(), dt: 0.5 };
/// let job = jobs.schedule_parallel_for(&[], job, 100, 32).unwrap();
/// jobs.complete(job);
/// assert_eq!(positions.as_slice().unwrap()[99], 3.0);
/// ```
pub trait ParallelFor: ParallelJobStruct {
    /// Runs the job for one index.
    fn execute(job: Self::Item<'_>, index: usize);
}

/// A parallel job as a struct, called for each batch (Unity's `IJobParallelForBatch`).
///
/// # Examples
///
#[cfg_attr(feature = "derive", doc = "```")]
#[cfg_attr(not(feature = "derive"), doc = "```ignore")]
/// use ancho_jobs::{JobPool, JobScheduler, JobSlice, SliceWrite};
/// use ancho_jobs::{ParallelForBatch, ParallelJobStruct};
/// use std::ops::Range;
///
/// #[derive(ParallelJobStruct)]
/// struct Number<'a> {
///     numbers: SliceWrite<'a, usize>,
/// }
///
/// impl ParallelForBatch for Number<'_> {
///     fn execute(job: NumberBatch<'_>, range: Range<usize>) {
///         for (number, index) in job.numbers.iter_mut().zip(range) {
///             *number = index;
///         }
///     }
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut numbers = JobSlice::new(100, 0);
/// let job = jobs.schedule_parallel_for_batch(&[], Number { numbers: numbers.write() }, 100, 32);
/// jobs.complete(job.unwrap());
/// assert_eq!(numbers.as_slice().unwrap()[99], 99);
/// ```
pub trait ParallelForBatch: ParallelJobStruct {
    /// Runs the job for one batch.
    fn execute(job: Self::Batch<'_>, range: Range<usize>);
}

//! What a query finds, by number, for jobs that think in indices.

#![expect(
    unsafe_code,
    reason = "values of chunks of a world, which jobs use when the call that scheduled them is over"
)]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use ancho_jobs::{
    AccessList, BatchInfo, ContainerLabel, JobData, JobScheduler, ParallelJobData, ScheduleError,
};

use super::super::data::{QueryData, ReadOnlyData};
use super::super::filter::QueryFilter;
use super::super::parallel::ParallelData;
use super::super::plan::{Need, Part};
use super::super::pool::Pooled;
use super::super::read::QueryRef;
use super::super::rows::Rows;
use super::super::settings::Options;
use super::super::view::Query;
use super::super::write::QueryMut;
use super::{JobError, QueryJob};
use crate::manager::Jobs;

/// What a query finds, by number: what an ordinary [parallel job](ancho_jobs::ParallelFor) takes along.
///
/// Several components are in step if one array is of all of them. Each index of the job is given its own entity; arrays that
/// only read can be asked for [any](QueryArrayBatch::get). The numbers are those of
/// [`to_entities`](QueryRef::to_entities). Unity's `ComponentDataArray`, `EntityArray` and `BufferArray`.
///
/// The job is scheduled on the world's own [jobs](Self::jobs), and waits for others because of what it uses, as every job over
/// entities does.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Entity, QueryArray, World};
/// use ancho_jobs::{ParallelFor, ParallelJobStruct};
///
/// #[derive(Component, Clone, Copy)]
/// struct Position(f32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Velocity(f32);
///
/// #[derive(ParallelJobStruct)]
/// struct Move<'a> {
///     bodies: QueryArray<'a, (&'static mut Position, &'static Velocity, Entity)>,
///     dt: f32,
/// }
///
/// impl ParallelFor for Move<'_> {
///     fn execute(job: MoveItem<'_>, _index: usize) {
///         let (position, velocity, _entity) = job.bodies;
///         position.0 += velocity.0 * *job.dt;
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// let stone = world.spawn((Position(0.0), Velocity(3.0)));
/// let bodies = world.query_mut::<(&mut Position, &Velocity, Entity)>().into_array()?;
/// let (jobs, count) = (bodies.jobs(), bodies.len());
/// let _job = jobs.schedule_parallel_for(&[], Move { bodies, dt: 0.5 }, count, 64)?;
/// assert_eq!(world.get::<Position>(stone)?.0, 1.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "it is for a job to take along"]
pub struct QueryArray<'w, D> {
    rows: Pooled<Rows>,
    jobs: &'w Jobs,
    label: ContainerLabel,
    /// It may not become a subtype, whose values may lie otherwise.
    of: PhantomData<fn(D) -> D>,
}

/// What a job keeps of an array.
pub struct ArrayHeld<D> {
    rows: Pooled<Rows>,
    /// It may not become a subtype, whose values may lie otherwise.
    of: PhantomData<fn(D) -> D>,
}

/// What a batch of indices sees of an array.
pub struct QueryArrayBatch<'v, D: QueryData> {
    rows: &'v Rows,
    /// The indices of the batch.
    batch: Range<usize>,
    /// The chunk that was looked at last: its numbers, and what was fetched from it.
    recent: Range<usize>,
    fetch: Option<D::Fetch>,
}

impl<'w, D> QueryArray<'w, D> {
    /// How many entities there are.
    pub fn len(&self) -> usize {
        self.rows.get().all()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The jobs of the world, which the one that takes this along is scheduled on.
    pub fn jobs(&self) -> &'w JobScheduler {
        self.jobs.scheduler()
    }
}

impl<'v, D: QueryData> QueryArrayBatch<'v, D> {
    /// How many entities there are in the whole array.
    pub fn len(&self) -> usize {
        self.rows.all()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The indices of the batch.
    pub fn range(&self) -> Range<usize> {
        self.batch.clone()
    }

    /// What is given for an index, whichever batch it is of.
    ///
    /// # Panics
    ///
    /// With A0077 if there are not so many entities.
    #[track_caller]
    pub fn get(&mut self, index: usize) -> D::Item<'v>
    where
        D: ReadOnlyData,
    {
        self.refuse_beyond(index);
        // SAFETY: there is such an entity. Nothing can be changed.
        unsafe { self.give(index) }
    }

    /// What is given for an index of the batch, to be changed.
    ///
    /// # Panics
    ///
    /// With A0077 if there are not so many entities, or if it is an index of another batch: another thread may be at it.
    #[inline]
    #[track_caller]
    pub fn get_mut(&mut self, index: usize) -> D::Item<'_> {
        self.refuse_beyond(index);
        assert!(
            self.batch.contains(&index),
            "A0077: index {index} is out of the restricted range {} to {} of this batch of a parallel job, of an array of \
             `{}`; change what is in the range, or take an array that only reads",
            self.batch.start,
            self.batch.end.saturating_sub(1),
            type_name::<D>()
        );
        // SAFETY: it is an index of the batch, and this is borrowed mutably.
        unsafe { self.give(index) }
    }

    #[track_caller]
    fn refuse_beyond(&self, index: usize) {
        assert!(
            index < self.len(),
            "A0077: index {index} is asked of an array of {} entities, of `{}`; ask for one below that",
            self.len(),
            type_name::<D>()
        );
    }

    /// What is given for an index.
    ///
    /// # Safety
    ///
    /// - there are so many entities
    /// - nobody else uses what can be changed of it for the lifetime
    #[inline]
    unsafe fn give<'i>(&mut self, index: usize) -> D::Item<'i> {
        let fetch = match self.fetch {
            Some(fetch) if self.recent.contains(&index) => fetch,
            _ => self.find(index),
        };
        // SAFETY: the row is there. The rest is the caller's promise.
        unsafe { D::get(fetch, index - self.recent.start) }
    }

    /// Goes to the chunk of an entity.
    #[inline(never)]
    fn find(&mut self, index: usize) -> D::Fetch {
        // SAFETY: the rows were taken for this data.
        let piece = unsafe { self.rows.open::<D>(self.rows.piece_of(index)) };
        self.recent = piece.found_numbers.clone();
        *self.fetch.insert(piece.fetch)
    }
}

// SAFETY:
// - what is used is declared, as uses of the world
// - it borrows the world for the lifetime: mutably, if something is written
// - what the views reach lives as long as the world, which has its jobs completed before it goes, and what is behind the fences
//   before it changes anything of it
unsafe impl<D: ParallelData + 'static> JobData for QueryArray<'_, D> {
    type Held = ArrayHeld<D>;
    type Whole<'v> = QueryArrayBatch<'v, D>;

    fn declare(&self, accesses: &mut AccessList) {
        self.rows.get().declare(self.jobs, accesses);
    }

    fn hold(self) -> ArrayHeld<D> {
        ArrayHeld { rows: self.rows, of: PhantomData }
    }

    unsafe fn whole(held: &mut ArrayHeld<D>) -> QueryArrayBatch<'_, D> {
        let rows = held.rows.get();
        QueryArrayBatch { rows, batch: 0..rows.all(), recent: 0..0, fetch: None }
    }

    const SETTLES: bool = D::MARKS;

    unsafe fn settle(held: &mut ArrayHeld<D>) {
        // Now that all is written, it counts as changed. Nobody has asked meanwhile.
        // SAFETY: the rows were taken for this data, and nobody else uses what it changes.
        unsafe { held.rows.get().mark_taken::<D>() };
    }
}

// SAFETY: as above. What can be changed is given for the indices of a batch alone. No two entities have bits in one word that
// different batches would write, since such data is refused.
unsafe impl<D: ParallelData + 'static> ParallelJobData for QueryArray<'_, D> {
    type Batch<'v> = QueryArrayBatch<'v, D>;
    type Item<'b> = D::Item<'b>;

    fn check_count(&self, job: &'static str, count: usize) -> Result<(), ScheduleError> {
        let (container, length) = (self.label, self.len());
        let too_short = ScheduleError::TooShort { container, job, length, count };
        if count <= length { Ok(()) } else { Err(too_short) }
    }

    type Open<'v> = ();

    unsafe fn open(_: &ArrayHeld<D>) {}

    #[inline(always)]
    unsafe fn batch<'v>(
        held: &'v ArrayHeld<D>,
        (): &(),
        batch: &BatchInfo,
    ) -> QueryArrayBatch<'v, D> {
        let rows = held.rows.get();
        assert!(batch.range.end <= rows.all(), "the array is too short for the batch");
        QueryArrayBatch { rows, batch: batch.range.clone(), recent: 0..0, fetch: None }
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut QueryArrayBatch<'_, D>, offset: usize) -> D::Item<'b> {
        // Anybody can call this, with any offset. One that begins anew at zero comes out before the first index.
        batch.get_mut(batch.batch.start.wrapping_add(offset))
    }
}

impl<'w, D: ParallelData> QueryJob<'w, D> {
    /// What the query finds, by number.
    #[track_caller]
    fn into_array(self) -> Result<QueryArray<'w, D>, JobError> {
        // Whether an optional part is on is asked for each entity, in whatever batch: others may be switching it by then, in the
        // same job.
        let plan = &self.matched.plan;
        let ignores = plan.options.has(Options::IGNORE_ENABLED);
        let asks = |part: &Part| {
            part.bits && part.write
                || part.need == Need::Optional && part.ty.is_enableable() && !ignores
        };
        let asks = plan.parts.iter().any(asks);
        if self.matched.asks_for_changes || self.matched.asks_for_bits || asks {
            return Err(JobError::NotCounted { query: type_name::<D>() });
        }
        let (mut rows, jobs) = (self.collect()?, self.jobs());
        rows.get_mut().take_whole();
        Ok(QueryArray {
            rows,
            jobs,
            label: ContainerLabel::of::<QueryArray<'static, D>>(),
            of: PhantomData,
        })
    }
}

impl<'w, D: ParallelData, F: QueryFilter> QueryMut<'w, D, F> {
    /// What the query finds, by number, for ordinary parallel jobs. See [`QueryArray`].
    ///
    /// # Errors
    ///
    /// With A0076 if what is found depends on what is switched off or has changed; or if chunks are shared with a fork, and there
    /// is no memory for copies.
    #[track_caller]
    pub fn into_array(self) -> Result<QueryArray<'w, D>, JobError> {
        self.job().into_array()
    }
}

impl<'w, D: ReadOnlyData + ParallelData, F: QueryFilter> QueryRef<'w, D, F> {
    /// What the query finds, by number, for ordinary parallel jobs. See [`QueryArray`].
    ///
    /// # Errors
    ///
    /// With A0076 if what is found depends on what is switched off or has changed.
    #[track_caller]
    pub fn to_array(&self) -> Result<QueryArray<'w, D>, JobError> {
        self.job().into_array()
    }
}

impl<'w, D: ParallelData, F: QueryFilter> Query<'w, D, F> {
    /// What the query finds, by number, for ordinary parallel jobs, in the place of the view. See [`QueryArray`].
    ///
    /// # Errors
    ///
    /// With A0076 if what is found depends on what is switched off or has changed.
    #[track_caller]
    pub fn into_array(self) -> Result<QueryArray<'w, D::Static>, JobError>
    where
        D::Static: ParallelData,
    {
        self.job().into_array()
    }
}

impl<D> fmt::Debug for QueryArray<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryArray<{}>({})", type_name::<D>(), self.len())
    }
}

impl<D> fmt::Debug for ArrayHeld<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrayHeld<{}>", type_name::<D>())
    }
}

impl<D: QueryData> fmt::Debug for QueryArrayBatch<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryArrayBatch<{}>({:?})", type_name::<D>(), self.batch)
    }
}

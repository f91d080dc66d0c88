//! Query results as lists and arrays, for jobs.

#![expect(
    unsafe_code,
    reason = "jobs use values of chunks after the call that scheduled them has returned"
)]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use ancho_collections::List;
use ancho_jobs::{
    Access, AccessList, BatchInfo, CellWrite, ContainerLabel, JobData, JobHandle, JobScheduler,
    ParallelJobData, ScheduleError, SliceRead,
};

use super::QueryJob;
use crate::component::{Component, ComponentType, Mutable};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::{Jobs, Resource};
use crate::query::batch::{OpenBatch, Pooled, Rows};
use crate::query::data::{Column, QueryData, ReadOnlyData};
use crate::query::parallel::ParallelData;
use crate::query::terms::{Need, Options, Part};
use crate::query::walk::refuse;

/// An array of the entities of a query, which an ordinary [parallel job](ancho_jobs::ParallelFor) captures.
///
/// One array can have several components: each index of the job receives the data of one entity. In a job over batches, the
/// function receives a [`QueryArrayBatch`]. Its `get_mut` takes an index of the batch, and its `get`, which read-only data has,
/// any index. The indices are those of [`to_entities`](crate::Query::to_entities). This is Unity's `ComponentDataArray`,
/// `EntityArray` and `BufferArray`.
///
/// The job must be scheduled on the world's own [job scheduler](Self::jobs). Like every job over entities, it waits for jobs that
/// conflict with its data.
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
/// let bodies = world.query_mut::<(&mut Position, &Velocity, Entity)>().job().into_array();
/// let (jobs, count) = (bodies.jobs(), bodies.len());
/// jobs.schedule_parallel_for(&[], Move { bodies, dt: 0.5 }, count, 64)?;
/// assert_eq!(world.get::<Position>(stone)?.0, 1.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a job has to capture the array"]
pub struct QueryArray<'w, D> {
    rows: Pooled<Rows>,
    jobs: &'w Jobs,
    label: ContainerLabel,
    /// Invariant in `D`: the columns of a subtype may be laid out differently.
    of: PhantomData<fn(D) -> D>,
}

/// The part of a [`QueryArray`] that its job owns.
#[expect(missing_debug_implementations, reason = "owned by a job")]
pub struct ArrayHeld<D> {
    rows: Pooled<Rows>,
    /// Invariant in `D`: the columns of a subtype may be laid out differently.
    of: PhantomData<fn(D) -> D>,
}

/// View of a [`QueryArray`] in one batch of a parallel job.
pub struct QueryArrayBatch<'v, D: QueryData> {
    rows: &'v Rows,
    /// Indices of the batch.
    batch: Range<usize>,
    /// Indices of the entities in the chunk that was used last. `fetch` is the fetch of that chunk.
    recent: Range<usize>,
    fetch: Option<D::Fetch>,
}

impl<'w, D> QueryArray<'w, D> {
    /// Returns the number of entities in the array.
    pub fn len(&self) -> usize {
        self.rows.get().all
    }

    /// Returns `true` if the array has no entities.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the job scheduler of the world. A job with this array must be scheduled on it.
    pub fn jobs(&self) -> &'w JobScheduler {
        self.jobs.scheduler()
    }
}

impl<'v, D: QueryData> QueryArrayBatch<'v, D> {
    /// Returns the number of entities in the whole array.
    pub fn len(&self) -> usize {
        self.rows.all
    }

    /// Returns `true` if the whole array is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the indices of the batch.
    pub fn range(&self) -> Range<usize> {
        self.batch.clone()
    }

    /// Returns the data of the entity at an index, in this batch or in another.
    ///
    /// # Panics
    ///
    /// Panics with A0077 if the index is out of bounds.
    #[track_caller]
    pub fn get(&mut self, index: usize) -> D::Item<'v>
    where
        D: ReadOnlyData,
    {
        self.check(index);
        // SAFETY: the index is in bounds, and the data is read-only.
        unsafe { self.row(index) }
    }

    /// Returns the data of the entity at an index of this batch, for writing.
    ///
    /// # Panics
    ///
    /// Panics with A0077 if the index is out of bounds, or in another batch, which another thread may use.
    #[inline]
    #[track_caller]
    pub fn get_mut(&mut self, index: usize) -> D::Item<'_> {
        self.check(index);
        assert!(
            self.batch.contains(&index),
            "A0077: index {index} is outside the range {} to {} of this batch of a parallel job, in an array of `{}`; \
             write only elements in the range, or use a read-only array",
            self.batch.start,
            self.batch.end.saturating_sub(1),
            type_name::<D>()
        );
        // SAFETY: the index is in bounds and in this batch, which is borrowed mutably.
        unsafe { self.row(index) }
    }

    #[track_caller]
    fn check(&self, index: usize) {
        assert!(
            index < self.len(),
            "A0077: index {index} is out of bounds for an array of {} entities of `{}`; use a smaller index",
            self.len(),
            type_name::<D>()
        );
    }

    /// Returns the data of the entity at an index.
    ///
    /// # Safety
    ///
    /// - the index is less than the number of entities
    /// - no other code uses data of the entity that can be written for the lifetime
    #[inline]
    unsafe fn row<'i>(&mut self, index: usize) -> D::Item<'i> {
        let fetch = match self.fetch {
            Some(fetch) if self.recent.contains(&index) => fetch,
            _ => self.find(index),
        };
        // SAFETY: the chunk has the row, and no other code uses data of the row that can be written for the lifetime.
        unsafe { D::get(fetch, index - self.recent.start) }
    }

    /// Fetches from the chunk of the entity at an index, and stores the fetch for later calls.
    #[inline(never)]
    fn find(&mut self, index: usize) -> D::Fetch {
        // SAFETY: the rows were collected for this data and taken whole, and only the fetch of the batch is used.
        let batch = unsafe { self.rows.open::<D>(self.rows.batch_of(index)) };
        self.recent = batch.found_numbers.clone();
        *self.fetch.insert(batch.fetch)
    }
}

// SAFETY:
// - `declare` declares all resources of the world that the rows use
// - the world is borrowed for the lifetime: mutably if the job writes components
// - all memory that the views access lives as long as the world; the world completes its jobs before it is dropped, and completes
//   the jobs that conflict before it changes anything
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
        QueryArrayBatch { rows, batch: 0..rows.all, recent: 0..0, fetch: None }
    }

    const SETTLES: bool = D::MARKS;

    unsafe fn settle(held: &mut ArrayHeld<D>) {
        // Chunks are marked after all values are written. No other job reads the versions before that.
        // SAFETY: the rows were collected for this data and taken whole, and no other job uses data that this job writes.
        unsafe { held.rows.get().mark_taken::<D>() };
    }
}

// SAFETY: the implementation of `JobData` fulfils its contract. Each batch yields only the data of its own indices for writing.
// `into_array` rejects data that writes enabled bits, because two batches could write bits of one word.
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
        assert!(batch.range.end <= rows.all, "the array is too short for the batch");
        QueryArrayBatch { rows, batch: batch.range.clone(), recent: 0..0, fetch: None }
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut QueryArrayBatch<'_, D>, offset: usize) -> D::Item<'b> {
        // The method is public, so the offset can be any number. If the sum wraps, it is less than the first index, and `get_mut`
        // panics.
        batch.get_mut(batch.batch.start.wrapping_add(offset))
    }
}

impl<D> fmt::Debug for QueryArray<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryArray<{}>({})", type_name::<D>(), self.len())
    }
}

impl<D: QueryData> fmt::Debug for QueryArrayBatch<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryArrayBatch<{}>({:?})", type_name::<D>(), self.batch)
    }
}

/// Arrays of entities, and jobs that copy entities or components to lists and back.
///
/// The jobs do the same as [`to_entities`](crate::Query::to_entities), [`to_components`](crate::Query::to_components) and
/// [`copy_from`](crate::Query::copy_from). Filters are evaluated when the job runs. Until the job is completed, only later jobs can
/// use its list. Two lists of one query have the same order if no entity or component changes between the two jobs.
impl<'w, D: QueryData> QueryJob<'w, D> {
    /// Converts the query into an array of its entities, which an ordinary parallel job captures. See [`QueryArray`].
    ///
    /// # Panics
    ///
    /// Panics with A0076 if the query filters by enabled state or by change, or if its data writes enabled state or has an
    /// optional enableable component. Also panics if chunks are shared with a fork, and memory for copies runs out.
    #[track_caller]
    pub fn into_array(self) -> QueryArray<'w, D>
    where
        D: ParallelData,
    {
        // Enabled bits of several batches share a word. `asks` is true if a batch would write them, or read them for an optional
        // part.
        let plan = &self.query.matched.plan;
        let ignores = plan.options.has(Options::IGNORE_ENABLED);
        let asks = |part: &Part| {
            part.bits && part.write
                || part.need == Need::Optional && part.ty.is_enableable() && !ignores
        };
        let asks = plan.parts.iter().any(asks);
        if !self.query.matched.is_plain() || asks {
            panic!(
                "A0076: the entities of the query `{}` depend on enabled bits or changes, so they have no fixed \
                 indices before the job runs; add the filter `IgnoreEnabled`, remove change filters, or schedule a job \
                 over the query with `IndexInQuery`",
                type_name::<D>()
            );
        }
        let token = self.task::<(), (), ()>(()).token;
        let (mut rows, jobs) = (token.rows, token.jobs);
        rows.get_mut().take_whole();
        let label = ContainerLabel::of::<QueryArray<'static, D>>();
        QueryArray { rows, jobs, label, of: PhantomData }
    }

    /// Schedules a job that copies the matching entities to a list, in the order of
    /// [`to_entities`](crate::Query::to_entities).
    ///
    /// The list is cleared first. Jobs that write the query's data do not conflict with this job, which does not use the data.
    /// This is Unity's `ToEntityListAsync`.
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_entities::{Component, With, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Orc);
    /// let mut orcs = NativeList::new();
    /// let list = world.query_filtered::<(), With<Orc>>().job().schedule_to_entities(orcs.write());
    /// assert!(orcs.get().is_err(), "the job is not completed");
    /// world.jobs().complete(list);
    /// assert_eq!(orcs.get()?[..], [orc]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn schedule_to_entities(self, list: CellWrite<'_, List<Entity>>) -> JobHandle {
        let name = self.name.unwrap_or("to_entities");
        self.task_to_find(name, None, list).schedule(|whole| {
            let (rows, count, list) = whole.chunks();
            let list: &mut List<Entity> = list;
            list.clear();
            each_chunk(rows, count, |chunk| {
                let entities = chunk.chunk.entities();
                chunk.each_run(|run| {
                    list.extend_from_slice(&entities[run.start as usize..run.end as usize]);
                });
            });
        })
    }

    /// Schedules a job that copies the values of a component to a list, in the order of
    /// [`to_entities`](crate::Query::to_entities).
    ///
    /// The list is cleared first. This is Unity's `ToComponentDataListAsync`.
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`], and with A0135 unless the query's data has the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Health(1), Health(2)]);
    /// world.query_mut::<&mut Health>().schedule(|health| health.0 *= 10);
    /// let mut all = NativeList::<Health>::new();
    /// let list = world.query::<&Health>().job().schedule_to_components(all.write());
    /// world.jobs().complete(list);
    /// assert_eq!(all.get()?[..], [Health(10), Health(20)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn schedule_to_components<T: Component + Clone>(
        self,
        list: CellWrite<'_, List<T>>,
    ) -> JobHandle {
        let component = self.require::<T>(false);
        let name = self.name.unwrap_or("to_components");
        let values = (Resource::Values(component), Access::Read);
        self.task_to_find(name, Some(values), list).schedule(|whole| {
            let (rows, count, list) = whole.chunks();
            let list: &mut List<T> = list;
            list.clear();
            each_chunk(rows, count, |chunk| {
                let column = Column::<T>::of(chunk.chunk);
                chunk.each_run(|run| {
                    // SAFETY: these are rows of the chunk. The job has declared that it reads the values, so that every write to
                    // them waits for the job.
                    let values = unsafe { column.values(run) };
                    list.reserve(values.len());
                    list.extend(values.iter().cloned());
                });
            });
        })
    }

    /// Schedules a job that copies values of a component to the entities, in the order of
    /// [`to_entities`](crate::Query::to_entities).
    ///
    /// The values are the elements of a list or an array, which earlier jobs may still be filling. The component counts as
    /// changed when the job has run. This is Unity's `CopyFromComponentDataListAsync`.
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`QueryJob`], and with A0135 unless the query's data has the component for writing.
    ///
    /// The job panics with A0060, and writes no value, if the number of values differs from the number of entities when it runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let mut saved = NativeList::<Health>::new();
    /// let save = world.query::<&Health>().job().schedule_to_components(saved.write());
    /// world.query_mut::<&mut Health>().schedule(|health| health.0 = 0);
    /// world.query_mut::<&mut Health>().job().depends_on(&[save]).schedule_copy_from(saved.read_elements());
    /// assert_eq!(world.get::<Health>(orc).unwrap().0, 20);
    /// ```
    #[track_caller]
    pub fn schedule_copy_from<T: Component + Mutable + Copy>(
        self,
        values: SliceRead<'_, T>,
    ) -> JobHandle
    where
        D: 'static,
    {
        let component = self.require::<T>(true);
        let name = self.name.unwrap_or("copy_from");
        let written = (Resource::Values(component), Access::Write);
        self.task_to_write(name, written, values).schedule(move |whole| {
            let (rows, count, values) = whole.chunks();
            let values: &[T] = values;
            let mut expected = 0;
            each_chunk(rows, count, |chunk| chunk.each_run(|run| expected += run.len()));
            let found = values.len();
            if expected != found {
                refuse(EntityError::WrongCount { component, expected, found });
            }
            let mut rest = values;
            each_chunk(rows, count, |chunk| {
                let column = Column::<T>::of(chunk.chunk);
                // SAFETY: the job has declared that it writes the values, so that every other use of the values and of their
                // versions waits for the job. The versions of all columns were written out, because the query's data can be
                // written.
                unsafe { chunk.chunk.begin_writing(column.number, rows.version) };
                chunk.each_run(|run| {
                    let (now, later) = rest.split_at(run.len());
                    // SAFETY: these are rows of the chunk, which was unshared when the job was scheduled. Every other use of the
                    // values waits for the job.
                    unsafe { column.write(run.start, now) };
                    rest = later;
                });
            });
        })
    }

    /// Returns the type of a component after checking that the query's data has it, for writing if `to_change` is set.
    ///
    /// # Panics
    ///
    /// Panics with A0135 if the query's data does not have the component, or only for reading.
    #[track_caller]
    fn require<T: Component>(&self, to_change: bool) -> ComponentType {
        let component = ComponentType::of::<T>();
        // The plan of a `QueryDescriptor` can name components for writing, but its data, `Entity`, writes none.
        let can_write = D::WRITES || !to_change;
        if !can_write || !self.query.matched.plan.gives(component, to_change) {
            refuse(EntityError::NotGiven { component, to_change });
        }
        component
    }
}

/// Calls a function for each chunk, opened as a batch of `()`.
fn each_chunk(rows: &Rows, count: usize, mut function: impl FnMut(OpenBatch<'_, ()>)) {
    for at in 0..count {
        // SAFETY: the rows are prepared for `()`, which may be opened more than once.
        function(unsafe { rows.open::<()>(at) });
    }
}

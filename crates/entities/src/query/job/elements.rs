//! Jobs over the elements of one buffer.

#![expect(
    unsafe_code,
    reason = "jobs use elements of buffers after the call that scheduled them has returned"
)]

use std::any::type_name;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;

use ancho_jobs::{AccessList, BatchInfo, JobData, JobHandle, JobScheduler, ParallelJobData};

use super::super::filter::QueryFilter;
use super::super::lookup::Lookup;
use super::super::special_data::buffer_at;
use super::super::walk::refuse;
use super::lookup::{JobLookup, LookupHeld};
use crate::buffer::{Buffer, BufferElement, place_of_elements};
use crate::component::Mutable;
use crate::entity::Entity;

/// The elements of one entity's buffer, for a parallel job: each batch gets its own part of them.
///
/// Returned by [`Lookup::into_elements`]. Use it for a buffer with very many elements, such as the vertices of a mesh or the cells of a
/// map. For many entities with short buffers, schedule a job over a query of `&mut Buffer<T>`.
///
/// The job waits for jobs that use buffers of this type, and later jobs that use them wait for it. All structural changes on the world's
/// thread wait for the job. The buffer counts as changed. Its number of elements cannot change in the job.
///
/// It is also the data of an ordinary parallel job, on the world's own [job scheduler](Self::jobs), together with other containers. In
/// Unity, this is an `IJobParallelFor` over `buffer.AsNativeArray()`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Buffer, BufferElement, Lookup, World};
///
/// #[derive(BufferElement, Clone, Copy)]
/// struct Height(f32);
///
/// let mut world = World::new("Simulation");
/// let terrain = world.spawn(Buffer::from_iter((0..10_000).map(|i| Height(i as f32))));
/// let (heights,) = world.split::<(Lookup<&mut Buffer<Height>>,)>();
/// let heights = heights.into_elements(terrain).unwrap();
/// heights.schedule_for_each(256, |height, index| height.0 += 0.5 * index as f32);
/// // Reading the buffer waits for the job.
/// assert_eq!(world.buffer::<Height>(terrain)?[9999].0, 1.5 * 9999.0);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[must_use = "nothing is scheduled until one of the `schedule` calls"]
pub struct BufferElements<'w, T: BufferElement + Mutable> {
    lookup: JobLookup<'w, &'static mut Buffer<T>>,
    entity: Entity,
}

/// The part of [`BufferElements`] that its job owns.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "owned by a job")]
pub struct ElementsHeld<T: BufferElement + Mutable> {
    lookup: LookupHeld<&'static mut Buffer<T>>,
    entity: Entity,
}

impl<'w, T: BufferElement + Mutable, F: QueryFilter> Lookup<'w, &mut Buffer<T>, F> {
    /// Converts the lookup into the elements of one entity's buffer, for a parallel job. Returns `None` if the entity does not exist or
    /// does not have the buffer.
    ///
    /// See [`BufferElements`].
    pub fn into_elements(self, entity: Entity) -> Option<BufferElements<'w, T>> {
        let lookup = self.into_job();
        lookup.has(entity).then_some(BufferElements { lookup, entity })
    }
}

impl<'w, T: BufferElement + Mutable> BufferElements<'w, T> {
    /// Returns the job scheduler of the world. A job with these elements must be scheduled on it.
    pub fn jobs(&self) -> &'w JobScheduler {
        self.lookup.jobs().scheduler()
    }

    /// Schedules a job of all threads that calls a function for each element, with its index. The handle may be ignored: the world
    /// orders the job and completes it.
    ///
    /// `batch` is the number of elements that a thread processes at a time. The elements are those that the buffer has when the job
    /// starts.
    ///
    /// # Panics
    ///
    /// Panics with A0006 if called in a job, with A0007 if `batch` is zero, and with A0008 if too many jobs are uncompleted.
    #[track_caller]
    pub fn schedule_for_each(
        self,
        batch: usize,
        function: impl Fn(&mut T, usize) + Send + Sync + 'static,
    ) -> JobHandle {
        self.schedule_named(
            name_of(&function),
            batch,
            #[inline(always)]
            move |elements, range| {
                for (element, index) in elements.iter_mut().zip(range) {
                    function(element, index);
                }
            },
        )
    }

    /// Schedules a job of all threads that calls a function for each batch of elements, with their indices. The handle may be ignored:
    /// the world orders the job and completes it.
    ///
    /// The last batch may be shorter than `batch`. The elements are those that the buffer has when the job starts.
    ///
    /// # Panics
    ///
    /// Panics with A0006 if called in a job, with A0007 if `batch` is zero, and with A0008 if too many jobs are uncompleted.
    #[track_caller]
    pub fn schedule_parallel(
        self,
        batch: usize,
        function: impl Fn(&mut [T], Range<usize>) + Send + Sync + 'static,
    ) -> JobHandle {
        self.schedule_named(name_of(&function), batch, function)
    }

    #[track_caller]
    fn schedule_named(
        self,
        name: &'static str,
        batch: usize,
        function: impl Fn(&mut [T], Range<usize>) + Send + Sync + 'static,
    ) -> JobHandle {
        let jobs = self.lookup.jobs();
        let count = |elements: &mut [T]| elements.len();
        match jobs.scheduler().named(name).schedule_deferred(&[], self, count, batch, function) {
            Ok(handle) => {
                jobs.after_scheduling(handle, name);
                handle
            }
            Err(error) => refuse(error),
        }
    }
}

fn name_of<F>(_: &F) -> &'static str {
    type_name::<F>()
}

impl<T: BufferElement + Mutable> ElementsHeld<T> {
    /// Returns the address and the number of the elements.
    #[inline]
    fn elements(&self) -> NonNull<[T]> {
        let (fetch, row) =
            self.lookup.find(self.entity).expect("structural changes wait for the job");
        // SAFETY: each row of the chunk has a buffer. Only this job may write it, and it does not change the number of elements.
        unsafe { place_of_elements(buffer_at::<T>(fetch, row)) }
    }
}

// SAFETY:
// - `declare` declares what the lookup uses, which writes the buffers and reads the entity table
// - the lookup borrows the world mutably for the lifetime
// - all memory that the view accesses lives as long as the world; the world completes its jobs before it is dropped, and completes
//   the jobs that conflict before it changes anything
unsafe impl<T: BufferElement + Mutable> JobData for BufferElements<'_, T> {
    type Held = ElementsHeld<T>;
    type Whole<'v> = &'v mut [T];

    fn declare(&self, accesses: &mut AccessList) {
        self.lookup.declare(accesses);
    }

    fn hold(self) -> ElementsHeld<T> {
        ElementsHeld { lookup: self.lookup.hold(), entity: self.entity }
    }

    unsafe fn whole(held: &mut ElementsHeld<T>) -> &mut [T] {
        // SAFETY: the elements are in the buffer, which only this job uses, and nothing else is opened.
        unsafe { held.elements().as_mut() }
    }

    const SETTLES: bool = true;

    unsafe fn settle(held: &mut ElementsHeld<T>) {
        // The row is marked after all elements are written. No other job reads its version before that.
        // SAFETY: all threads of the job are done, and no other job uses the buffer.
        unsafe { held.lookup.mark(held.entity) };
    }
}

// SAFETY: the implementation of `JobData` fulfils its contract. The views of two batches have no element in common, because batches
// have no index in common. Elements are `Send`.
unsafe impl<T: BufferElement + Mutable> ParallelJobData for BufferElements<'_, T> {
    type Batch<'v> = &'v mut [T];
    type Item<'b> = &'b mut T;

    type Open<'v> = NonNull<[T]>;

    #[inline(always)]
    unsafe fn open(held: &ElementsHeld<T>) -> NonNull<[T]> {
        held.elements()
    }

    #[inline(always)]
    unsafe fn batch<'v>(
        _: &'v ElementsHeld<T>,
        elements: &NonNull<[T]>,
        batch: &BatchInfo,
    ) -> &'v mut [T] {
        let Range { start, end } = batch.range;
        if end > elements.len() {
            outside::<T>(start, end, elements.len());
        }
        // SAFETY: the range is inside of the elements, which stay where they are as long as the job runs. No other batch has one of
        // these indices, and no other job uses the buffer.
        unsafe { slice::from_raw_parts_mut(elements.cast::<T>().as_ptr().add(start), end - start) }
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut &mut [T], offset: usize) -> &'b mut T {
        &mut batch[offset]
    }
}

#[cold]
#[inline(never)]
fn outside<T>(start: usize, end: usize, length: usize) -> ! {
    panic!(
        "A0010: a batch has the indices {start}..{end}, but the buffer of `{}` has {length} elements; return a \
         smaller count",
        type_name::<T>()
    );
}

impl<T: BufferElement + Mutable> fmt::Debug for BufferElements<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferElements<{}>({:?})", type_name::<T>(), self.entity)
    }
}

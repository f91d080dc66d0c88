//! The number of an entity, as something that a job takes along.

#![expect(unsafe_code, reason = "implements the contract between jobs and what they take along")]

use ancho_jobs::{AccessList, BatchInfo, JobData, ParallelJobData, ScheduleError};

/// Lets a parallel job over entities be given the number of each among those that are found, from zero on.
///
/// The numbers follow the order of the chunks, and do not depend on threads. Unity's `EntityIndexInQuery`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, IndexInQuery, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Number(usize);
///
/// let mut world = World::new("Simulation");
/// world.spawn_many(Number(0), 1000);
/// let query = world.query_mut::<&mut Number>();
/// query.job().with(IndexInQuery).schedule_parallel(|number, index| number.0 = index)?;
/// assert!(world.query::<&Number>().iter().map(|number| number.0).eq(0..1000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct IndexInQuery;

// SAFETY: reaches nothing.
unsafe impl JobData for IndexInQuery {
    type Held = ();
    type Whole<'v> = ();

    const USES_CONTAINERS: bool = false;

    fn declare(&self, _: &mut AccessList) {}

    fn hold(self) {}

    unsafe fn whole(_: &mut ()) {}
}

// SAFETY: reaches nothing.
unsafe impl ParallelJobData for IndexInQuery {
    type Batch<'v> = usize;
    type Item<'b> = usize;

    fn check_count(&self, _: &'static str, _: usize) -> Result<(), ScheduleError> {
        Ok(())
    }

    type Open<'v> = ();

    unsafe fn open(_: &()) {}

    #[inline(always)]
    unsafe fn batch(_: &(), _: &(), batch: &BatchInfo) -> usize {
        batch.range.start
    }

    #[inline(always)]
    fn item(first: &mut usize, offset: usize) -> usize {
        *first + offset
    }
}

//! Columns that jobs share.
#![expect(unsafe_code, reason = "opens parts of columns to batches, each part to one")]

use std::fmt;

use ancho_jobs::{
    Access, AccessList, BatchInfo, ContainerLabel, Guarded, Held, JobData, ParallelJobData,
    ScheduleError,
};

use super::{Columns, Row};
use crate::allocator::Allocator;
use crate::native::{Container, Growable, Native};

/// [`Columns`] that jobs share.
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeColumns;
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut particles = NativeColumns::from_iter((0..1000).map(|i| (i as f32, 0.5_f32)));
/// let job = jobs.schedule_parallel(&[], particles.write_columns(), 1000, 256, |(x, v), _| {
///     for (x, v) in x.iter_mut().zip(v) {
///         *x += *v;
///     }
/// })?;
/// jobs.complete(job);
/// assert_eq!(particles.get()?.get(10), Some((&10.5, &0.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NativeColumns<R> = Native<Columns<R>>;

mod alias {
    /// A type that is used only for its name in messages.
    pub(super) struct NativeColumns<R>(std::marker::PhantomData<R>);
}

impl<R: Row> Container for Columns<R> {
    #[track_caller]
    fn label() -> ContainerLabel {
        ContainerLabel::of::<alias::NativeColumns<R>>()
    }
}

impl<R: Row> Growable for Columns<R> {
    fn new_in(allocator: &Allocator) -> Self {
        Self::new_in(allocator)
    }

    fn with_capacity_in(capacity: usize, allocator: &Allocator) -> Self {
        let mut columns = Self::new_in(allocator);
        columns.reserve(capacity);
        columns
    }
}

impl<R: Row> Native<Columns<R>> {
    /// Returns a token for jobs that read the columns as slices.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeColumns;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let table = NativeColumns::from_iter([(1, 'a'), (2, 'b')]);
    /// let job = jobs.schedule(&[], table.read_columns(), |(numbers, _)| assert_eq!(numbers, [1, 2]));
    /// jobs.complete(job.unwrap());
    /// ```
    pub fn read_columns(&self) -> ColumnsRead<'_, R> {
        ColumnsRead { columns: self.guarded() }
    }

    /// Returns a token for jobs that change the rows but not their number: all rows in a single
    /// job, the batch's part of every column in a parallel one.
    ///
    /// The number of rows is read when the job runs. See [`NativeColumns`] for an example.
    pub fn write_columns(&mut self) -> ColumnsWrite<'_, R> {
        ColumnsWrite { columns: self.guarded_mut() }
    }
}

/// A token for a job that reads columns.
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct ColumnsRead<'a, R: Row> {
    columns: &'a Guarded<Columns<R>>,
}

/// A token for a job that changes the rows of columns.
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct ColumnsWrite<'a, R: Row> {
    columns: &'a mut Guarded<Columns<R>>,
}

// SAFETY: the token declares that it reads the columns, and holds their block. The views are shared references, which several
// threads may have, since the storage is `Sync`.
unsafe impl<R: Row<Storage: Sync>> JobData for ColumnsRead<'_, R> {
    type Held = Held<Columns<R>>;
    type Whole<'v> = R::Slices<'v>;

    fn declare(&self, accesses: &mut AccessList) {
        accesses.add(self.columns, Access::Read);
    }

    fn hold(self) -> Held<Columns<R>> {
        self.columns.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut Held<Columns<R>>) -> R::Slices<'_> {
        // SAFETY: no job writes the columns, since the declared access passed the check.
        unsafe { &*held.as_ptr() }.slices()
    }
}

// SAFETY: no job writes the columns, since the declared access passed the check; every batch sees
// the same shared columns.
unsafe impl<R: Row<Storage: Sync>> ParallelJobData for ColumnsRead<'_, R> {
    type Batch<'v> = R::Slices<'v>;
    type Item<'b> = R::Slices<'b>;

    type Open<'v> = R::Slices<'v>;

    #[inline(always)]
    unsafe fn open(held: &Held<Columns<R>>) -> R::Slices<'_> {
        // SAFETY: no job writes the columns, since the declared access passed the check.
        unsafe { &*held.as_ptr() }.slices()
    }

    #[inline(always)]
    unsafe fn batch<'v>(
        _: &'v Held<Columns<R>>,
        open: &R::Slices<'v>,
        _: &BatchInfo,
    ) -> R::Slices<'v> {
        *open
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut R::Slices<'_>, _: usize) -> R::Slices<'b> {
        R::shorten(batch)
    }
}

// SAFETY: the token declares that it writes the columns, which it borrows mutably, and holds their block. The only view of all
// columns is that of a single job.
unsafe impl<R: Row> JobData for ColumnsWrite<'_, R> {
    type Held = Held<Columns<R>>;
    type Whole<'v> = R::SlicesMut<'v>;

    fn declare(&self, accesses: &mut AccessList) {
        accesses.add(self.columns, Access::Write);
    }

    fn hold(self) -> Held<Columns<R>> {
        self.columns.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut Held<Columns<R>>) -> R::SlicesMut<'_> {
        // SAFETY: no other job uses the columns, since the declared access passed the check, and
        // this is the only view of them.
        unsafe { &mut *held.as_ptr() }.slices_mut()
    }
}

// SAFETY: no other job uses the columns, since the declared access passed the check. The views of
// two batches have no row in common, since batches have no index in common.
unsafe impl<R: Row> ParallelJobData for ColumnsWrite<'_, R> {
    type Batch<'v> = R::SlicesMut<'v>;
    type Item<'b> = R::RefsMut<'b>;

    fn check_count(&self, job: &'static str, count: usize) -> Result<(), ScheduleError> {
        // If an uncompleted job writes the columns, their length is checked by the batches instead.
        match self.columns.get().map(Columns::len) {
            Ok(length) if count > length => {
                let container = self.columns.label();
                Err(ScheduleError::TooShort { container, job, length, count })
            }
            _ => Ok(()),
        }
    }

    type Open<'v> = ();

    unsafe fn open(_: &Held<Columns<R>>) {}

    #[inline(always)]
    unsafe fn batch<'v>(
        held: &'v Held<Columns<R>>,
        (): &(),
        batch: &BatchInfo,
    ) -> R::SlicesMut<'v> {
        // SAFETY: the columns are not changed as a whole while the job runs, only their elements,
        // which are in separate memory.
        let Columns { storage, .. } = unsafe { &*held.as_ptr() };
        let length = R::len(storage);
        if batch.range.end > length {
            too_short(batch.range.start, batch.range.end, length, held.label());
        }
        // SAFETY: the range is inside the columns. No other job uses them, since the declared access passed the check, and no
        // other batch has one of these indices.
        unsafe { R::part_mut(storage, batch.range.clone()) }
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut R::SlicesMut<'_>, offset: usize) -> R::RefsMut<'b> {
        R::refs_mut(batch, offset)
    }
}

#[cold]
#[inline(never)]
fn too_short(start: usize, end: usize, length: usize, container: ContainerLabel) -> ! {
    panic!(
        "A0010: a batch has the indices {start}..{end}, but {container} has {length} rows; return a \
         smaller count"
    );
}

impl<R: Row> fmt::Debug for ColumnsRead<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ColumnsRead").field(&self.columns.label()).finish()
    }
}

impl<R: Row> fmt::Debug for ColumnsWrite<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ColumnsWrite").field(&self.columns.label()).finish()
    }
}

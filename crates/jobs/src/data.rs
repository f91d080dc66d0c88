//! Job data: tokens of containers, alone, in tuples, or in structs.
#![expect(unsafe_code, reason = "declares and implements the contract between jobs and containers")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::claims::BatchInfo;
use crate::error::ScheduleError;
use crate::failure::discard;
use crate::safety::AccessList;

/// Data that a job uses: one or several access tokens of containers.
///
/// Tokens come from containers ([`JobSlice::write`](crate::JobSlice::write),
/// [`JobCell::read`](crate::JobCell::read), …) and borrow them until the job is scheduled. Tuples of
/// job data are job data, and `()` is the data of a job that uses no container. For a struct with named
/// fields, see [`Job`](crate::Job).
///
/// # Safety
///
/// - [`declare`](Self::declare) declares every container that the views reach, with the access that the views allow.
/// - Data that writes a container was created from a mutable borrow of the container. Data that reads a container was created from
///   a shared borrow of it. The borrow is a lifetime of the type, so it outlives the call that schedules or runs the job, even
///   after [`hold`](Self::hold).
/// - [`USES_CONTAINERS`](Self::USES_CONTAINERS) is false only if `declare` adds nothing.
/// - [`Held`](Self::Held) keeps the blocks of the declared containers alive, and with them the memory that the views reach. Data
///   behind a [fence](crate::Fence) is kept alive by the owner of the fence, which completes the jobs that use the data before it
///   frees the data.
/// - The views reach no other data, and no data after their lifetime has ended.
///
/// # Examples
///
/// The token of a container that is a list, for jobs that write it:
///
/// ```
/// use ancho_jobs::{Access, AccessList, ContainerLabel, Guarded, Held};
/// use ancho_jobs::{JobData, JobPool, JobScheduler};
///
/// struct ListWrite<'a>(&'a mut Guarded<Vec<u32>>);
///
/// // SAFETY: declares that it writes the list, which it borrows mutably, as its lifetime says; holds
/// // the list's block; and views the list alone, no longer than the block is borrowed.
/// unsafe impl JobData for ListWrite<'_> {
///     type Held = Held<Vec<u32>>;
///     type Whole<'v> = &'v mut Vec<u32>;
///
///     fn declare(&self, accesses: &mut AccessList) {
///         accesses.add(self.0, Access::Write);
///     }
///
///     fn hold(self) -> Held<Vec<u32>> {
///         self.0.hold()
///     }
///
///     unsafe fn whole(held: &mut Held<Vec<u32>>) -> &mut Vec<u32> {
///         // SAFETY: no other job uses the list, since the declared access passed the check, and this
///         // is the one view of it.
///         unsafe { &mut *held.as_ptr() }
///     }
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut list = Guarded::new(vec![3, 1, 2], ContainerLabel::of::<Vec<u32>>());
/// let sort = jobs.schedule(&[], ListWrite(&mut list), |list| list.sort()).unwrap();
/// assert!(list.get().is_err(), "the job was not completed");
/// jobs.complete(sort);
/// assert_eq!(list.get().unwrap(), &[1, 2, 3]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a job",
    label = "not job data",
    note = "pass tokens of containers, such as `slice.write()` or `cell.read()`, or a tuple of them; \
            plain values are captured by the job's closure",
    note = "in a system, pass `lookup.into_job()` and `commands.writer()`"
)]
pub unsafe trait JobData {
    /// The data that the job keeps until it has finished.
    type Held: Send + Sync + 'static;

    /// The views that a single job gets.
    type Whole<'v>;

    /// False if the data declares no container. In this case, [`declare`](Self::declare) is not called.
    const USES_CONTAINERS: bool = true;

    /// Declares the containers, and the access to each.
    fn declare(&self, accesses: &mut AccessList);

    /// Ends the borrow of the containers. From then on, the job itself holds the containers.
    fn hold(self) -> Self::Held;

    /// Opens the views for a single job.
    ///
    /// # Safety
    ///
    /// - The declared accesses passed the safety check, and no job that conflicts is running.
    /// - No other views are opened from `held` while these views are in use.
    unsafe fn whole(held: &mut Self::Held) -> Self::Whole<'_>;

    /// True if the data needs work after the job has run. If false, [`settle`](Self::settle) and [`conclude`](Self::conclude) are
    /// not called.
    const SETTLES: bool = false;

    /// Merges the writes of the job, in the order of its batches. Called after the last batch, even if a batch panicked, and
    /// before code that waits for the job continues. If this function panics, the job counts as panicked.
    ///
    /// # Safety
    ///
    /// - The declared accesses passed the safety check, and no job that conflicts is running.
    /// - No view that was opened from `held` is in use.
    unsafe fn settle(held: &mut Self::Held) {
        _ = held;
    }

    /// Keeps or discards the writes of the job, after [`settle`](Self::settle) was called for all its data. `failed` is true if the
    /// job panicked, in a batch or in `settle`.
    ///
    /// # Safety
    ///
    /// - The declared accesses passed the safety check, and no job that conflicts is running.
    /// - No view that was opened from `held` is in use.
    unsafe fn conclude(held: &mut Self::Held, failed: bool) {
        _ = (held, failed);
    }
}

/// Job data for parallel jobs, which can be opened for a single batch.
///
/// Tokens that read open the whole container to every batch. Tokens that write open only the part of the batch.
///
/// # Safety
///
/// - The contract of [`JobData`] holds.
/// - The views of two batches may be used at the same time by two threads.
///
/// # Examples
///
/// The token of a container that is a table of 256 numbers, for jobs that write it. It implements [`JobData`] like
/// the example of that trait.
///
/// ```
/// use ancho_jobs::{BatchInfo, ContainerLabel, Guarded, Held, JobPool, JobScheduler};
/// use ancho_jobs::{ParallelJobData, ScheduleError};
/// # use ancho_jobs::{Access, AccessList, JobData};
///
/// struct TableWrite<'a>(&'a mut Guarded<[u32; 256]>);
/// #
/// # // SAFETY: declares that it writes the table, which it borrows mutably, as its lifetime says; holds
/// # // the table's block; and views the table alone, no longer than the block is borrowed.
/// # unsafe impl JobData for TableWrite<'_> {
/// #     type Held = Held<[u32; 256]>;
/// #     type Whole<'v> = &'v mut [u32; 256];
/// #
/// #     fn declare(&self, accesses: &mut AccessList) {
/// #         accesses.add(self.0, Access::Write);
/// #     }
/// #
/// #     fn hold(self) -> Held<[u32; 256]> {
/// #         self.0.hold()
/// #     }
/// #
/// #     unsafe fn whole(held: &mut Held<[u32; 256]>) -> &mut [u32; 256] {
/// #         // SAFETY: no other job uses the table, since the declared access passed the check, and this
/// #         // is the one view of it.
/// #         unsafe { &mut *held.as_ptr() }
/// #     }
/// # }
///
/// // SAFETY: the views of two batches have no number in common, since batches have no index in common.
/// unsafe impl ParallelJobData for TableWrite<'_> {
///     type Batch<'v> = &'v mut [u32];
///     type Item<'b> = &'b mut u32;
///
///     fn check_count(&self, job: &'static str, count: usize) -> Result<(), ScheduleError> {
///         let (container, length) = (self.0.label(), 256);
///         let too_short = ScheduleError::TooShort { container, job, length, count };
///         if count <= length { Ok(()) } else { Err(too_short) }
///     }
///
///     type Open<'v> = *mut u32;
///
///     unsafe fn open(held: &Held<[u32; 256]>) -> *mut u32 {
///         held.as_ptr().cast()
///     }
///
///     unsafe fn batch<'v>(
///         _: &'v Held<[u32; 256]>,
///         table: &*mut u32,
///         batch: &BatchInfo,
///     ) -> &'v mut [u32] {
///         assert!(batch.range.end <= 256, "the table is too short for the batch");
///         let first = table.wrapping_add(batch.range.start);
///         // SAFETY: inside the table, which is held. No other job uses it, since the
///         // declared access passed the check, and no other batch has one of these indices.
///         unsafe { std::slice::from_raw_parts_mut(first, batch.range.len()) }
///     }
///
///     fn item<'b>(batch: &'b mut &mut [u32], offset: usize) -> &'b mut u32 {
///         &mut batch[offset]
///     }
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut table = Guarded::new([0; 256], ContainerLabel::of::<[u32; 256]>());
/// let job = jobs.schedule_for_each(&[], TableWrite(&mut table), 256, 32, |number, i| *number = i as u32);
/// jobs.complete(job.unwrap());
/// assert_eq!(table.get().unwrap()[255], 255);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be split between the batches of a parallel job",
    label = "not for parallel jobs",
    note = "a parallel job takes `slice.write()`, `slice.read()`, `cell.read()` or `cell.concurrent()`; \
            `cell.write()` is for single jobs: use `schedule`"
)]
pub unsafe trait ParallelJobData: JobData {
    /// The views that one batch gets.
    type Batch<'v>;

    /// The views that one index gets.
    type Item<'b>;

    /// Checks that the containers are long enough for `count` indices. `job` is the job's name, for the error.
    ///
    /// The default accepts any count. It is meant for data whose batches all see the whole container.
    fn check_count(&self, job: &'static str, count: usize) -> Result<(), ScheduleError> {
        _ = (job, count);
        Ok(())
    }

    /// Values that a participating thread looks up once for all its batches, such as the address of the elements.
    type Open<'v>;

    /// Looks up the values from which the batches are opened.
    ///
    /// # Safety
    ///
    /// The declared accesses passed the safety check, and no job that conflicts is running, for as long as the
    /// returned value is used.
    unsafe fn open(held: &Self::Held) -> Self::Open<'_>;

    /// Opens the views for one batch.
    ///
    /// # Panics
    ///
    /// Panics if a container is too short for the batch. This happens only in deferred jobs, where
    /// [`check_count`](Self::check_count) could not be called.
    ///
    /// # Safety
    ///
    /// - The declared accesses passed the safety check, and no job that conflicts is running. `open` was returned by
    ///   [`open`](Self::open) for `held`.
    /// - The indices of `batch` are in no other batch of the job that is open.
    unsafe fn batch<'v>(
        held: &'v Self::Held,
        open: &Self::Open<'v>,
        batch: &BatchInfo,
    ) -> Self::Batch<'v>;

    /// Narrows a batch's views to the index at `offset` from its first index.
    fn item<'b>(batch: &'b mut Self::Batch<'_>, offset: usize) -> Self::Item<'b>;
}

// SAFETY: `()` declares, borrows and holds nothing, and its views reach nothing.
unsafe impl JobData for () {
    type Held = ();
    type Whole<'v> = ();

    const USES_CONTAINERS: bool = false;

    fn declare(&self, _: &mut AccessList) {}

    fn hold(self) {}

    unsafe fn whole(_: &mut ()) {}
}

// SAFETY: `()` declares, borrows and holds nothing. Its views reach nothing, so two threads may use them at the same time.
unsafe impl ParallelJobData for () {
    type Batch<'v> = ();
    type Item<'b> = ();

    type Open<'v> = ();

    unsafe fn open(_: &()) {}

    unsafe fn batch(_: &(), _: &(), _: &BatchInfo) {}

    fn item(_: &mut (), _: usize) {}
}

/// A plain value that the job owns, in addition to the tokens of containers.
///
/// It is used for the fields of job structs. Closures capture their values instead.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler, Plain};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let job = jobs.schedule(&[], Plain(5), |five| assert_eq!(*five, 5)).unwrap();
/// jobs.complete(job);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Plain<T>(pub T);

// SAFETY: `Plain` declares no container and borrows nothing. The view reaches only the value, which the job holds.
unsafe impl<T: Send + Sync + 'static> JobData for Plain<T> {
    type Held = T;
    type Whole<'v> = &'v mut T;

    const USES_CONTAINERS: bool = false;

    fn declare(&self, _: &mut AccessList) {}

    fn hold(self) -> T {
        self.0
    }

    #[inline(always)]
    unsafe fn whole(held: &mut T) -> &mut T {
        held
    }
}

// SAFETY: the views reach only the value that the job owns. The batches share the value, which `T: Sync` allows.
unsafe impl<T: Send + Sync + 'static> ParallelJobData for Plain<T> {
    type Batch<'v> = &'v T;
    type Item<'b> = &'b T;

    type Open<'v> = &'v T;

    #[inline(always)]
    unsafe fn open(held: &T) -> &T {
        held
    }

    #[inline(always)]
    unsafe fn batch<'v>(held: &'v T, _: &&'v T, _: &BatchInfo) -> &'v T {
        held
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut &T, _: usize) -> &'b T {
        batch
    }
}

/// The first panic of several steps of a job. All steps run, even if one panics.
#[derive(Default)]
pub(crate) struct Panics(Option<Box<dyn Any + Send>>);

impl Panics {
    pub(crate) fn catch(&mut self, step: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(step)) {
            match &self.0 {
                None => self.0 = Some(payload),
                Some(_) => discard(payload),
            }
        }
    }

    /// Returns whether one of the steps panicked.
    pub(crate) fn any(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn resume(self) {
        if let Some(payload) = self.0 {
            resume_unwind(payload);
        }
    }
}

/// Implements both traits for tuples by calling each part in order.
macro_rules! tuples {
    ($(($($part:ident $place:tt),+)),+ $(,)?) => {$(
        // SAFETY: each part meets the contract for its own containers: it declares, borrows and holds them. The views of the tuple
        // are the views of its parts.
        unsafe impl<$($part: JobData),+> JobData for ($($part,)+) {
            type Held = ($($part::Held,)+);
            type Whole<'v> = ($($part::Whole<'v>,)+);

            const USES_CONTAINERS: bool = $($part::USES_CONTAINERS)||+;

            fn declare(&self, accesses: &mut AccessList) {
                $(self.$place.declare(accesses);)+
            }

            fn hold(self) -> Self::Held {
                ($(self.$place.hold(),)+)
            }

            #[inline(always)]
            unsafe fn whole(held: &mut Self::Held) -> Self::Whole<'_> {
                // SAFETY: the caller says that the accesses of all parts passed the check, and that no conflicting job is running
                // and nothing else is opened from `held`.
                unsafe { ($($part::whole(&mut held.$place),)+) }
            }

            const SETTLES: bool = $($part::SETTLES)||+;

            unsafe fn settle(held: &mut Self::Held) {
                let mut panics = Panics::default();
                $(if $part::SETTLES {
                    // SAFETY: the caller says that the accesses of all parts passed the check, and that no conflicting job is
                    // running and nothing opened from `held` is in use.
                    panics.catch(|| unsafe { $part::settle(&mut held.$place) });
                })+
                panics.resume();
            }

            unsafe fn conclude(held: &mut Self::Held, failed: bool) {
                let mut panics = Panics::default();
                $(if $part::SETTLES {
                    // SAFETY: the caller says that the accesses of all parts passed the check, and that no conflicting job is
                    // running and nothing opened from `held` is in use.
                    panics.catch(|| unsafe { $part::conclude(&mut held.$place, failed) });
                })+
                panics.resume();
            }
        }

        // SAFETY: the views of the tuple are the views of its parts, which meet the contract: they are declared and held, and two
        // batches may use them at the same time.
        unsafe impl<$($part: ParallelJobData),+> ParallelJobData for ($($part,)+) {
            type Batch<'v> = ($($part::Batch<'v>,)+);
            type Item<'b> = ($($part::Item<'b>,)+);

            fn check_count(&self, job: &'static str, count: usize) -> Result<(), ScheduleError> {
                $(self.$place.check_count(job, count)?;)+
                Ok(())
            }

            type Open<'v> = ($($part::Open<'v>,)+);

            #[inline(always)]
            unsafe fn open(held: &Self::Held) -> Self::Open<'_> {
                // SAFETY: the caller says that the accesses of all parts passed the check, and that no conflicting job is running.
                unsafe { ($($part::open(&held.$place),)+) }
            }

            #[inline(always)]
            unsafe fn batch<'v>(
                held: &'v Self::Held,
                open: &Self::Open<'v>,
                batch: &BatchInfo,
            ) -> Self::Batch<'v> {
                // SAFETY: each part of `open` was returned by `open` for the same part of `held`. The caller says that no other
                // open batch has these indices.
                unsafe { ($($part::batch(&held.$place, &open.$place, batch),)+) }
            }

            #[inline(always)]
            fn item<'b>(batch: &'b mut Self::Batch<'_>, offset: usize) -> Self::Item<'b> {
                ($($part::item(&mut batch.$place, offset),)+)
            }
        }
    )+};
}

tuples! {
    (A 0),
    (A 0, B 1),
    (A 0, B 1, C 2),
    (A 0, B 1, C 2, D 3),
    (A 0, B 1, C 2, D 3, E 4),
    (A 0, B 1, C 2, D 3, E 4, F 5),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11),
}

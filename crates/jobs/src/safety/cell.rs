//! A container for one value that jobs share.
#![expect(unsafe_code, reason = "opens a value to jobs, as their declared access allows")]

use std::fmt;

use super::{Access, AccessList, ContainerLabel, Guarded, Held};
use crate::claims::BatchInfo;
use crate::context::thread_index;
use crate::data::{JobData, ParallelJobData};
use crate::error::{AccessError, Kept};

/// One value of any type that jobs share with its owner.
///
/// For arrays that parallel jobs write, use [`JobSlice`](crate::JobSlice).
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobCell, JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut total = JobCell::new(0_u64);
/// let job = jobs.schedule(&[], total.write(), |total| *total = (1..=100).sum()).unwrap();
///
/// assert!(total.get().is_err(), "the job was not completed");
/// jobs.complete(job);
/// assert_eq!(*total.get().unwrap(), 5050);
/// ```
pub struct JobCell<T> {
    pub(crate) value: Guarded<T>,
}

/// A container that several batches can write at once, each through its own writer.
///
/// The batches share the container while they write, so it needs interior mutability that is `Sync`: atomics, or one part for each
/// thread or batch.
///
/// # Determinism
///
/// Batches run in any order, on any thread. If the order of the writes is visible afterwards, sort the writes by
/// [`BatchInfo::index`], then by their order in the batch.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{BatchInfo, ConcurrentWrite, JobCell, JobPool, JobScheduler};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// struct Counter(AtomicU64);
///
/// impl ConcurrentWrite for Counter {
///     type Writer<'v> = &'v AtomicU64;
///     type Item<'b> = &'b AtomicU64;
///     fn writer(&self, _: &BatchInfo) -> &AtomicU64 {
///         &self.0
///     }
///     fn item<'b>(writer: &'b mut &AtomicU64, _: usize) -> &'b AtomicU64 {
///         writer
///     }
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut even = JobCell::new(Counter(AtomicU64::new(0)));
/// let job = jobs.schedule_for_each(&[], even.concurrent(), 1000, 64, |even, i| {
///     if i % 2 == 0 {
///         even.fetch_add(1, Ordering::Relaxed);
///     }
/// });
/// jobs.complete(job.unwrap());
/// assert_eq!(even.get_mut().unwrap().0.get_mut(), &500);
/// ```
pub trait ConcurrentWrite: Send + Sync + 'static {
    /// The writer of a batch.
    type Writer<'v>;

    /// The writer of one index.
    type Item<'b>;

    /// Creates the writer of one batch. A single job is one batch with index 0 and an empty range.
    fn writer(&self, batch: &BatchInfo) -> Self::Writer<'_>;

    /// Lends a batch's writer to the index at `offset` from its first index.
    fn item<'b>(writer: &'b mut Self::Writer<'_>, offset: usize) -> Self::Item<'b>;

    /// Merges the writes of all batches in order. Called once after the last batch of the job, even if a batch panicked, and before
    /// code that waits for the job continues. If this method panics, the job fails. The message should name `container`.
    fn settle(&mut self, container: ContainerLabel) {
        _ = container;
    }

    /// Keeps or discards the writes of the job. Called once, after all containers of the job were [settled](Self::settle). From
    /// then on, only a panic in a destructor can make the job fail. `failed` is true if the job panicked.
    ///
    /// Most containers keep the writes of a job that panicked, and do not implement this method.
    fn conclude(&mut self, failed: bool) {
        _ = failed;
    }
}

impl<T: Send + 'static> JobCell<T> {
    /// Creates a cell with a value.
    ///
    /// # Examples
    ///
    /// ```
    /// let cell = ancho_jobs::JobCell::new(5);
    /// assert_eq!(*cell.get().unwrap(), 5);
    /// ```
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { value: Guarded::new(value, ContainerLabel::of::<Self>()) }
    }

    /// Sets the name of the cell in error messages.
    ///
    /// # Examples
    ///
    /// ```
    /// let cell = ancho_jobs::JobCell::new(5).named("score");
    /// assert!(cell.label().to_string().starts_with("`score` "));
    /// ```
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        let label = self.label().named(name);
        Self { value: self.value.relabelled(label) }
    }

    /// Returns a token for jobs that read the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let score = JobCell::new(5);
    /// let job = jobs.schedule(&[], score.read(), |score| assert_eq!(*score, 5)).unwrap();
    /// assert_eq!(*score.get().unwrap(), 5, "the owner may read beside the job");
    /// jobs.complete(job);
    /// ```
    pub fn read(&self) -> CellRead<'_, T> {
        self.value.read()
    }

    /// Returns a token for a single job that writes the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut score = JobCell::new(5);
    /// let job = jobs.schedule(&[], score.write(), |score| *score += 1).unwrap();
    /// jobs.complete(job);
    /// assert_eq!(*score.get().unwrap(), 6);
    /// ```
    pub fn write(&mut self) -> CellWrite<'_, T> {
        self.value.write()
    }

    /// Returns a token for jobs that write the value from all their batches at once.
    ///
    /// Until such a job is completed, neither another job nor the owner can read or write the value.
    ///
    /// # Examples
    ///
    /// This example uses the `Counter` from the example of [`ConcurrentWrite`]:
    ///
    /// ```
    /// # use ancho_jobs::{BatchInfo, ConcurrentWrite};
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// # struct Counter(AtomicU64);
    /// #
    /// # impl ConcurrentWrite for Counter {
    /// #     type Writer<'v> = &'v AtomicU64;
    /// #     type Item<'b> = &'b AtomicU64;
    /// #     fn writer(&self, _: &BatchInfo) -> &AtomicU64 {
    /// #         &self.0
    /// #     }
    /// #     fn item<'b>(writer: &'b mut &AtomicU64, _: usize) -> &'b AtomicU64 {
    /// #         writer
    /// #     }
    /// # }
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut calls = JobCell::new(Counter(AtomicU64::new(0)));
    /// let job = jobs.schedule_for_each(&[], calls.concurrent(), 1000, 64, |calls, _| {
    ///     calls.fetch_add(1, Ordering::Relaxed);
    /// });
    /// jobs.complete(job.unwrap());
    /// assert_eq!(calls.get_mut().unwrap().0.get_mut(), &1000);
    /// ```
    pub fn concurrent(&mut self) -> CellConcurrent<'_, T>
    where
        T: ConcurrentWrite,
    {
        self.value.concurrent()
    }
}

/// Tokens of the whole value, for containers that need no other tokens.
impl<T: Send + 'static> Guarded<T> {
    /// Returns a token for jobs that read the value. See [`JobCell::read`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let names = Guarded::new(vec!["Ada"], ContainerLabel::of::<Vec<&str>>());
    /// jobs.complete(jobs.schedule(&[], names.read(), |names| assert_eq!(names.len(), 1)).unwrap());
    /// ```
    pub fn read(&self) -> CellRead<'_, T> {
        CellRead { cell: self }
    }

    /// Returns a token for a single job that writes the value. See [`JobCell::write`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut names = Guarded::new(vec!["Ada"], ContainerLabel::of::<Vec<&str>>());
    /// jobs.complete(jobs.schedule(&[], names.write(), |names| names.push("Grace")).unwrap());
    /// assert_eq!(names.get().unwrap(), &["Ada", "Grace"]);
    /// ```
    pub fn write(&mut self) -> CellWrite<'_, T> {
        CellWrite { cell: self }
    }

    /// Returns a token for jobs that write the value from all their batches at once. See
    /// [`ConcurrentWrite`] for an example.
    pub fn concurrent(&mut self) -> CellConcurrent<'_, T>
    where
        T: ConcurrentWrite,
    {
        CellConcurrent { cell: self }
    }
}

impl<T> JobCell<T> {
    /// Returns the cell's label in error messages.
    ///
    /// # Examples
    ///
    /// ```
    /// let cell = ancho_jobs::JobCell::new(5);
    /// assert!(cell.label().to_string().starts_with("the JobCell<i32> made at "));
    /// ```
    pub fn label(&self) -> ContainerLabel {
        self.value.label()
    }

    /// Borrows the value for reading.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job writes the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut score = JobCell::new(5);
    /// let job = jobs.schedule(&[], score.write(), |score| *score += 1).unwrap();
    /// assert!(score.get().is_err(), "the job was not completed");
    /// jobs.complete(job);
    /// assert_eq!(score.get(), Ok(&6));
    /// ```
    #[inline]
    pub fn get(&self) -> Result<&T, AccessError> {
        self.value.get()
    }

    /// Borrows the value for writing.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job uses the value.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut cell = ancho_jobs::JobCell::new(5);
    /// *cell.get_mut().unwrap() += 1;
    /// assert_eq!(*cell.get().unwrap(), 6);
    /// ```
    #[inline]
    pub fn get_mut(&mut self) -> Result<&mut T, AccessError> {
        self.value.get_mut()
    }

    /// Consumes the cell, and returns the value.
    ///
    /// # Errors
    ///
    /// Returns the cell and the error if an uncompleted job uses the value.
    ///
    /// # Examples
    ///
    /// ```
    /// let cell = ancho_jobs::JobCell::new(vec![1, 2]);
    /// assert_eq!(cell.into_inner().unwrap(), [1, 2]);
    /// ```
    pub fn into_inner(self) -> Result<T, Kept<Self, AccessError>> {
        self.value.into_inner().map_err(|kept| kept.map(|value| Self { value }))
    }
}

impl<T: fmt::Debug> fmt::Debug for JobCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(value) => f.debug_tuple("JobCell").field(value).finish(),
            Err(error) => write!(f, "JobCell({})", error.summary()),
        }
    }
}

/// A token that lends a [`JobCell`] to a job that reads it.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{CellRead, JobCell, JobHandle, JobPool, JobScheduler};
///
/// fn expect_five(jobs: &JobScheduler, score: CellRead<'_, u32>) -> JobHandle {
///     jobs.schedule(&[], score, |score| assert_eq!(*score, 5)).unwrap()
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let score = JobCell::new(5);
/// jobs.complete_all(&[expect_five(&jobs, score.read()), expect_five(&jobs, score.read())]);
/// ```
#[derive(Debug)]
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct CellRead<'a, T> {
    cell: &'a Guarded<T>,
}

/// A token that lends a [`JobCell`] to a single job that writes it.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{CellWrite, JobCell, JobHandle, JobPool, JobScheduler};
///
/// fn raise(jobs: &JobScheduler, score: CellWrite<'_, u32>, by: u32) -> JobHandle {
///     jobs.schedule(&[], score, move |score| *score += by).unwrap()
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut score = JobCell::new(5);
/// jobs.complete(raise(&jobs, score.write(), 3));
/// assert_eq!(*score.get().unwrap(), 8);
/// ```
#[derive(Debug)]
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct CellWrite<'a, T> {
    cell: &'a mut Guarded<T>,
}

/// A token that lends a [`JobCell`] to a job that writes it from all its batches at once.
///
/// # Examples
///
/// This example uses the `Counter` from the example of [`ConcurrentWrite`]:
///
/// ```
/// # use ancho_jobs::{BatchInfo, ConcurrentWrite};
/// use ancho_jobs::{CellConcurrent, JobCell, JobHandle, JobPool, JobScheduler};
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// # struct Counter(AtomicU64);
/// #
/// # impl ConcurrentWrite for Counter {
/// #     type Writer<'v> = &'v AtomicU64;
/// #     type Item<'b> = &'b AtomicU64;
/// #     fn writer(&self, _: &BatchInfo) -> &AtomicU64 {
/// #         &self.0
/// #     }
/// #     fn item<'b>(writer: &'b mut &AtomicU64, _: usize) -> &'b AtomicU64 {
/// #         writer
/// #     }
/// # }
/// #
/// fn count(jobs: &JobScheduler, calls: CellConcurrent<'_, Counter>) -> JobHandle {
///     let job = |calls: &AtomicU64, _| drop(calls.fetch_add(1, Relaxed));
///     jobs.schedule_for_each(&[], calls, 1000, 64, job).unwrap()
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut calls = JobCell::new(Counter(AtomicU64::new(0)));
/// jobs.complete(count(&jobs, calls.concurrent()));
/// assert_eq!(calls.get_mut().unwrap().0.get_mut(), &1000);
/// ```
#[derive(Debug)]
#[must_use = "a token does nothing until a job is scheduled with it"]
pub struct CellConcurrent<'a, T> {
    cell: &'a mut Guarded<T>,
}

// SAFETY: the token declares that it reads the cell, which it borrows, and holds its block. The view is a shared reference, which
// `T: Sync` lets several threads have.
unsafe impl<T: Send + Sync + 'static> JobData for CellRead<'_, T> {
    type Held = Held<T>;
    type Whole<'v> = &'v T;

    fn declare(&self, accesses: &mut AccessList) {
        accesses.add(self.cell, Access::Read);
    }

    fn hold(self) -> Held<T> {
        self.cell.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut Held<T>) -> &T {
        // SAFETY: no job writes the value, because the declared access passed the check.
        unsafe { &*held.as_ptr() }
    }
}

// SAFETY: the token declares that it reads the cell, and holds its block. Every batch has the same shared reference, which `T:
// Sync` allows.
unsafe impl<T: Send + Sync + 'static> ParallelJobData for CellRead<'_, T> {
    type Batch<'v> = &'v T;
    type Item<'b> = &'b T;

    type Open<'v> = &'v T;

    #[inline(always)]
    unsafe fn open(held: &Held<T>) -> &T {
        // SAFETY: no job writes the value, because the declared access passed the check.
        unsafe { &*held.as_ptr() }
    }

    #[inline(always)]
    unsafe fn batch<'v>(_: &'v Held<T>, open: &&'v T, _: &BatchInfo) -> &'v T {
        open
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut &T, _: usize) -> &'b T {
        batch
    }
}

// SAFETY: the token declares that it writes the cell, which it borrows mutably, and holds its block. The only view is that of a
// single job.
unsafe impl<T: Send + 'static> JobData for CellWrite<'_, T> {
    type Held = Held<T>;
    type Whole<'v> = &'v mut T;

    fn declare(&self, accesses: &mut AccessList) {
        accesses.add(self.cell, Access::Write);
    }

    fn hold(self) -> Held<T> {
        self.cell.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut Held<T>) -> &mut T {
        // SAFETY: no other code uses the value, because the declared access passed the check and this is the only view.
        unsafe { &mut *held.as_ptr() }
    }
}

// SAFETY: the token declares that it writes the cell, which it borrows mutably, and holds its block. The views are created from
// shared references, which `T: Sync` (by `ConcurrentWrite`) lets several threads have.
unsafe impl<T: ConcurrentWrite> JobData for CellConcurrent<'_, T> {
    type Held = Held<T>;
    type Whole<'v> = T::Writer<'v>;

    fn declare(&self, accesses: &mut AccessList) {
        accesses.add(self.cell, Access::Concurrent);
    }

    fn hold(self) -> Held<T> {
        self.cell.hold()
    }

    #[inline(always)]
    unsafe fn whole(held: &mut Held<T>) -> T::Writer<'_> {
        let batch = BatchInfo { index: 0, range: 0..0, thread: thread_index().unwrap_or(0) };
        // SAFETY: no mutable reference to the value exists, because the declared access passed the check.
        unsafe { &*held.as_ptr() }.writer(&batch)
    }

    const SETTLES: bool = true;

    unsafe fn settle(held: &mut Held<T>) {
        // SAFETY: no other code uses the value, because the declared access passed the check and the job's writers no longer exist.
        unsafe { &mut *held.as_ptr() }.settle(held.label());
    }

    unsafe fn conclude(held: &mut Held<T>, failed: bool) {
        // SAFETY: no other code uses the value, because the declared access passed the check and the job's writers no longer exist.
        unsafe { &mut *held.as_ptr() }.conclude(failed);
    }
}

// SAFETY: the token declares that it writes the cell, which it borrows mutably, and holds its block. The writers of batches are
// created from shared references, which `T: Sync` (by `ConcurrentWrite`) lets several threads have.
unsafe impl<T: ConcurrentWrite> ParallelJobData for CellConcurrent<'_, T> {
    type Batch<'v> = T::Writer<'v>;
    type Item<'b> = T::Item<'b>;

    type Open<'v> = &'v T;

    #[inline(always)]
    unsafe fn open(held: &Held<T>) -> &T {
        // SAFETY: no mutable reference to the value exists, because the declared access passed the check.
        unsafe { &*held.as_ptr() }
    }

    #[inline(always)]
    unsafe fn batch<'v>(_: &'v Held<T>, open: &&'v T, batch: &BatchInfo) -> T::Writer<'v> {
        open.writer(batch)
    }

    #[inline(always)]
    fn item<'b>(batch: &'b mut T::Writer<'_>, offset: usize) -> T::Item<'b> {
        T::item(batch, offset)
    }
}

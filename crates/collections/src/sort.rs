//! Parallel sorting.
//!
//! The elements are cut into runs, which are sorted in parallel. Runs are then merged two by two,
//! from the array to scratch memory and back. A merge is cut into batches of its result. Each batch
//! finds its parts of the two runs by a binary search, so that all threads work on the last merge,
//! of two halves, too.
//!
//! Sorting and merging keep the order of equal elements. So the result equals that of a stable sort
//! for any number of runs, which may depend on the number of threads.
//!
//! If the order panics, the array keeps all elements, in an unspecified order. An inconsistent order panics where two batches
//! disagree about their boundary. If the order panics while runs are merged back to the array, the array is partly written. Then
//! a last job copies the scratch memory, which has all elements, to the array.
#![expect(unsafe_code, reason = "reads scratch memory that a job before has filled")]

use std::cmp::Ordering;
use std::mem::{self, MaybeUninit};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ancho_jobs::{JobHandle, JobScheduler, ScheduleError, SliceRead, SliceWrite};

use crate::array::NativeArray;
use crate::list::NativeList;

/// Below this number of elements, a second thread does not pay off.
const ONE_RUN: usize = 4096;

/// An order of elements.
trait Order<T>: Fn(&T, &T) -> Ordering + Clone + Send + Sync + 'static {}

impl<T, F: Fn(&T, &T) -> Ordering + Clone + Send + Sync + 'static> Order<T> for F {}

/// A sortable container: tokens to read and write its elements, any number of times.
trait Sortable<T> {
    fn read(&self) -> SliceRead<'_, T>;

    fn write(&mut self) -> SliceWrite<'_, T>;
}

impl<T: Send + 'static> Sortable<T> for NativeArray<T> {
    fn read(&self) -> SliceRead<'_, T> {
        Self::read(self)
    }

    fn write(&mut self) -> SliceWrite<'_, T> {
        Self::write(self)
    }
}

impl<T: Send + 'static> Sortable<T> for NativeList<T> {
    fn read(&self) -> SliceRead<'_, T> {
        self.read_elements()
    }

    fn write(&mut self) -> SliceWrite<'_, T> {
        self.write_elements()
    }
}

impl<T: Copy + Send + Sync + 'static> NativeArray<T> {
    /// Schedules jobs that sort the array, with all threads (Unity's `SortJob`).
    ///
    /// The sort is stable. If comparing panics, or the order is inconsistent (A0148), the job fails, and the array has the same
    /// elements in an unspecified order.
    ///
    /// # Determinism
    ///
    /// With a total order, the result is the same for any number of threads. If the order is inconsistent, the number of threads
    /// affects whether that is detected (A0148), and the resulting order.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobScheduler::schedule`]. If there is no room for all the jobs (A0008), some may have been
    /// scheduled; the array then has the same elements in an unspecified order.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeArray;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut numbers = NativeArray::from_fn(10_000, |i| i * 7919 % 10_000);
    /// let sorted = numbers.sort_job(&jobs, &[])?;
    /// jobs.complete(sorted);
    /// assert!(numbers.get()?.iter().copied().eq(0..10_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sort_job(
        &mut self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
    ) -> Result<JobHandle, ScheduleError>
    where
        T: Ord,
    {
        self.sort_job_by(jobs, dependencies, T::cmp)
    }

    /// Schedules jobs that sort the array by the given order. See [`sort_job`](Self::sort_job).
    ///
    /// # Determinism
    ///
    /// With a total order, the result is the same for any number of threads. If the order is inconsistent, the number of threads
    /// affects whether that is detected (A0148), and the resulting order.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`sort_job`](Self::sort_job).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeArray;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut heights = NativeArray::from([1.5, -2.0, 0.25]);
    /// jobs.complete(heights.sort_job_by(&jobs, &[], f64::total_cmp)?);
    /// assert_eq!(heights.get()?, [-2.0, 0.25, 1.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sort_job_by(
        &mut self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
        order: impl Fn(&T, &T) -> Ordering + Clone + Send + Sync + 'static,
    ) -> Result<JobHandle, ScheduleError> {
        let length = self.len();
        schedule(self, length, jobs, dependencies, order)
    }
}

impl<T: Copy + Send + Sync + 'static> NativeList<T> {
    /// Schedules jobs that sort the list, with all threads (Unity's `SortJob`).
    ///
    /// The sort is stable. If comparing panics, or the order is inconsistent (A0148), the job fails, and the list has the same
    /// elements in an unspecified order. If an uncompleted job writes the list, its length is unknown, and a single job sorts it.
    ///
    /// # Determinism
    ///
    /// With a total order, the result is the same for any number of threads. If the order is inconsistent, the number of threads
    /// affects whether that is detected (A0148), and the resulting order.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`NativeArray::sort_job`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut names = NativeList::from(["Grace", "Ada"]);
    /// jobs.complete(names.sort_job(&jobs, &[])?);
    /// assert_eq!(names.get()?[..], ["Ada", "Grace"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sort_job(
        &mut self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
    ) -> Result<JobHandle, ScheduleError>
    where
        T: Ord,
    {
        self.sort_job_by(jobs, dependencies, T::cmp)
    }

    /// Schedules jobs that sort the list by the given order. See [`sort_job`](Self::sort_job).
    ///
    /// # Determinism
    ///
    /// With a total order, the result is the same for any number of threads. If the order is inconsistent, the number of threads
    /// affects whether that is detected (A0148), and the resulting order.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`NativeArray::sort_job`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut heights = NativeList::from([1.5_f64, -2.0, 0.25]);
    /// jobs.complete(heights.sort_job_by(&jobs, &[], |a, b| b.total_cmp(a))?);
    /// assert_eq!(heights.get()?[..], [1.5, 0.25, -2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sort_job_by(
        &mut self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
        order: impl Fn(&T, &T) -> Ordering + Clone + Send + Sync + 'static,
    ) -> Result<JobHandle, ScheduleError> {
        let length = self.get().map_or(0, |list| list.len());
        schedule(self, length, jobs, dependencies, order)
    }
}

fn schedule<T: Copy + Send + Sync + 'static>(
    data: &mut impl Sortable<T>,
    length: usize,
    jobs: &JobScheduler,
    dependencies: &[JobHandle],
    order: impl Order<T>,
) -> Result<JobHandle, ScheduleError> {
    let run = run_length(length, jobs.thread_count());
    let sort = order.clone();
    if run >= length {
        let job = move |all: &mut [T]| all.sort_by(sort);
        return jobs.named("Sort").schedule(dependencies, data.write(), job);
    }
    let job = move |run: &mut [T], _: Range<usize>| run.sort_by(sort.clone());
    let runs = jobs.named("SortRuns");
    let mut last = runs.schedule_parallel(dependencies, data.write(), length, run, job)?;
    let mut scratch = NativeArray::from_fn(length, |_| MaybeUninit::<T>::uninit());
    // Set if the array was partly written, and the scratch memory is complete.
    let spoilt = Arc::new(AtomicBool::new(false));
    let mut sorted = run;
    while sorted < length {
        let (there, back) = (order.clone(), order.clone());
        let tokens = (scratch.write(), data.read());
        let merge = move |(to, from): (&mut [MaybeUninit<T>], &[T]), range: Range<usize>| {
            merge_part(
                from,
                sorted,
                range,
                &there,
                to.iter_mut().map(|place| |value| _ = place.write(value)),
            );
        };
        last = jobs.named("Merge").schedule_parallel(&[last], tokens, length, run, merge)?;
        let tokens = (data.write(), scratch.read());
        let spoils = Arc::clone(&spoilt);
        let merge = move |(to, from): (&mut [T], &[MaybeUninit<T>]), range: Range<usize>| {
            let unfinished = Spoils(&spoils);
            // SAFETY: the preceding job, without which this one does not run, has initialised every
            // element.
            let from = unsafe { from.assume_init_ref() };
            merge_part(
                from,
                2 * sorted,
                range,
                &back,
                to.iter_mut().map(|place| |value| *place = value),
            );
            mem::forget(unfinished);
        };
        last = jobs.named("Merge").schedule_parallel(&[last], tokens, length, run, merge)?;
        sorted *= 4;
    }
    let tokens = (data.write(), scratch.read());
    let restore = move |(to, from): (&mut [T], &[MaybeUninit<T>])| {
        if spoilt.load(Relaxed) {
            // SAFETY: `spoilt` is set only by a job that merges back. So the job before it has
            // initialised every element, and no job after it has run.
            to.copy_from_slice(unsafe { from.assume_init_ref() });
        }
    };
    // It runs even if merging fails. The last job then fails as well.
    let restored = jobs.named("Sort").after(&[last]).schedule(&[], tokens, restore)?;
    jobs.named("Sort").after(&[restored]).schedule(&[last], (), |()| {})
}

/// A guard that records on drop that the array was partly written. The job forgets the guard when it has written its whole part.
struct Spoils<'a>(&'a AtomicBool);

impl Drop for Spoils<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Returns the length of the runs that are sorted separately: their number is a power of four, so
/// that merging two by two ends in the array.
fn run_length(length: usize, threads: usize) -> usize {
    let mut runs = 1;
    while runs < threads && length / runs > ONE_RUN {
        runs *= 4;
    }
    length.div_ceil(runs).max(1)
}

/// Writes a part of the result of merging all pairs of runs of `run` elements.
fn merge_part<T: Copy, P: FnOnce(T)>(
    from: &[T],
    run: usize,
    range: Range<usize>,
    order: &impl Order<T>,
    places: impl Iterator<Item = P>,
) {
    let mut places = places;
    let mut start = range.start;
    // A part may end in the middle of a pair, where another one begins.
    while start < range.end {
        let pair = start / (2 * run) * (2 * run);
        let middle = from.len().min(pair + run);
        let end = from.len().min(pair + 2 * run);
        let (low, high) = (&from[pair..middle], &from[middle..end]);
        let stop = end.min(range.end);
        let mut a = taken_from_low(low, high, start - pair, order);
        let mut b = start - pair - a;
        for place in places.by_ref().take(stop - start) {
            let from_low = match (low.get(a), high.get(b)) {
                (Some(one), Some(two)) => order(one, two) != Ordering::Greater,
                (one, _) => one.is_some(),
            };
            if from_low {
                place(low[a]);
                a += 1;
            } else {
                place(high[b]);
                b += 1;
            }
        }
        // Start of the next part. The end of a pair is the end of both runs.
        if stop < end && a != taken_from_low(low, high, stop - pair, order) {
            contradiction();
        }
        start = stop;
    }
}

#[cold]
#[inline(never)]
fn contradiction() -> ! {
    panic!(
        "A0148: the order of a sort contradicts itself, so that merged runs would lose elements; compare by a \
         total order, for floats by `total_cmp`"
    );
}

/// Returns the number of elements from the first run among the first `count` merged elements.
fn taken_from_low<T>(low: &[T], high: &[T], count: usize, order: &impl Order<T>) -> usize {
    let mut least = count.saturating_sub(high.len());
    let mut most = count.min(low.len());
    while least < most {
        let taken = least + (most - least) / 2;
        // Another element is taken from the first run if it is not greater than the alternative.
        if order(&low[taken], &high[count - taken - 1]) == Ordering::Greater {
            most = taken;
        } else {
            least = taken + 1;
        }
    }
    least
}

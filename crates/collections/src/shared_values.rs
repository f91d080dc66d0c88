//! Groups of equal elements of an array.

use ancho_jobs::{AccessError, JobHandle, JobScheduler, ScheduleError};

use crate::array::NativeArray;
use crate::native::{Container, Native};

/// Groups of equal elements of an array, found by jobs (Unity's `NativeArraySharedValues`).
///
/// The distinct values are numbered in ascending order; each has the indices of its elements, in
/// ascending order too.
///
/// # Examples
///
/// ```
/// use ancho_collections::{NativeArray, SharedValues};
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let teams = NativeArray::from([7, 3, 7, 7, 3, 1]);
/// let mut shared = SharedValues::new();
/// let found = shared.schedule(&jobs, &[], &teams)?;
/// jobs.complete(found);
///
/// let groups = shared.groups()?;
/// assert_eq!(groups.values(), [1, 3, 7]);
/// assert_eq!(groups.indices(2), [0, 2, 3], "the elements of team 7");
/// assert_eq!(groups.value_index(4), 1, "element 4 is of team 3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SharedValues<T> {
    groups: Native<Groups<T>>,
}

/// The groups of equal elements that [`SharedValues`] has found.
///
/// # Examples
///
/// See [`SharedValues`].
#[derive(Debug)]
pub struct Groups<T> {
    values: Vec<T>,
    /// Start of each value's indices in `order`, and the end of the last ones.
    starts: Vec<u32>,
    /// All indices, by value.
    order: Vec<u32>,
    /// The value's number for each element.
    value_indices: Vec<u32>,
}

impl<T: Send + 'static> Container for Groups<T> {}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        let (values, order, value_indices) = (Vec::new(), Vec::new(), Vec::new());
        Self { values, starts: vec![0], order, value_indices }
    }
}

impl<T: Ord + Copy + Send + Sync + 'static> SharedValues<T> {
    /// Creates an empty result, without groups.
    ///
    /// # Examples
    ///
    /// ```
    /// let shared = ancho_collections::SharedValues::<u32>::new();
    /// assert!(shared.groups().unwrap().values().is_empty());
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Self { groups: Native::of(Groups::default()) }
    }

    /// Schedules jobs that group the array. The earlier result is discarded.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`JobScheduler::schedule`].
    ///
    /// # Panics
    ///
    /// Panics with code A0014 if there are more elements than a `u32` counts.
    ///
    /// # Examples
    ///
    /// See [`SharedValues`].
    #[track_caller]
    pub fn schedule(
        &mut self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
        array: &NativeArray<T>,
    ) -> Result<JobHandle, ScheduleError> {
        let length = array.len();
        if u32::try_from(length).is_err() {
            panic!("A0014: shared values are found among up to 4294967295 elements, not {length}");
        }
        // The indices, sorted by their values, are the groups one after the other.
        let mut pairs = NativeArray::from_fn(length, |index| (None, index as u32));
        let fill = jobs.named("SharedValues").schedule_parallel(
            dependencies,
            (pairs.write(), array.read()),
            length,
            1024,
            |(pairs, values), range| {
                for (pair, value) in pairs.iter_mut().zip(&values[range]) {
                    pair.0 = Some(*value);
                }
            },
        )?;
        let sort = pairs.sort_job(jobs, &[fill])?;
        let tokens = (self.groups.write(), pairs.read());
        jobs.named("SharedValues").schedule(&[sort], tokens, |(groups, pairs)| groups.fill(pairs))
    }

    /// Returns the groups.
    ///
    /// # Errors
    ///
    /// Returns an error if the jobs were not completed (A0003).
    ///
    /// # Examples
    ///
    /// See [`SharedValues`].
    pub fn groups(&self) -> Result<&Groups<T>, AccessError> {
        self.groups.get()
    }

    /// Waits for the jobs, and returns the groups. `jobs` is the scheduler of the jobs.
    ///
    /// # Errors
    ///
    /// The errors of [`Native::wait`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::{NativeArray, SharedValues};
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut shared = SharedValues::new();
    /// let _ = shared.schedule(&jobs, &[], &NativeArray::from([5, 3, 5]))?;
    /// assert_eq!(shared.wait(&jobs)?.values().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn wait(&self, jobs: &JobScheduler) -> Result<&Groups<T>, AccessError> {
        self.groups.wait(jobs)
    }
}

impl<T: Ord + Copy + Send + Sync + 'static> Default for SharedValues<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Ord + Copy> Groups<T> {
    /// Fills the groups from pairs of a value and the index of its element. The pairs are in
    /// ascending order, and each value is `Some`.
    fn fill(&mut self, pairs: &[(Option<T>, u32)]) {
        self.values.clear();
        self.starts.clear();
        self.order.clear();
        self.value_indices.clear();
        // Comparing may panic. Then the groups are empty.
        let mut end = 0;
        self.starts.push(0);
        for group in pairs.chunk_by(|(one, _), (two, _)| one == two) {
            end += group.len();
            self.starts.push(end as u32);
        }
        self.value_indices.resize(pairs.len(), 0);
        self.order.extend(pairs.iter().map(|(_, index)| *index));
        for (number, bounds) in self.starts.windows(2).enumerate() {
            let group = &pairs[bounds[0] as usize..bounds[1] as usize];
            self.values.extend(group[0].0);
            for (_, index) in group {
                self.value_indices[*index as usize] = number as u32;
            }
        }
    }
}

impl<T> Groups<T> {
    /// Returns the distinct values, in ascending order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the indices of the elements that have the value with this number.
    ///
    /// # Panics
    ///
    /// Panics if the value's index is out of bounds.
    #[track_caller]
    pub fn indices(&self, value_index: usize) -> &[u32] {
        let (start, end) = (self.starts[value_index], self.starts[value_index + 1]);
        &self.order[start as usize..end as usize]
    }

    /// Returns the number of an element's value.
    ///
    /// # Panics
    ///
    /// Panics if the element's index is out of bounds.
    #[track_caller]
    pub fn value_index(&self, element: usize) -> usize {
        self.value_indices[element] as usize
    }
}

//! Freeing containers after jobs.
#![expect(unsafe_code, reason = "declares that a job frees a container")]

use crate::data::JobData;
use crate::error::{Kept, ScheduleError};
use crate::handle::JobHandle;
use crate::safety::{Access, AccessList, Guarded, Held, JobCell, JobSlice};
use crate::scheduler::JobScheduler;

impl<T: Send + 'static> Guarded<T> {
    /// Frees the value on any thread, after the given jobs have finished.
    ///
    /// If no other job uses the container, dropping the container has the same effect.
    ///
    /// # Errors
    ///
    /// Returns the container and the error if another job uses it that is neither one of the given jobs nor one of their
    /// dependencies (A0001), or if the container's memory was rewound (A0013).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded, JobPool, JobScheduler};
    /// use std::sync::Arc;
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let value = Arc::new(5);
    /// let guarded = Guarded::new(Arc::clone(&value), ContainerLabel::of::<Arc<i32>>());
    /// let freed = guarded.dispose_after(&jobs, &[]).unwrap();
    /// jobs.complete(freed);
    /// assert_eq!(Arc::strong_count(&value), 1);
    /// ```
    pub fn dispose_after(
        mut self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
    ) -> Result<JobHandle, Kept<Self, ScheduleError>> {
        // The job does nothing. It holds the last reference to the block, and releases the reference when it has run.
        let job = jobs.named("Dispose").schedule(dependencies, Disposal(&mut self), |()| {});
        job.map_err(|error| Kept { container: self, error })
    }
}

impl<T: Send + 'static> JobCell<T> {
    /// Frees the value after the given jobs have finished. See [`Guarded::dispose_after`].
    ///
    /// # Errors
    ///
    /// Returns the cell and the error if another uncompleted job uses it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut names = JobCell::new(vec!["Ada"]);
    /// let sort = jobs.schedule(&[], names.write(), |names| names.sort()).unwrap();
    /// let freed = names.dispose_after(&jobs, &[sort]).unwrap();
    /// jobs.complete(freed);
    /// ```
    pub fn dispose_after(
        self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
    ) -> Result<JobHandle, Kept<Self, ScheduleError>> {
        let disposed = self.value.dispose_after(jobs, dependencies);
        disposed.map_err(|kept| kept.map(|value| Self { value }))
    }
}

impl<T: Send + 'static> JobSlice<T> {
    /// Frees the array after the given jobs have finished. See [`Guarded::dispose_after`].
    ///
    /// # Errors
    ///
    /// Returns the array and the error if another uncompleted job uses it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut values = JobSlice::new(100, 1_u32);
    /// let double = jobs.schedule_for_each(&[], values.write(), 100, 16, |value, _| *value *= 2).unwrap();
    /// let refused = values.dispose_after(&jobs, &[]).unwrap_err();
    /// assert!(refused.to_string().starts_with("A0001: "));
    /// jobs.complete(refused.container.dispose_after(&jobs, &[double]).unwrap());
    /// ```
    pub fn dispose_after(
        self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
    ) -> Result<JobHandle, Kept<Self, ScheduleError>> {
        let disposed = self.elements.dispose_after(jobs, dependencies);
        disposed.map_err(|kept| kept.map(|elements| Self { elements }))
    }
}

/// The token of a job that only releases a container.
struct Disposal<'a, T>(&'a mut Guarded<T>);

// SAFETY: the token declares that it writes the container, which it borrows mutably, and holds its block. It has no view.
unsafe impl<T: Send + 'static> JobData for Disposal<'_, T> {
    type Held = Held<T>;
    type Whole<'v> = ();

    fn declare(&self, accesses: &mut AccessList) {
        accesses.add(self.0, Access::Write);
    }

    fn hold(self) -> Held<T> {
        self.0.hold()
    }

    unsafe fn whole(_: &mut Held<T>) {}
}

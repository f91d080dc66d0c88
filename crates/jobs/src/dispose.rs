//! Freeing containers after jobs.
#![expect(unsafe_code, reason = "declares that a job frees a container")]

use crate::data::JobData;
use crate::error::ScheduleError;
use crate::handle::JobHandle;
use crate::safety::{Access, AccessList, Guarded, Held, JobCell, JobSlice};
use crate::scheduler::JobScheduler;

impl<T: Send + 'static> Guarded<T> {
    /// Frees the value after the given jobs, on whatever thread is free then.
    ///
    /// Dropping the container is as good wherever the jobs are those that use it.
    ///
    /// # Errors
    ///
    /// Returns the container and the error if a job that uses it is not among the given ones, or what
    /// they depend on.
    pub fn dispose_after(
        mut self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
    ) -> Result<JobHandle, (Self, ScheduleError)> {
        // The job does nothing: its count on the block is the last, and goes when it has run.
        let job = jobs.named("Dispose").schedule(dependencies, Disposal(&mut self), |()| {});
        job.map_err(|error| (self, error))
    }
}

impl<T: Send + 'static> JobCell<T> {
    /// Frees the value after the given jobs. See [`Guarded::dispose_after`].
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
    ) -> Result<JobHandle, (Self, ScheduleError)> {
        let disposed = self.value.dispose_after(jobs, dependencies);
        disposed.map_err(|(value, error)| (Self { value }, error))
    }
}

impl<T: Send + 'static> JobSlice<T> {
    /// Frees the array after the given jobs. See [`Guarded::dispose_after`].
    ///
    /// # Errors
    ///
    /// Returns the array and the error if another uncompleted job uses it.
    pub fn dispose_after(
        self,
        jobs: &JobScheduler,
        dependencies: &[JobHandle],
    ) -> Result<JobHandle, (Self, ScheduleError)> {
        let disposed = self.elements.dispose_after(jobs, dependencies);
        disposed.map_err(|(elements, error)| (Self { elements }, error))
    }
}

/// The token of a job that only lets go of a container.
struct Disposal<'a, T>(&'a mut Guarded<T>);

// SAFETY: there is no view; the access is declared as writing, which is what freeing comes to, and
// the container is borrowed mutably.
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

//! A job with a name and an order, before it is scheduled.

use std::any::type_name;
use std::fmt;

use super::JobScheduler;
use crate::handle::JobHandle;

/// A job that was given a name or an order, and is scheduled by one of the calls below.
///
/// From [`JobScheduler::named`]. The same calls on the scheduler itself are for jobs without either.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let spawn = jobs.named("Spawn").schedule(&[], (), |()| {}).unwrap();
/// let steer = jobs.named("Steer").after(&[spawn]).schedule(&[], (), |()| {}).unwrap();
/// jobs.complete(steer);
/// ```
#[derive(Clone, Copy)]
#[must_use = "nothing is scheduled until one of the `schedule` calls"]
pub struct JobBuilder<'s> {
    pub(super) jobs: &'s JobScheduler,
    pub(super) name: Option<&'static str>,
    pub(super) after: &'s [JobHandle],
}

impl<'s> JobBuilder<'s> {
    pub(super) fn new(jobs: &'s JobScheduler, name: Option<&'static str>) -> Self {
        Self { jobs, name, after: &[] }
    }

    /// Orders the job after others, and nothing more: unlike a job that depends on them, it runs also
    /// if one of them panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut log = JobCell::new("");
    /// let fails = jobs.named("Fails").schedule(&[], (), |()| panic!("oh")).unwrap();
    /// let logs = jobs.named("Logs").after(&[fails]).schedule(&[], log.write(), |log| *log = "done");
    /// assert!(jobs.try_complete(logs.unwrap()).is_err(), "tells of the panic, all the same");
    /// assert_eq!(*log.get().unwrap(), "done");
    /// ```
    pub fn after(self, jobs: &'s [JobHandle]) -> Self {
        Self { after: jobs, ..self }
    }

    /// Returns the job's name: the given one, or that of the type that does the work.
    pub(super) fn name_or<F>(&self) -> &'static str {
        self.name.unwrap_or_else(type_name::<F>)
    }
}

impl fmt::Debug for JobBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobBuilder")
            .field("name", &self.name)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

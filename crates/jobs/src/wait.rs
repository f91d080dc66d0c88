//! Waiting for the jobs that use a container.

use crate::error::AccessError;
use crate::handle::JobHandle;
use crate::safety::{Access, Guarded, JobCell, JobSlice, Slot};
use crate::scheduler::JobScheduler;

/// The number of readers that are completed together. It is fixed, so that waiting allocates nothing.
const TOGETHER: usize = 16;

impl<T> Guarded<T> {
    /// Waits for the job that writes the value, and borrows the value for reading.
    ///
    /// Only jobs that conflict with reading, and their dependencies, are completed. Without such jobs, this is
    /// [`get`](Self::get). `jobs` is the scheduler of the jobs.
    ///
    /// # Errors
    ///
    /// - With A0169 if the job failed. The failure is reported once: another call returns the value as the job left it.
    /// - With A0003 if a job of another scheduler writes the value. It was not completed.
    /// - With A0013 if the container's memory was rewound.
    ///
    /// # Panics
    ///
    /// Panics with code A0006 when called from inside a job, unless there is no job to wait for.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut value = Guarded::new(5, ContainerLabel::of::<i32>());
    /// let _ = jobs.schedule(&[], value.write(), |value| *value += 1)?;
    /// assert!(value.get().is_err(), "the job was not completed");
    /// assert_eq!(value.wait(&jobs), Ok(&6));
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    #[track_caller]
    pub fn wait(&self, jobs: &JobScheduler) -> Result<&T, AccessError> {
        complete_users(self.slot(), jobs, Access::Read)?;
        self.get()
    }

    /// Waits for all jobs that use the value, and borrows the value for writing. See [`wait`](Self::wait).
    ///
    /// # Errors
    ///
    /// The errors of [`wait`](Self::wait). If a job that reads the value fails, its failure is reported when the job's own handle is
    /// completed.
    ///
    /// # Panics
    ///
    /// Panics with code A0006 when called from inside a job, unless there is no job to wait for.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut value = Guarded::new(5, ContainerLabel::of::<i32>());
    /// let _ = jobs.schedule(&[], value.read(), |value| assert_eq!(*value, 5))?;
    /// *value.wait_mut(&jobs).unwrap() += 1;
    /// assert_eq!(value.get(), Ok(&6));
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    #[track_caller]
    pub fn wait_mut(&mut self, jobs: &JobScheduler) -> Result<&mut T, AccessError> {
        complete_users(self.slot(), jobs, Access::Write)?;
        self.get_mut()
    }
}

impl<T> JobCell<T> {
    /// Waits for the job that writes the value, and borrows the value for reading. See [`Guarded::wait`].
    ///
    /// # Errors
    ///
    /// With A0169 if the job failed, with A0003 if a job of another scheduler writes the value, and with A0013 if the container's
    /// memory was rewound.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut total = JobCell::new(0_u64).named("total");
    /// let _ = jobs.schedule(&[], total.write(), |total| *total = (1..=100).sum())?;
    /// assert_eq!(total.wait(&jobs), Ok(&5050));
    ///
    /// let _ = jobs.named("Divide").schedule(&[], total.write(), |_| panic!("by zero"))?;
    /// let failed = total.wait(&jobs).unwrap_err().to_string();
    /// assert!(failed.starts_with("A0169: `total` (JobCell<u64> made at "));
    /// assert!(failed.contains("A0011: job `Divide` panicked: by zero"));
    /// assert_eq!(total.wait(&jobs), Ok(&5050), "the failure was reported");
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    #[track_caller]
    pub fn wait(&self, jobs: &JobScheduler) -> Result<&T, AccessError> {
        self.value.wait(jobs)
    }

    /// Waits for all jobs that use the value, and borrows the value for writing. See [`Guarded::wait_mut`].
    ///
    /// # Errors
    ///
    /// The errors of [`wait`](Self::wait).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobCell, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut total = JobCell::new(1);
    /// let _ = jobs.schedule(&[], total.write(), |total| *total *= 10)?;
    /// *total.wait_mut(&jobs).unwrap() += 1;
    /// assert_eq!(total.get(), Ok(&11));
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    #[track_caller]
    pub fn wait_mut(&mut self, jobs: &JobScheduler) -> Result<&mut T, AccessError> {
        self.value.wait_mut(jobs)
    }
}

impl<T> JobSlice<T> {
    /// Waits for the job that writes the array, and borrows the elements for reading. See [`Guarded::wait`].
    ///
    /// # Errors
    ///
    /// With A0169 if the job failed, with A0003 if a job of another scheduler writes the array, and with A0013 if the array's
    /// memory was rewound.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut squares = JobSlice::new(4, 0);
    /// let _ = jobs.schedule_for_each(&[], squares.write(), 4, 1, |square, i| *square = i * i)?;
    /// assert_eq!(squares.wait(&jobs).unwrap(), [0, 1, 4, 9]);
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    #[track_caller]
    pub fn wait(&self, jobs: &JobScheduler) -> Result<&[T], AccessError> {
        complete_users(self.elements.slot(), jobs, Access::Read)?;
        self.as_slice()
    }

    /// Waits for all jobs that use the array, and borrows the elements for writing. See [`Guarded::wait_mut`].
    ///
    /// # Errors
    ///
    /// The errors of [`wait`](Self::wait).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler, JobSlice};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut squares = JobSlice::new(4, 0);
    /// let _ = jobs.schedule_for_each(&[], squares.write(), 4, 1, |square, i| *square = i * i)?;
    /// squares.wait_mut(&jobs).unwrap().reverse();
    /// assert_eq!(squares.as_slice().unwrap(), [9, 4, 1, 0]);
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    #[track_caller]
    pub fn wait_mut(&mut self, jobs: &JobScheduler) -> Result<&mut [T], AccessError> {
        complete_users(self.elements.slot(), jobs, Access::Write)?;
        self.as_mut_slice()
    }
}

/// Completes the jobs of a scheduler that conflict with an access. Returns an error if the last job that writes the container
/// failed.
#[track_caller]
fn complete_users(slot: &Slot, jobs: &JobScheduler, access: Access) -> Result<(), AccessError> {
    // Jobs of another scheduler stay uncompleted, and the access that follows is refused.
    let Some(writer) = slot.last_writer().filter(|&writer| jobs.knows(writer)) else {
        complete_readers(slot, jobs, access);
        return Ok(());
    };
    let mut is_uncompleted = false;
    slot.conflicts(Access::Read, |_| is_uncompleted = true);
    let failed = if is_uncompleted {
        jobs.try_complete(writer).err()
    } else {
        // Other code may have completed the job, and left its failure to the owner of the handle.
        jobs.take_panic(writer)
    };
    complete_readers(slot, jobs, access);
    failed.map_or(Ok(()), |failed| Err(AccessError::JobFailed { container: slot.label, failed }))
}

/// Completes the jobs of a scheduler that read the container, if they conflict with the access. Their failures are left to the
/// owners of their handles.
#[track_caller]
fn complete_readers(slot: &Slot, jobs: &JobScheduler, access: Access) {
    let scheduler = slot.scheduler();
    loop {
        let mut readers = [JobHandle::COMPLETED; TOGETHER];
        let mut count = 0;
        slot.conflicts(access, |user| {
            let reader = JobHandle::new(user.job, scheduler);
            if jobs.knows(reader)
                && let Some(place) = readers.get_mut(count)
            {
                (*place, count) = (reader, count + 1);
            }
        });
        if count == 0 {
            return;
        }
        jobs.complete_quietly(&readers[..count]);
    }
}

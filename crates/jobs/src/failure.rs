//! Failures of jobs that panicked.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::context::InJob;

/// The failure of a job that panicked, or that did not run because a dependency panicked.
///
/// Returned by [`JobScheduler::try_complete`](crate::JobScheduler::try_complete). Code `A0011`.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let bad = jobs.named("Divide").schedule(&[], (), |()| panic!("by zero")).unwrap();
/// let next = jobs.named("Report").schedule(&[bad], (), |()| {}).unwrap();
/// let failed = jobs.try_complete(next).unwrap_err();
/// assert_eq!(
///     failed.to_string(),
///     "A0011: job `Report` did not run, because job `Divide` panicked: by zero",
/// );
/// ```
#[derive(Clone)]
pub struct JobFailed {
    pub(crate) job: &'static str,
    /// Set if the job itself ran and panicked. Not set if a dependency panicked.
    pub(crate) ran: bool,
    pub(crate) panic: Arc<JobPanic>,
}

/// The panic of one job, shared by all jobs that did not run because of it.
pub(crate) struct JobPanic {
    pub(crate) job: &'static str,
    /// The sequence number of the job. If several panics reach a job, the one with the lowest number is reported.
    pub(crate) sequence: u64,
    /// The first index of the batch that panicked, or zero in a single job. It also decides which panic is the earliest.
    pub(crate) batch: usize,
    pub(crate) message: String,
    /// The work that was in progress, if it was [recorded](note_panic).
    pub(crate) place: Option<String>,
    payload: Mutex<Option<Box<dyn Any + Send>>>,
}

impl JobFailed {
    /// Returns the name of the failed job, which panicked or did not run.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let bad = jobs.named("Divide").schedule(&[], (), |()| panic!("by zero")).unwrap();
    /// let next = jobs.named("Report").schedule(&[bad], (), |()| {}).unwrap();
    /// assert_eq!(jobs.try_complete(next).unwrap_err().job(), "Report");
    /// ```
    pub fn job(&self) -> &'static str {
        self.job
    }

    /// Returns the name of the job that panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let bad = jobs.named("Divide").schedule(&[], (), |()| panic!("by zero")).unwrap();
    /// let next = jobs.named("Report").schedule(&[bad], (), |()| {}).unwrap();
    /// assert_eq!(jobs.try_complete(next).unwrap_err().panicked_job(), "Divide");
    /// ```
    pub fn panicked_job(&self) -> &'static str {
        self.panic.job
    }

    /// Returns the panic's message, or a placeholder if the payload is not a string.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let bad = jobs.named("Divide").schedule(&[], (), |()| panic!("by zero")).unwrap();
    /// let next = jobs.named("Report").schedule(&[bad], (), |()| {}).unwrap();
    /// assert_eq!(jobs.try_complete(next).unwrap_err().message(), "by zero");
    /// ```
    pub fn message(&self) -> &str {
        &self.panic.message
    }

    /// Returns the work that was in progress when the job panicked, if it was [recorded](note_panic). For a job over entities, it
    /// is the query and the entities.
    ///
    /// See [`note_panic`] for an example.
    pub fn place(&self) -> Option<&str> {
        self.panic.place.as_deref()
    }

    /// Takes the payload of the panic, for [`std::panic::resume_unwind`]. Later calls return `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let job = jobs.schedule(&[], (), |()| std::panic::panic_any(42_i32)).unwrap();
    /// let payload = jobs.try_complete(job).unwrap_err().take_payload().unwrap();
    /// assert_eq!(payload.downcast_ref::<i32>(), Some(&42));
    /// ```
    pub fn take_payload(&self) -> Option<Box<dyn Any + Send>> {
        self.panic.payload.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Two failures are equal if they are of the same job, for the same panic.
impl PartialEq for JobFailed {
    fn eq(&self, other: &Self) -> bool {
        let Self { job, ran, panic } = self;
        (*job, *ran) == (other.job, other.ran) && Arc::ptr_eq(panic, &other.panic)
    }
}

impl Eq for JobFailed {}

impl fmt::Display for JobFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JobPanic { job, message, place, .. } = &*self.panic;
        if self.ran {
            write!(f, "A0011: job `{job}` panicked: {message}")?;
        } else {
            write!(
                f,
                "A0011: job `{}` did not run, because job `{job}` panicked: {message}",
                self.job
            )?;
        }
        place.as_ref().map_or(Ok(()), |place| write!(f, " ({place})"))
    }
}

impl fmt::Debug for JobFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for JobFailed {}

thread_local! {
    /// The work that was in progress in the job that is panicking on this thread.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records the work that is in progress in a job that is panicking. Use it in job kinds with more detail than a batch number.
///
/// Call it from a destructor while the panic unwinds. The text becomes part of the job's [failure](JobFailed::place).
/// If it is called several times for one panic, only the first call counts, because it is closest to the cause. While a thread
/// drops its `thread_local!` values, the call has no effect.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{JobPool, JobScheduler, note_panic};
///
/// struct Working(u32);
///
/// impl Drop for Working {
///     fn drop(&mut self) {
///         if std::thread::panicking() {
///             note_panic(format!("at order {}", self.0));
///         }
///     }
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let job = jobs.named("Ship").schedule(&[], (), |()| {
///     let _working = Working(7);
///     panic!("no ship");
/// });
/// let failed = jobs.try_complete(job.unwrap()).unwrap_err();
/// assert_eq!(failed.place(), Some("at order 7"));
/// assert_eq!(failed.to_string(), "A0011: job `Ship` panicked: no ship (at order 7)");
/// ```
pub fn note_panic(place: String) {
    // While the thread ends, the thread-local value may already be destroyed.
    let _ = PLACE.try_with(|noted| _ = noted.borrow_mut().get_or_insert(place));
}

/// Takes the recorded place. Returns `None` on an ending thread that has already dropped it. Such a thread can run jobs, because it
/// may still drop a scheduler.
fn take_place() -> Option<String> {
    PLACE.try_with(RefCell::take).ok().flatten()
}

/// Guard that clears the recorded place if a panic unwinds through it. Such a panic is not reported as a job's failure, and the
/// recorded place must not become part of the next failure.
pub(crate) struct PanicPasses;

impl Drop for PanicPasses {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() {
            take_place();
        }
    }
}

/// Drops the payload as if inside a job, so that its destructor can neither schedule nor complete jobs. A payload can have any
/// destructor, and the last job that releases the panic drops it. If the destructor panics, that panic is ignored.
impl Drop for JobPanic {
    fn drop(&mut self) {
        let payload = self.payload.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(payload) = payload {
            let _in_job = InJob::enter(0, 0, self.job);
            discard(payload);
        }
    }
}

/// Drops the payload of a panic. If this panics, drops the second payload too. The payload of a third panic is leaked. Must be
/// called inside a job.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
        && let Err(third) = catch_unwind(AssertUnwindSafe(|| drop(second)))
    {
        std::mem::forget(third);
    }
}

impl JobPanic {
    pub(crate) fn new(
        job: &'static str,
        sequence: u64,
        batch: usize,
        payload: Box<dyn Any + Send>,
    ) -> Self {
        let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
            (Some(message), _) => (*message).to_owned(),
            (_, Some(message)) => message.clone(),
            _ => "(the panic's payload is not a string)".to_owned(),
        };
        let place = take_place();
        Self { job, sequence, batch, message, place, payload: Mutex::new(Some(payload)) }
    }

    /// Returns whether this panic is reported instead of `other`. The result does not depend on the timing of threads.
    pub(crate) fn precedes(&self, other: &Self) -> bool {
        (self.sequence, self.batch) < (other.sequence, other.batch)
    }
}

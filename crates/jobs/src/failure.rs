//! What is left of a job that panicked.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::context::InJob;

/// A job that panicked, or could not run because one it depends on did.
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
    /// Whether it ran, that is, whether the panic is its own.
    pub(crate) ran: bool,
    pub(crate) panic: Arc<JobPanic>,
}

/// The panic of one job, shared by all that did not run because of it.
pub(crate) struct JobPanic {
    pub(crate) job: &'static str,
    /// The sequence number of the job: of several panics that reach a job, the earliest is told.
    pub(crate) sequence: u64,
    /// Where the batch that panicked begins, for the same reason; zero in a single job.
    pub(crate) batch: usize,
    pub(crate) message: String,
    /// What was being worked on, if that was [noted](note_panic).
    pub(crate) place: Option<String>,
    payload: Mutex<Option<Box<dyn Any + Send>>>,
}

impl JobFailed {
    /// Returns the name of the job that failed: it panicked, or it did not run.
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

    /// Returns the panic's message, or a stand-in where the payload is not a string.
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

    /// Returns what the job was working on when it panicked, if that was [noted](note_panic): which entities of which query,
    /// for a job over entities.
    ///
    /// See [`note_panic`] for an example.
    pub fn place(&self) -> Option<&str> {
        self.panic.place.as_deref()
    }

    /// Takes the panic's payload, for [`std::panic::resume_unwind`]. There is one; the second caller
    /// gets `None`.
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
    /// What the job that panics on this thread was working on.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes what a job was working on, while it panics: for kinds of jobs that know more than the number of a batch.
///
/// To be called when something is dropped while the panic unwinds. It is told with the [failure](JobFailed::place) of the job.
/// If it is called more than once, what was noted first is told: that was closer. While a thread drops its `thread_local!`
/// values, nothing may be noted any more.
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
    // While the thread ends, there may be no room for it any more.
    let _ = PLACE.try_with(|noted| _ = noted.borrow_mut().get_or_insert(place));
}

/// Takes what was noted. A thread that ends may drop a scheduler, and so run jobs, after it has dropped the note.
fn take_place() -> Option<String> {
    PLACE.try_with(RefCell::take).ok().flatten()
}

/// Forgets what is noted while a panic unwinds that is told by nobody here: the one after it is of something else.
pub(crate) struct PanicPasses;

impl Drop for PanicPasses {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() {
            take_place();
        }
    }
}

/// A payload is anything, and may do anything when it is dropped, wherever the last job lets go of the
/// panic. So it is dropped as if by a job: it can neither schedule nor complete, and if it panics, that is
/// the end of it.
impl Drop for JobPanic {
    fn drop(&mut self) {
        let payload = self.payload.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(payload) = payload {
            let _in_job = InJob::enter(0, 0, self.job);
            discard(payload);
        }
    }
}

/// Drops the payload of a panic. If that panics, and so on, that is the end of it. To be called inside of a
/// job.
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

    /// Says whether this panic is told rather than `other`, whatever the threads did.
    pub(crate) fn precedes(&self, other: &Self) -> bool {
        (self.sequence, self.batch) < (other.sequence, other.batch)
    }
}

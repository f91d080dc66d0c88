//! A value in a counted block, with a slot: what containers are made of.
#![expect(
    unsafe_code,
    reason = "shares one value between its owner and the jobs that the slot admits"
)]

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{Access, AccessList, ContainerLabel, Slot};
use crate::data::JobData;
use crate::error::{AccessError, ScheduleError};
use crate::handle::JobHandle;
use crate::scheduler::JobScheduler;

/// A value that jobs can share with its owner: what containers are made of.
///
/// This is the owner's side. It knows the uncompleted jobs that use the value, and lends it only as
/// far as they allow. The value lives in a counted block; [`hold`](Self::hold) gives a job its own
/// count. When the owner's side is dropped, at once and without waiting, the block lives on until the
/// last job that holds it is done.
///
/// Users of jobs want [`JobCell`](crate::JobCell), [`JobSlice`](crate::JobSlice) or a container of
/// `ancho_collections`; authors of containers want this.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{ContainerLabel, Guarded};
///
/// let mut names = Guarded::new(vec!["Ada"], ContainerLabel::of::<Vec<&str>>());
/// names.get_mut().unwrap().push("Grace");
/// assert_eq!(names.get().unwrap().len(), 2);
/// ```
pub struct Guarded<T> {
    block: Arc<Block<T>>,
    /// Not `Sync`: the slot is for one thread at a time.
    _not_sync: PhantomData<Cell<()>>,
}

struct Block<T> {
    slot: Slot,
    value: UnsafeCell<T>,
}

// SAFETY: a block is shared by one `Guarded` and any number of `Held`. Only the `Guarded` reaches the
// slot, and it is not `Sync`. The value is reached by references that the slot's checks keep apart in
// time (`Guarded`) or through raw pointers whose users promise the same (`Held`). It may be dropped by
// whichever comes last, on any thread, so `T: Send`; whether it may be read by several threads at once
// is for the tokens to ask.
unsafe impl<T: Send> Sync for Block<T> {}
// SAFETY: as above. The slot is not bound to a thread: its `RefCell` moves with the `Guarded`.
unsafe impl<T: Send> Send for Block<T> {}

/// A job's count on the block of a [`Guarded`].
///
/// It keeps the value alive and in place, and gives a pointer to it; what may be done through the
/// pointer is what the job has declared.
pub struct Held<T> {
    block: Arc<Block<T>>,
}

impl<T: Send + 'static> Guarded<T> {
    /// Puts the value in a block.
    pub fn new(value: T, label: ContainerLabel) -> Self {
        let block = Block {
            slot: Slot::new(label),
            value: UnsafeCell::new(value),
        };
        Self {
            block: Arc::new(block),
            _not_sync: PhantomData,
        }
    }

    /// Changes what the container is called in error messages. For builders: by then no job knows it.
    #[must_use]
    pub fn relabelled(mut self, label: ContainerLabel) -> Self {
        if let Some(block) = Arc::get_mut(&mut self.block) {
            block.slot.label = label;
        }
        self
    }

    /// Gives a job its own count on the block.
    pub fn hold(&self) -> Held<T> {
        Held {
            block: Arc::clone(&self.block),
        }
    }

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
        let job = jobs
            .named("Dispose")
            .schedule(dependencies, Disposal(&mut self), |()| {});
        job.map_err(|error| (self, error))
    }
}

impl<T> Guarded<T> {
    /// Returns what the container is called in error messages.
    pub fn label(&self) -> ContainerLabel {
        self.block.slot.label
    }

    /// Lends the value to read.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job writes it.
    #[inline]
    pub fn get(&self) -> Result<&T, AccessError> {
        self.block.slot.check_owner(Access::Read)?;
        // SAFETY: no uncompleted job writes the value. One that would cannot be scheduled while the
        // reference is in use: its token would come from `&mut self`, as the contract of `JobData`
        // demands of those that write. The owner's own mutable references come from `&mut self` too.
        Ok(unsafe { &*self.block.value.get() })
    }

    /// Lends the value to write.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job uses it.
    #[inline]
    pub fn get_mut(&mut self) -> Result<&mut T, AccessError> {
        self.block.slot.check_owner(Access::Write)?;
        // SAFETY: no uncompleted job uses the value, and none can be scheduled while the reference is
        // in use, since its token would borrow `self`.
        Ok(unsafe { &mut *self.block.value.get() })
    }

    /// Takes the value out.
    ///
    /// # Errors
    ///
    /// Returns the container and the error if an uncompleted job uses it.
    ///
    /// # Panics
    ///
    /// Panics if somebody kept a [`Held`] beyond the end of its job.
    pub fn into_inner(self) -> Result<T, (Self, AccessError)> {
        if let Err(error) = self.block.slot.check_owner(Access::Write) {
            return Err((self, error));
        }
        // Every job that used the value was completed, so it has given up its count.
        match Arc::try_unwrap(self.block) {
            Ok(block) => Ok(block.value.into_inner()),
            Err(block) => panic!(
                "a `Held` of {} outlives the job it was made for",
                block.slot.label
            ),
        }
    }

    /// Returns where the value is, whoever uses it. It stays there.
    #[inline]
    pub fn as_ptr(&self) -> *mut T {
        self.block.value.get()
    }

    pub(super) fn slot(&self) -> &Slot {
        &self.block.slot
    }
}

impl<T> Held<T> {
    /// Returns where the value is. It stays there while the block is held.
    #[inline(always)]
    pub fn as_ptr(&self) -> *mut T {
        self.block.value.get()
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

impl<T: fmt::Debug> fmt::Debug for Guarded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(value) => f.debug_tuple("Guarded").field(value).finish(),
            Err(error) => write!(f, "Guarded(in use by job `{}`)", error.job),
        }
    }
}

impl<T> fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&self.block.slot.label).finish()
    }
}

//! A value in a reference-counted block, with a slot: the basis of containers.
#![expect(
    unsafe_code,
    reason = "shares one value between its owner and the jobs that the slot admits"
)]

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::{Access, ContainerLabel, EpochStamp, Slot};
use crate::error::{AccessError, Kept};
use crate::handle::JobHandle;
use crate::primitive::{AtomicUsize, Ordering};

/// A value that jobs can share with its owner, and the basis of all containers.
///
/// This type is the owner's side. It tracks the uncompleted jobs that use the value, and allows access only if none of them
/// conflicts. The value is in a reference-counted block, and [`hold`](Self::hold) returns a reference for a job. Dropping the
/// owner's side does not wait: the block is freed when the last job that holds it is done.
///
/// This type is for authors of containers. Users of jobs should use [`JobCell`](crate::JobCell), [`JobSlice`](crate::JobSlice) or a
/// container of `ancho_collections`.
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
    block: NonNull<Block<T>>,
    /// The number of block references that the owner has in addition to the first one. They are taken many at a time, so that a job
    /// gets one without an atomic operation. This cell also makes the type not `Sync`.
    spare: Cell<usize>,
}

/// The reference-counted block. The header comes first, so that a pointer to the block is also a pointer to the header.
#[repr(C)]
struct Block<T> {
    header: Header,
    value: UnsafeCell<T>,
}

/// The part of a block that does not depend on the type of the value.
struct Header {
    /// The number of references to the block: one for each `Held`, one for the owner, and the owner's spare ones.
    references: AtomicUsize,
    slot: Slot,
}

/// The number of spare references taken at a time.
const SPARE: usize = 64;

// SAFETY: the block is shared by one `Guarded` and any number of `Held`. Only the `Guarded` accesses the slot, whose `RefCell`
// moves with it. The value is lent only if the slot's checks allow it, and may be dropped on the new thread, which `T: Send`
// allows. `Guarded` is not `Sync`, so threads do not share it.
unsafe impl<T: Send> Send for Guarded<T> {}

/// A job's reference to the block of a [`Guarded`].
///
/// A `Held` keeps the value alive at its address, and provides a pointer to it. The job may use that pointer only for its declared
/// access.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{ContainerLabel, Guarded};
///
/// let value = Guarded::new(5, ContainerLabel::of::<i32>());
/// let held = value.hold();
/// drop(value);
/// // SAFETY: the value is held, and no job or owner writes it.
/// assert_eq!(unsafe { *held.as_ptr() }, 5);
/// ```
pub struct Held<T> {
    block: NonNull<Block<T>>,
}

// SAFETY: a `Held` accesses the count, which is atomic, and the label, which does not change while a `Held` exists. The value is
// accessed through a raw pointer, by unsafe code with its own contract. The last `Held` may drop the value on any thread, which `T:
// Send` allows.
unsafe impl<T: Send> Send for Held<T> {}
// SAFETY: a shared `Held` accesses the count, which is atomic, and the label, which does not change while a `Held` exists. The
// value is accessed through a raw pointer, by unsafe code with its own contract.
unsafe impl<T: Send> Sync for Held<T> {}

/// Releases references to a block. Returns true if they were the last ones, so that the block has to be freed.
///
/// # Safety
///
/// The caller has `references` references, and does not use them afterwards.
#[inline]
unsafe fn release(header: NonNull<Header>, references: usize) -> bool {
    // SAFETY: the references are released below, so they still keep the block alive.
    let count = unsafe { &header.as_ref().references };
    // Release: accesses through these references happen before the block is freed.
    if count.fetch_sub(references, Ordering::Release) != references {
        return false;
    }
    // Acquire: accesses through the other references happen before the block is freed, too. This is a load instead of a fence,
    // because ThreadSanitizer does not support fences.
    count.load(Ordering::Acquire);
    true
}

/// Frees a block.
///
/// # Safety
///
/// The block contains a `T`, and the last references to it were released.
unsafe fn free<T>(header: NonNull<Header>) {
    // SAFETY: the block was allocated by `Box::new` in `Guarded::new`, and no references to it are left.
    drop(unsafe { Box::from_raw(header.cast::<Block<T>>().as_ptr()) });
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        // SAFETY: the owner's reference and the spare ones are not used afterwards. The block contains a `T`, and is freed if these
        // were the last references.
        unsafe {
            if release(self.block.cast(), 1 + self.spare.get()) {
                free::<T>(self.block.cast());
            }
        }
    }
}

impl<T> Drop for Held<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this reference is not used afterwards. The block contains a `T`, and is freed if this was the last reference.
        unsafe {
            if release(self.block.cast(), 1) {
                free::<T>(self.block.cast());
            }
        }
    }
}

/// A job's reference to the block of a [`Guarded`] of any type.
pub(super) struct HeldAny {
    header: NonNull<Header>,
    free: unsafe fn(NonNull<Header>),
}

// SAFETY: a `HeldAny` is created from a `Held`, so the value in the block is `Send`. The count is atomic, and the label does not
// change while a `Held` exists.
unsafe impl Send for HeldAny {}
// SAFETY: the count is atomic, and the label does not change while a `Held` exists. The value is accessed through a raw pointer, by
// unsafe code with its own contract.
unsafe impl Sync for HeldAny {}

impl HeldAny {
    #[inline]
    pub(super) fn label(&self) -> ContainerLabel {
        // SAFETY: this reference keeps the block alive, and no mutable reference to it exists.
        unsafe { self.header.as_ref() }.slot.label
    }

    /// Returns the address of the value.
    ///
    /// # Safety
    ///
    /// This value was created from a `Held<T>`.
    #[inline(always)]
    pub(super) unsafe fn value<T>(&self) -> *mut T {
        // SAFETY: this reference keeps the block alive. The caller says that the block contains a `T`.
        unsafe { self.header.cast::<Block<T>>().as_ref() }.value.get()
    }
}

impl<T: Send> From<Held<T>> for HeldAny {
    fn from(held: Held<T>) -> Self {
        let header = ManuallyDrop::new(held).block.cast();
        Self { header, free: free::<T> }
    }
}

impl Drop for HeldAny {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this reference is not used afterwards. If it was the last one, the function for the type of the block frees the
        // block.
        unsafe {
            if release(self.header, 1) {
                (self.free)(self.header);
            }
        }
    }
}

impl<T: Send + 'static> Guarded<T> {
    /// Creates a block with the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let value = Guarded::new(5, ContainerLabel::of::<i32>());
    /// assert_eq!(*value.get().unwrap(), 5);
    /// ```
    pub fn new(value: T, label: ContainerLabel) -> Self {
        let block = Box::new(Block {
            header: Header { references: AtomicUsize::new(1), slot: Slot::new(label) },
            value: UnsafeCell::new(value),
        });
        Self { block: NonNull::from(Box::leak(block)), spare: Cell::new(0) }
    }

    /// Changes the container's label in error messages. This is for builders: it has no effect while a job holds the container.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let label = ContainerLabel::of::<i32>();
    /// let value = Guarded::new(5, label).relabelled(label.named("score"));
    /// assert_eq!(value.label(), label.named("score"));
    /// ```
    #[must_use]
    pub fn relabelled(mut self, label: ContainerLabel) -> Self {
        if self.is_unique() {
            // SAFETY: no other reference to the block exists, and this one is borrowed mutably.
            unsafe { self.block.as_mut() }.header.slot.label = label;
        }
        self
    }

    /// Makes the container unusable once the stamp's [`Epoch`](crate::Epoch) advances. This is for builders: it has no effect while
    /// a job holds the container.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Epoch, Guarded};
    ///
    /// let frame = Epoch::new("the frame's memory");
    /// let value = Guarded::new(5, ContainerLabel::of::<i32>()).stamped(frame.stamp());
    /// frame.advance();
    /// assert!(value.get().is_err());
    /// ```
    #[must_use]
    pub fn stamped(mut self, stamp: EpochStamp) -> Self {
        if self.is_unique() {
            // SAFETY: no other reference to the block exists, and this one is borrowed mutably.
            unsafe { self.block.as_mut() }.header.slot.stamp = Some(stamp);
        }
        self
    }

    /// Returns a reference to the block, for a job.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let value = Guarded::new(5, ContainerLabel::of::<i32>());
    /// let held = value.hold();
    /// assert_eq!(held.as_ptr(), value.as_ptr());
    /// ```
    #[inline]
    pub fn hold(&self) -> Held<T> {
        if self.spare.get() == 0 {
            self.take_spare();
        }
        self.spare.set(self.spare.get() - 1);
        Held { block: self.block }
    }

    #[cold]
    fn take_spare(&self) {
        // `Relaxed` is enough, as in `Arc::clone`: the owner's own reference keeps the block alive.
        let before = self.block().header.references.fetch_add(SPARE, Ordering::Relaxed);
        assert!(before < usize::MAX / 2, "too many jobs hold {}", self.label());
        self.spare.set(SPARE);
    }
}

impl<T> Guarded<T> {
    /// Returns the container's label in error messages.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let label = ContainerLabel::of::<i32>();
    /// assert_eq!(Guarded::new(5, label).label(), label);
    /// ```
    pub fn label(&self) -> ContainerLabel {
        self.block().header.slot.label
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
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let value = Guarded::new(5, ContainerLabel::of::<i32>());
    /// assert_eq!(value.get(), Ok(&5));
    /// ```
    #[inline]
    pub fn get(&self) -> Result<&T, AccessError> {
        self.block().header.slot.check_owner(Access::Read)?;
        // SAFETY: no uncompleted job writes the value. No such job can be scheduled while the reference is in use:
        // its token would come from `&mut self`, by the contract of `JobData` for data that writes. The owner's own
        // mutable references come from `&mut self` too.
        Ok(unsafe { &*self.block().value.get() })
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
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let mut value = Guarded::new(5, ContainerLabel::of::<i32>());
    /// *value.get_mut().unwrap() += 1;
    /// assert_eq!(value.get(), Ok(&6));
    /// ```
    #[inline]
    pub fn get_mut(&mut self) -> Result<&mut T, AccessError> {
        self.block().header.slot.check_owner(Access::Write)?;
        // SAFETY: no uncompleted job uses the value, and none can be scheduled while the reference is
        // in use, since its token would borrow `self`.
        Ok(unsafe { &mut *self.block().value.get() })
    }

    /// Consumes the container, and returns the value.
    ///
    /// # Errors
    ///
    /// Returns the container and the error if an uncompleted job uses the value.
    ///
    /// # Panics
    ///
    /// Panics if a [`Held`] outlives its job.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let value = Guarded::new(vec![1, 2], ContainerLabel::of::<Vec<i32>>());
    /// assert_eq!(value.into_inner().unwrap(), [1, 2]);
    /// ```
    #[track_caller]
    pub fn into_inner(self) -> Result<T, Kept<Self, AccessError>> {
        if let Err(error) = self.block().header.slot.check_owner(Access::Write) {
            return Err(Kept { container: self, error });
        }
        // Every job that used the value is completed, so it has released its reference.
        assert!(self.is_unique(), "a `Held` of {} outlives the job it was made for", self.label());
        let block = ManuallyDrop::new(self).block;
        // SAFETY: the block was allocated by `Box::new` in `new`. No other reference exists, and this one is not used again.
        let block = unsafe { Box::from_raw(block.as_ptr()) };
        Ok(block.value.into_inner())
    }

    /// Returns whether all references to the block belong to the owner.
    fn is_unique(&self) -> bool {
        // Acquire pairs with the release in `release`: the jobs' writes are visible here.
        self.block().header.references.load(Ordering::Acquire) == 1 + self.spare.get()
    }

    #[inline]
    fn block(&self) -> &Block<T> {
        // SAFETY: the owner's reference keeps the block alive, and no mutable reference to it exists.
        unsafe { self.block.as_ref() }
    }

    /// Returns the last job that was scheduled to write the value, completed or not.
    ///
    /// All uncompleted jobs that write the value have finished when this one has.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded, JobPool, JobScheduler};
    ///
    /// let jobs = JobScheduler::new(&JobPool::new());
    /// let mut value = Guarded::new(5, ContainerLabel::of::<i32>());
    /// assert_eq!(value.last_writer(), None);
    /// let job = jobs.schedule(&[], value.write(), |value| *value += 1)?;
    /// assert_eq!(value.last_writer(), Some(job));
    /// # Ok::<(), ancho_jobs::ScheduleError>(())
    /// ```
    pub fn last_writer(&self) -> Option<JobHandle> {
        self.slot().last_writer()
    }

    /// Returns the address of the value, without a check. The address never changes.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let value = Guarded::new(5, ContainerLabel::of::<i32>());
    /// let place = value.as_ptr();
    /// let moved = value;
    /// assert_eq!(moved.as_ptr(), place);
    /// ```
    #[inline]
    pub fn as_ptr(&self) -> *mut T {
        self.block().value.get()
    }

    pub(crate) fn slot(&self) -> &Slot {
        &self.block().header.slot
    }
}

impl<T> Held<T> {
    /// Returns the container's label in error messages.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let label = ContainerLabel::of::<i32>();
    /// assert_eq!(Guarded::new(5, label).hold().label(), label);
    /// ```
    pub fn label(&self) -> ContainerLabel {
        self.block().header.slot.label
    }

    /// Returns the address of the value, which is fixed while the block is held.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let held = Guarded::new(5, ContainerLabel::of::<i32>()).hold();
    /// // SAFETY: the value is held, and no job or owner writes it.
    /// assert_eq!(unsafe { *held.as_ptr() }, 5);
    /// ```
    #[inline(always)]
    pub fn as_ptr(&self) -> *mut T {
        self.block().value.get()
    }

    #[inline(always)]
    fn block(&self) -> &Block<T> {
        // SAFETY: this reference keeps the block alive, and no mutable reference to it exists.
        unsafe { self.block.as_ref() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Guarded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(value) => f.debug_tuple("Guarded").field(value).finish(),
            Err(error) => write!(f, "Guarded({})", error.summary()),
        }
    }
}

impl<T> fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&self.block().header.slot.label).finish()
    }
}

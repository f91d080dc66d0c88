//! A value in a counted block, with a slot: what containers are made of.
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
    block: NonNull<Block<T>>,
    /// How many of the block's references are the owner's, beyond the first: taken many at a time, to
    /// be handed to jobs without an atomic operation each. Also what makes this not `Sync`.
    spare: Cell<usize>,
}

/// The header comes first, so that a pointer to the block is one to the header.
#[repr(C)]
struct Block<T> {
    header: Header,
    value: UnsafeCell<T>,
}

/// What is known of a block whatever is in it.
struct Header {
    /// How many `Held` there are, and the owner's, spare ones included.
    references: AtomicUsize,
    slot: Slot,
}

/// How many spare references are taken at a time.
const SPARE: usize = 64;

// SAFETY: the block is shared by one `Guarded` and any number of `Held`. Only the `Guarded` reaches the
// slot, whose `RefCell` moves along with it. The value is lent as far as the slot's checks allow, and
// may be dropped here, so `T: Send`; nothing is shared between threads, since `Guarded` is not `Sync`.
unsafe impl<T: Send> Send for Guarded<T> {}

/// A job's count on the block of a [`Guarded`].
///
/// It keeps the value alive and in place, and gives a pointer to it; what may be done through the
/// pointer is what the job has declared.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{ContainerLabel, Guarded};
///
/// let value = Guarded::new(5, ContainerLabel::of::<i32>());
/// let held = value.hold();
/// drop(value);
/// // SAFETY: the value is held, and nobody writes it.
/// assert_eq!(unsafe { *held.as_ptr() }, 5);
/// ```
pub struct Held<T> {
    block: NonNull<Block<T>>,
}

// SAFETY: a `Held` reaches the count, which is atomic, and the label, which does not change once there
// is one. The value is reached through a raw pointer whose users make their own promises, and may be
// dropped by the last `Held`, on any thread, so `T: Send`.
unsafe impl<T: Send> Send for Held<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Held<T> {}

/// Gives up references to a block, and says whether they were the last, so that it has to be freed.
///
/// # Safety
///
/// The caller has so many references, and does not use them afterwards.
#[inline]
unsafe fn release(header: NonNull<Header>, references: usize) -> bool {
    // SAFETY: the references that are given up keep the block alive until here.
    let count = unsafe { &header.as_ref().references };
    // Release: all that was done through these references happens before the block is freed.
    if count.fetch_sub(references, Ordering::Release) != references {
        return false;
    }
    // Acquire: all that was done through the others does, too. A load rather than a fence, since
    // ThreadSanitizer does not know fences.
    count.load(Ordering::Acquire);
    true
}

/// Frees a block.
///
/// # Safety
///
/// It is a block of a `T`, and the last references to it were released.
unsafe fn free<T>(header: NonNull<Header>) {
    // SAFETY: made by `Box::new` in `Guarded::new`, and nobody has a reference.
    drop(unsafe { Box::from_raw(header.cast::<Block<T>>().as_ptr()) });
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        // SAFETY: the owner's reference and the spare ones, which are gone with this; the block is freed
        // with the last.
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
        // SAFETY: the reference is gone with this; the block is freed with the last.
        unsafe {
            if release(self.block.cast(), 1) {
                free::<T>(self.block.cast());
            }
        }
    }
}

/// A job's count on the block of a [`Guarded`], whatever is in it.
pub(super) struct HeldAny {
    header: NonNull<Header>,
    free: unsafe fn(NonNull<Header>),
}

// SAFETY: as for `Held`, from which it is made: what is in the block is `Send`.
unsafe impl Send for HeldAny {}
// SAFETY: as above.
unsafe impl Sync for HeldAny {}

impl HeldAny {
    #[inline]
    pub(super) fn label(&self) -> ContainerLabel {
        // SAFETY: this reference keeps the block alive, and nobody has a mutable reference to it.
        unsafe { self.header.as_ref() }.slot.label
    }

    /// Returns where the value is.
    ///
    /// # Safety
    ///
    /// It was made from a `Held<T>`.
    #[inline(always)]
    pub(super) unsafe fn value<T>(&self) -> *mut T {
        // SAFETY: this reference keeps the block alive, and it is a block of a `T`, by the contract.
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
        // SAFETY: the reference is gone with this; the block is freed with the last, as what it is.
        unsafe {
            if release(self.header, 1) {
                (self.free)(self.header);
            }
        }
    }
}

impl<T: Send + 'static> Guarded<T> {
    /// Puts the value in a block.
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

    /// Changes what the container is called in error messages. For builders: while a job holds
    /// the container, its name stays.
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
            // SAFETY: there is no other reference to the block, and this one is borrowed mutably.
            unsafe { self.block.as_mut() }.header.slot.label = label;
        }
        self
    }

    /// Makes the container unusable from the moment the stamp's [`Epoch`](crate::Epoch) advances. For
    /// builders: while a job holds the container, it stays as it is.
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
            // SAFETY: there is no other reference to the block, and this one is borrowed mutably.
            unsafe { self.block.as_mut() }.header.slot.stamp = Some(stamp);
        }
        self
    }

    /// Gives a job its own count on the block.
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
        // Relaxed: the owner's own reference keeps the block alive meanwhile, as in `Arc::clone`.
        let before = self.block().header.references.fetch_add(SPARE, Ordering::Relaxed);
        assert!(before < usize::MAX / 2, "too many jobs hold {}", self.label());
        self.spare.set(SPARE);
    }
}

impl<T> Guarded<T> {
    /// Returns what the container is called in error messages.
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

    /// Lends the value to read.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job writes it.
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
        // SAFETY: no uncompleted job writes the value. One that would cannot be scheduled while the
        // reference is in use: its token would come from `&mut self`, as the contract of `JobData`
        // demands of those that write. The owner's own mutable references come from `&mut self` too.
        Ok(unsafe { &*self.block().value.get() })
    }

    /// Lends the value to write.
    ///
    /// # Errors
    ///
    /// Returns an error if an uncompleted job uses it.
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

    /// Takes the value out.
    ///
    /// # Errors
    ///
    /// Returns the container and the error if an uncompleted job uses it.
    ///
    /// # Panics
    ///
    /// Panics if somebody kept a [`Held`] beyond the end of its job.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let value = Guarded::new(vec![1, 2], ContainerLabel::of::<Vec<i32>>());
    /// assert_eq!(value.into_inner().unwrap(), [1, 2]);
    /// ```
    pub fn into_inner(self) -> Result<T, Kept<Self, AccessError>> {
        if let Err(error) = self.block().header.slot.check_owner(Access::Write) {
            return Err(Kept { container: self, error });
        }
        // Every job that used the value was completed, so it has given up its count.
        assert!(self.is_unique(), "a `Held` of {} outlives the job it was made for", self.label());
        let block = ManuallyDrop::new(self).block;
        // SAFETY: made by `Box::new` in `new`; there is no other reference, and this one is gone.
        let block = unsafe { Box::from_raw(block.as_ptr()) };
        Ok(block.value.into_inner())
    }

    /// Says whether all references to the block are the owner's.
    fn is_unique(&self) -> bool {
        // Acquire pairs with the release in `release`: what the jobs did is visible here.
        self.block().header.references.load(Ordering::Acquire) == 1 + self.spare.get()
    }

    #[inline]
    fn block(&self) -> &Block<T> {
        // SAFETY: the owner's reference keeps it alive, and nobody has a mutable reference to it.
        unsafe { self.block.as_ref() }
    }

    /// Returns the last job that was scheduled to write the value, whether or not it was completed.
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

    /// Returns where the value is, whoever uses it. It stays there.
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

    pub(super) fn slot(&self) -> &Slot {
        &self.block().header.slot
    }
}

impl<T> Held<T> {
    /// Returns what the container is called in error messages.
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

    /// Returns where the value is. It stays there while the block is held.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::{ContainerLabel, Guarded};
    ///
    /// let held = Guarded::new(5, ContainerLabel::of::<i32>()).hold();
    /// // SAFETY: the value is held, and nobody writes it.
    /// assert_eq!(unsafe { *held.as_ptr() }, 5);
    /// ```
    #[inline(always)]
    pub fn as_ptr(&self) -> *mut T {
        self.block().value.get()
    }

    #[inline(always)]
    fn block(&self) -> &Block<T> {
        // SAFETY: this reference keeps it alive, and nobody has a mutable reference to it.
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

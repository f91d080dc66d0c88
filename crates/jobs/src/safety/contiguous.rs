//! Containers with contiguous elements, and the references that a job holds to them.
#![expect(unsafe_code, reason = "opens parts of an array to batches, each part to one")]

use std::fmt;
use std::ptr::NonNull;
use std::slice;

use super::guarded::HeldAny;
use super::{
    Access, AccessList, ContainerLabel, Guarded, SliceRead, SliceUnrestricted, SliceWrite,
};

/// A value with contiguous elements, so that batches can get parts of them.
///
/// This trait is for authors of containers. A [`Guarded`] of such a value has the same element tokens as
/// [`JobSlice`](crate::JobSlice).
///
/// # Safety
///
/// - [`elements`](Self::elements) returns valid elements. They may be read or written under the same conditions as the whole value.
///   In particular, they are never changed through a shared reference to the value.
/// - The elements are not inside `Self`, and their address does not change until the value is changed through a mutable reference,
///   or dropped.
/// - Several threads may call `elements` at the same time, even if `Self` is not `Sync`, and even while views of the elements or
///   the owner's shared reference are in use. So `elements` accesses neither the elements nor any other state that can change at
///   the same time, unless that state is `Sync`.
///
/// # Examples
///
/// ```
/// use ancho_jobs::{ContainerLabel, Contiguous, Guarded, JobPool, JobScheduler};
/// use std::ptr::NonNull;
///
/// struct Hand(Vec<u8>);
///
/// // SAFETY: a vector's elements are on the heap, and stay there until it is changed.
/// unsafe impl Contiguous for Hand {
///     type Element = u8;
///
///     fn elements(&self) -> NonNull<[u8]> {
///         let start = NonNull::new(self.0.as_ptr().cast_mut()).unwrap();
///         NonNull::slice_from_raw_parts(start, self.0.len())
///     }
/// }
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let mut hand = Guarded::new(Hand(vec![3, 1, 2]), ContainerLabel::of::<Hand>());
/// let draw = jobs.schedule(&[], hand.write(), |hand| hand.0.push(9)).unwrap();
/// let count = |cards: &mut [u8]| cards.len();
/// let raise = |cards: &mut [u8], _: std::ops::Range<usize>| cards.iter_mut().for_each(|card| *card += 1);
/// let job = jobs.named("Deferred").schedule_deferred(&[draw], hand.write_elements(), count, 2, raise).unwrap();
/// jobs.complete(job);
/// assert_eq!(hand.get().unwrap().0, [4, 2, 3, 10]);
/// ```
pub unsafe trait Contiguous: Send + 'static {
    /// The type of the elements.
    type Element: Send + 'static;

    /// Returns the address and the number of the elements.
    fn elements(&self) -> NonNull<[Self::Element]>;
}

/// Tokens of elements, for containers with contiguous elements.
impl<S: Contiguous> Guarded<S> {
    /// Returns a token for jobs that read the elements. See [`Contiguous`] for an example.
    pub fn read_elements(&self) -> SliceRead<'_, S::Element> {
        SliceRead::new(self)
    }

    /// Returns a token for jobs that write the elements. A single job gets all elements, and each batch of a parallel job gets its
    /// own part. See [`Contiguous`] for an example.
    ///
    /// The number of elements is looked up when the job runs.
    pub fn write_elements(&mut self) -> SliceWrite<'_, S::Element> {
        SliceWrite::new(self)
    }

    /// Returns a token for jobs that write any element from any batch, unchecked. See
    /// [`JobSlice::write_unrestricted`](crate::JobSlice::write_unrestricted).
    ///
    /// # Safety
    ///
    /// No element is written by one batch of the job while another reads or writes it.
    pub unsafe fn write_elements_unrestricted(&mut self) -> SliceUnrestricted<'_, S::Element> {
        SliceUnrestricted::new(self)
    }
}

/// A container from which tokens of elements are created.
///
/// # Safety
///
/// - `declare` adds the container, and `hold` holds its block.
/// - The value that `hold` returns leads to the container's elements.
pub(super) unsafe trait SliceSource<T> {
    fn label(&self) -> ContainerLabel;

    /// Returns the number of elements at the time when the job runs, if it is already known.
    fn known_length(&self) -> Option<usize>;

    fn declare(&self, accesses: &mut AccessList, access: Access);

    fn hold(&self) -> HeldSlice<T>;
}

// SAFETY: `declare` adds the container itself, and `hold` holds its block. The elements are looked up in the held value.
unsafe impl<S: Contiguous> SliceSource<S::Element> for Guarded<S> {
    fn label(&self) -> ContainerLabel {
        Self::label(self)
    }

    fn known_length(&self) -> Option<usize> {
        // The length is unknown while an uncompleted job writes the value.
        self.get().ok().map(|value| value.elements().len())
    }

    fn declare(&self, accesses: &mut AccessList, access: Access) {
        accesses.add(self, access);
    }

    fn hold(&self) -> HeldSlice<S::Element> {
        let place = Place::LookUp(|block| {
            // SAFETY: the block was created from a `Held<S>`, below. A running job may read the value, and so the address of its
            // elements, because no job that could change the value is running. The contract of `Contiguous` allows other threads to
            // call `elements`, or to use the value as readers, at the same time.
            unsafe { &*block.value::<S>() }.elements()
        });
        HeldSlice { place, block: Self::hold(self).into() }
    }
}

/// The references of a job to an array: the array's block, and the location of the elements.
#[doc(hidden)]
pub struct HeldSlice<T> {
    pub(super) place: Place<T>,
    pub(super) block: HeldAny,
}

/// The location of the elements.
pub(super) enum Place<T> {
    /// A fixed address.
    Fixed(NonNull<[T]>),
    /// A function that returns the address when the job runs.
    LookUp(fn(&HeldAny) -> NonNull<[T]>),
}

// SAFETY: the block may be released on any thread, because its contents are `Send`. The pointer, and the result of the function,
// are used only by the views. The views require `T: Send`, and `T: Sync` if several threads see the same elements. The contract of
// `Contiguous` allows several threads to call the function.
unsafe impl<T: Send> Send for HeldSlice<T> {}
// SAFETY: shared access only reads the location. The pointer, and the result of the function, are used only by the views, which
// require `T: Sync` if several threads see the same elements. The contract of `Contiguous` allows several threads to call the
// function.
unsafe impl<T: Send> Sync for HeldSlice<T> {}

impl<T> fmt::Debug for HeldSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeldSlice").field(&self.block.label()).finish()
    }
}

impl<T> HeldSlice<T> {
    /// Returns the current location of the elements. The job that holds this value has to be running.
    #[inline(always)]
    pub(super) fn elements(&self) -> NonNull<[T]> {
        match self.place {
            Place::Fixed(elements) => elements,
            Place::LookUp(find) => find(&self.block),
        }
    }

    /// Returns all elements for reading.
    ///
    /// # Safety
    ///
    /// The job that holds this value is running, and no code writes the elements while the view is in use.
    #[inline(always)]
    pub(super) unsafe fn view<'v>(&self) -> &'v [T] {
        // SAFETY: the pointer is that of valid elements, which the block keeps alive. The caller says that no code writes them.
        unsafe { &*self.elements().as_ptr() }
    }

    /// Returns all elements for writing.
    ///
    /// # Safety
    ///
    /// - The job that holds this value is running.
    /// - No other code uses the elements while the view is in use.
    #[inline(always)]
    pub(super) unsafe fn view_all_mut<'v>(&self) -> &'v mut [T] {
        // SAFETY: the pointer is that of valid elements, which the block keeps alive. The caller says that no other code uses them.
        unsafe { &mut *self.elements().as_ptr() }
    }

    /// Returns the elements of a range for writing.
    ///
    /// # Safety
    ///
    /// - `elements` was returned by [`elements`](Self::elements), and the job that holds this value is running.
    /// - The range does not end before it starts.
    /// - No other code uses the elements in the range while the view is in use.
    #[inline(always)]
    pub(super) unsafe fn part<'v>(
        &self,
        elements: NonNull<[T]>,
        start: usize,
        end: usize,
    ) -> &'v mut [T] {
        if end > elements.len() {
            outside(start, end, elements.len(), self.block.label());
        }
        // SAFETY: the range is inside the elements, which the block keeps alive. The caller says that no other code uses them.
        unsafe { slice::from_raw_parts_mut(elements.cast::<T>().as_ptr().add(start), end - start) }
    }
}

/// Panics with a message about the range. This is a separate function with parameters by value, so that the range stays in
/// registers if there is no panic.
#[cold]
#[inline(never)]
fn outside(start: usize, end: usize, length: usize, container: ContainerLabel) -> ! {
    panic!(
        "A0010: a batch has the indices {start}..{end}, but {container} has {length} elements; return a \
         smaller count"
    );
}

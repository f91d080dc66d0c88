//! Containers whose elements lie side by side, and what a job holds of them.
#![expect(unsafe_code, reason = "opens parts of an array to batches, each part to one")]

use std::fmt;
use std::ptr::NonNull;
use std::slice;

use super::guarded::HeldAny;
use super::{
    Access, AccessList, ContainerLabel, Guarded, SliceRead, SliceUnrestricted, SliceWrite,
};

/// A value whose elements lie side by side in memory, so that batches can have parts of them.
///
/// For authors of containers: a [`Guarded`] of such a value has tokens for the elements, the same as those of
/// [`JobSlice`](crate::JobSlice).
///
/// # Safety
///
/// - [`elements`](Self::elements) returns elements that are there, for whoever may read or write the value
///   as a whole to read or write. So nobody changes them through a shared reference to the value.
/// - They are not inside of `Self`, and stay where they are until the value is changed through a mutable
///   reference, or dropped.
/// - Several threads may call `elements` at the same time, also while their views of the elements, or the
///   owner's shared reference to the value, are in use, and also if `Self` is not `Sync`: it touches neither
///   the elements nor anything else that can change meanwhile, unless that is made for sharing.
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
/// let job = jobs.schedule_deferred(&[draw], hand.write_elements(), count, 2, raise).unwrap();
/// jobs.complete(job);
/// assert_eq!(hand.get().unwrap().0, [4, 2, 3, 10]);
/// ```
pub unsafe trait Contiguous: Send + 'static {
    /// What there are several of.
    type Element: Send + 'static;

    /// Returns where the elements are, and how many.
    fn elements(&self) -> NonNull<[Self::Element]>;
}

/// Tokens of the elements, for containers that have them side by side.
impl<S: Contiguous> Guarded<S> {
    /// Returns a token for jobs that read the elements. See [`Contiguous`] for an example.
    pub fn read_elements(&self) -> SliceRead<'_, S::Element> {
        SliceRead::new(self)
    }

    /// Returns a token for jobs that write the elements: all of them in a single job, their own part in
    /// each batch of a parallel one. See [`Contiguous`] for an example.
    ///
    /// How many there are is looked up when the job runs.
    pub fn write_elements(&mut self) -> SliceWrite<'_, S::Element> {
        SliceWrite::new(self)
    }

    /// Returns a token for jobs that write the elements anywhere from any batch, unchecked. See
    /// [`JobSlice::write_unrestricted`](crate::JobSlice::write_unrestricted).
    ///
    /// # Safety
    ///
    /// No element is written by one batch of the job while another reads or writes it.
    pub unsafe fn write_elements_unrestricted(&mut self) -> SliceUnrestricted<'_, S::Element> {
        SliceUnrestricted::new(self)
    }
}

/// A container that tokens of elements are made from.
///
/// # Safety
///
/// - `declare` adds the container, and `hold` holds its block.
/// - What is held leads to its elements.
pub(super) unsafe trait SliceSource<T> {
    fn label(&self) -> ContainerLabel;

    /// Returns how many elements there will be when the job runs, if that is known now.
    fn known_length(&self) -> Option<usize>;

    fn declare(&self, accesses: &mut AccessList, access: Access);

    fn hold(&self) -> HeldSlice<T>;
}

// SAFETY: declares and holds itself; the elements are looked up in the value.
unsafe impl<S: Contiguous> SliceSource<S::Element> for Guarded<S> {
    fn label(&self) -> ContainerLabel {
        Self::label(self)
    }

    fn known_length(&self) -> Option<usize> {
        // Unless a job that was not completed writes the value: then only that job knows.
        self.get().ok().map(|value| value.elements().len())
    }

    fn declare(&self, accesses: &mut AccessList, access: Access) {
        accesses.add(self, access);
    }

    fn hold(&self) -> HeldSlice<S::Element> {
        let place = Place::LookUp(|block| {
            // SAFETY: made from a `Held<S>`, below. A job that is running may read the value, and so
            // where its elements are: whoever could change that does not run meanwhile. That other threads
            // do the same, or use the value as readers do, is allowed by the contract of `Contiguous`.
            unsafe { &*block.value::<S>() }.elements()
        });
        HeldSlice { place, block: Self::hold(self).into() }
    }
}

/// What a job holds of an array: its block, and where the elements are.
#[doc(hidden)]
pub struct HeldSlice<T> {
    pub(super) place: Place<T>,
    pub(super) block: HeldAny,
}

/// Where the elements are.
pub(super) enum Place<T> {
    /// Here, for good.
    Fixed(NonNull<[T]>),
    /// Where this function finds them when the job runs.
    LookUp(fn(&HeldAny) -> NonNull<[T]>),
}

// SAFETY: the block may be let go of on any thread, since what is in it is `Send`. The pointer, and what
// the function returns, is used by the views alone, which ask for `T: Send`, and for `T: Sync` where several
// threads see the same elements. The function itself may be called by several threads, by the contract of
// `Contiguous`.
unsafe impl<T: Send> Send for HeldSlice<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for HeldSlice<T> {}

impl<T> fmt::Debug for HeldSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeldSlice").field(&self.block.label()).finish()
    }
}

impl<T> HeldSlice<T> {
    /// Returns where the elements are now. Only a job that is running may ask.
    #[inline(always)]
    pub(super) fn elements(&self) -> NonNull<[T]> {
        match self.place {
            Place::Fixed(elements) => elements,
            Place::LookUp(find) => find(&self.block),
        }
    }

    /// # Safety
    ///
    /// The job that holds this is running, and nobody writes the elements while the view is in use.
    #[inline(always)]
    pub(super) unsafe fn view<'v>(&self) -> &'v [T] {
        // SAFETY: so many elements are there, which the block keeps; not written, by the contract.
        unsafe { &*self.elements().as_ptr() }
    }

    /// # Safety
    ///
    /// - The job that holds this is running.
    /// - Nobody else uses the elements while the view is in use.
    #[inline(always)]
    pub(super) unsafe fn view_all_mut<'v>(&self) -> &'v mut [T] {
        // SAFETY: so many elements are there, which the block keeps; not shared, by the contract.
        unsafe { &mut *self.elements().as_ptr() }
    }

    /// # Safety
    ///
    /// - `elements` are those that [`elements`](Self::elements) returned, and the job that holds this is
    ///   running.
    /// - The range does not end before it starts.
    /// - Nobody else uses the elements in the range while the view is in use.
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
        // SAFETY: inside the elements that the block keeps; not shared, by the contract.
        unsafe { slice::from_raw_parts_mut(elements.cast::<T>().as_ptr().add(start), end - start) }
    }
}

/// By value and apart, so that the range stays in registers where all is well.
#[cold]
#[inline(never)]
fn outside(start: usize, end: usize, length: usize, container: ContainerLabel) -> ! {
    panic!(
        "A0010: a batch has the indices {start}..{end}, but {container} has {length} elements; return a \
         smaller count"
    );
}

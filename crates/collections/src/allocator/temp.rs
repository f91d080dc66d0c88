//! Scratch memory for one thread: allocated by moving a pointer, freed all at once.
#![expect(unsafe_code, reason = "hands out parts of blocks, as references and as an allocator")]
#![expect(clippy::mut_from_ref, reason = "every call hands out other memory")]

use std::alloc::Layout;
use std::any::type_name;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::mem::{MaybeUninit, needs_drop};
use std::ptr::NonNull;
use std::slice;

use allocator_api2::alloc::{AllocError, Allocator as RawAllocator};

use super::line_aligned::{LINE, Piece};

/// Scratch memory for one thread: allocated by moving a pointer, freed all at once.
///
/// An allocation takes a few instructions; freeing takes none. Allocations borrow the `Temp`, and
/// [`reset`](Self::reset), which frees all of them, borrows it mutably. So freed memory cannot be
/// reached: such a program does not compile. For scratch memory inside a function or a job, where
/// no `Temp` is available, see [`temp_scope`](crate::temp_scope).
///
/// Slices, lists and maps begin at a 64-byte line, single values at their type's alignment. Memory
/// comes from blocks of 64 KiB that then double each time, up to 64 MiB. A reset keeps them, so a
/// program that does the same work in each frame soon makes no system allocations. In Unity this is
/// `Allocator.Temp`.
///
/// Destructors do not run, and values that have one do not compile. A [`TempList`] runs the
/// destructors of its elements.
///
/// # Examples
///
/// ```
/// use ancho_collections::Temp;
///
/// let mut temp = Temp::new();
/// let squares = temp.slice_from_fn(5, |n| n * n);
/// let total = temp.alloc(0);
/// *total += squares.iter().sum::<usize>();
/// assert_eq!(*total, 30);
/// temp.reset();
/// assert_eq!(temp.bytes_used(), 0);
/// ```
///
/// Memory cannot be used after a reset:
///
/// ```compile_fail,E0502
/// let mut temp = ancho_collections::Temp::new();
/// let five = temp.alloc(5);
/// temp.reset();
/// assert_eq!(*five, 5);
/// ```
///
/// Scratch memory cannot enter a scheduled job, which may run after it is freed:
///
/// ```compile_fail,E0597
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// let temp = ancho_collections::Temp::new();
/// let five = temp.alloc(5);
/// let _ = jobs.schedule(&[], (), move |()| *five += 1);
/// ```
///
/// Two threads cannot allocate from it at once:
///
/// ```compile_fail,E0277
/// let temp = ancho_collections::Temp::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| temp.alloc(5));
/// });
/// ```
pub struct Temp {
    /// Start of the free memory in the block in use. `next`, `end` and `start` point into this block, or are the same dangling
    /// pointer.
    next: Cell<NonNull<u8>>,
    end: Cell<NonNull<u8>>,
    /// Start of the memory of the block in use.
    start: Cell<NonNull<u8>>,
    /// Number of blocks in use. They come first in `blocks`, and the current one is their last.
    begun: Cell<usize>,
    /// Number of bytes taken in earlier blocks.
    used_before: Cell<usize>,
    blocks: RefCell<Vec<Piece>>,
}

/// Size of the free line at the start of each block. Because of it, the end of memory in one block is never the start of memory
/// in another, and memory that ends at `next` is in the block in use.
const GAP: usize = LINE;

const FIRST_BLOCK: usize = 64 << 10;
const LARGEST_BLOCK: usize = 64 << 20;

#[repr(align(64))]
struct Line;

const NOWHERE: NonNull<u8> = NonNull::<Line>::dangling().cast();

// SAFETY: this `Temp` owns its blocks, and the pointers lead into them alone; neither depends on
// the thread. Borrows of it prevent it from being sent.
unsafe impl Send for Temp {}

impl Temp {
    /// Creates scratch memory. The system is not called before the first allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Temp::new().bytes_reserved(), 0);
    /// ```
    pub const fn new() -> Self {
        Self {
            next: Cell::new(NOWHERE),
            end: Cell::new(NOWHERE),
            start: Cell::new(NOWHERE),
            begun: Cell::new(0),
            used_before: Cell::new(0),
            blocks: RefCell::new(Vec::new()),
        }
    }

    /// Creates scratch memory with room for `bytes` bytes.
    ///
    /// # Panics
    ///
    /// Panics with code A0021 if the system refuses the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let temp = ancho_collections::Temp::with_capacity(1_000_000);
    /// let reserved = temp.bytes_reserved();
    /// temp.slice(1_000_000, 0_u8);
    /// assert_eq!(temp.bytes_reserved(), reserved);
    /// ```
    #[track_caller]
    pub fn with_capacity(bytes: usize) -> Self {
        let temp = Self::new();
        if bytes > 0 && temp.begin_block(bytes).is_none() {
            refused::<u8>(bytes);
        }
        temp
    }

    /// Puts a value in scratch memory.
    ///
    /// # Panics
    ///
    /// Panics with code A0021 if the system refuses the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let temp = ancho_collections::Temp::new();
    /// let position = temp.alloc([1.0, 2.0]);
    /// position[0] += 1.0;
    /// assert_eq!(*position, [2.0, 2.0]);
    /// ```
    ///
    /// A value with a destructor does not compile, since it would not be dropped:
    ///
    /// ```compile_fail,E0080
    /// ancho_collections::Temp::new().alloc(String::new());
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc<T>(&self, value: T) -> &mut T {
        const { assert!(!needs_drop::<T>(), "the destructor would not run: use a `TempList`") };
        let Some(memory) = self.take(size_of::<T>(), align_of::<T>()) else { refused::<T>(1) };
        let place = memory.cast::<MaybeUninit<T>>();
        // SAFETY: the memory fits the type, overlaps no other allocation, and is neither freed nor
        // moved while `self` is borrowed.
        unsafe { place.as_ptr().as_mut_unchecked() }.write(value)
    }

    /// Creates a slice of `count` copies of a value.
    ///
    /// # Panics
    ///
    /// Panics with code A0021 if the system refuses the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let temp = ancho_collections::Temp::new();
    /// assert_eq!(temp.slice(3, 7), [7, 7, 7]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn slice<T: Copy>(&self, count: usize, value: T) -> &mut [T] {
        self.slice_from_fn(count, |_| value)
    }

    /// Creates a slice from a function that is called with each index.
    ///
    /// # Panics
    ///
    /// Panics with code A0021 if the system refuses the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let temp = ancho_collections::Temp::new();
    /// assert_eq!(temp.slice_from_fn(3, |n| n * 10), [0, 10, 20]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn slice_from_fn<T>(&self, count: usize, mut value: impl FnMut(usize) -> T) -> &mut [T] {
        const { assert!(!needs_drop::<T>(), "the destructors would not run: use a `TempList`") };
        let places = self.slice_uninit(count);
        for (index, place) in places.iter_mut().enumerate() {
            place.write(value(index));
        }
        // SAFETY: every element has just been written. If the function panics, the elements written
        // so far are not dropped.
        unsafe { places.assume_init_mut() }
    }

    /// Creates a copy of a slice.
    ///
    /// # Panics
    ///
    /// Panics with code A0021 if the system refuses the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let temp = ancho_collections::Temp::new();
    /// let sorted = temp.slice_copy(&[3, 1, 2]);
    /// sorted.sort();
    /// assert_eq!(sorted, [1, 2, 3]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn slice_copy<T: Copy>(&self, values: &[T]) -> &mut [T] {
        self.slice_uninit(values.len()).write_copy_of_slice(values)
    }

    /// Creates a slice of uninitialised elements.
    ///
    /// # Panics
    ///
    /// Panics with code A0021 if the system refuses the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let temp = ancho_collections::Temp::new();
    /// let buffer = temp.slice_uninit::<u32>(100);
    /// assert_eq!(*buffer[5].write(7), 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn slice_uninit<T>(&self, count: usize) -> &mut [MaybeUninit<T>] {
        let memory = match Layout::array::<T>(count) {
            Ok(layout) => self.take(layout.size(), layout.align().max(LINE)),
            Err(_) => None,
        };
        let Some(memory) = memory else { refused::<T>(count) };
        // SAFETY: the memory fits `count` elements, overlaps no other allocation, and is neither
        // freed nor moved while `self` is borrowed. Uninitialised elements need no contents.
        unsafe { slice::from_raw_parts_mut(memory.cast().as_ptr(), count) }
    }

    /// Creates an empty list in scratch memory.
    ///
    /// If the list was the last to allocate, it grows in place.
    ///
    /// # Examples
    ///
    /// ```
    /// let temp = ancho_collections::Temp::new();
    /// let mut hits = temp.list();
    /// hits.extend([3, 1, 2]);
    /// hits.sort();
    /// assert_eq!(hits, [1, 2, 3]);
    /// ```
    pub fn list<T>(&self) -> TempList<'_, T> {
        TempList::new_in(self)
    }

    /// Frees all allocations, and keeps the blocks.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut temp = ancho_collections::Temp::new();
    /// for frame in 0..60 {
    ///     temp.slice(1000, frame);
    ///     temp.reset();
    /// }
    /// assert!(temp.bytes_reserved() <= 64 << 10);
    /// ```
    #[inline]
    pub fn reset(&mut self) {
        if self.begun.get() > 1 {
            self.begin_with_the_first_block();
        }
        self.next.set(self.start.get());
    }

    /// Returns the number of bytes taken since the last [`reset`](Self::reset), including alignment
    /// padding.
    ///
    /// # Examples
    ///
    /// ```
    /// let temp = ancho_collections::Temp::new();
    /// temp.slice(100, 0_u8);
    /// assert_eq!(temp.bytes_used(), 100);
    /// ```
    pub fn bytes_used(&self) -> usize {
        self.used_before.get() + (self.next.get().addr().get() - self.start.get().addr().get())
    }

    /// Returns the size of the kept blocks in bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// let temp = ancho_collections::Temp::with_capacity(1000);
    /// assert!(temp.bytes_reserved() >= 1000);
    /// ```
    pub fn bytes_reserved(&self) -> usize {
        self.blocks.borrow().iter().map(Piece::size).sum()
    }

    /// Allocates, if the system has memory. The alignment is a power of two, and the size at most
    /// [`isize::MAX`].
    #[inline(always)]
    fn take(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        match self.take_from_block(size, align) {
            Some(memory) => Some(memory),
            None => self.take_from_next_block(size, align),
        }
    }

    #[inline(always)]
    fn take_from_block(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let next = self.next.get();
        let skipped = next.addr().get().wrapping_neg() & (align - 1);
        // Neither side can overflow: an alignment is at most half of the address space, a size less, and
        // `next` is never beyond `end`.
        if skipped + size > self.end.get().addr().get() - next.addr().get() {
            return None;
        }
        // SAFETY: both results stay within the block that `next` points into, or do not move a dangling pointer.
        let (start, next) = unsafe { (next.add(skipped), next.add(skipped + size)) };
        self.next.set(next);
        Some(start)
    }

    #[cold]
    #[inline(never)]
    fn take_from_next_block(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        if size == 0 {
            return Layout::from_size_align(0, align).ok().map(|layout| layout.dangling_ptr());
        }
        // A block begins at a line. A larger alignment may need that much more, minus that line.
        self.begin_block(size.checked_add(align.saturating_sub(LINE))?)?;
        self.take_from_block(size, align)
    }

    /// Continues with another block that has room for `bytes` bytes: a kept block, or a new one.
    fn begin_block(&self, bytes: usize) -> Option<()> {
        let used = self.bytes_used();
        let size = bytes.checked_add(GAP)?;
        let mut blocks = self.blocks.borrow_mut();
        // An untouched block is not in use, and is left for allocations that fit it.
        let untouched = self.begun.get() > 0 && used == self.used_before.get();
        let begun = self.begun.get() - usize::from(untouched);
        let kept = blocks[begun..].iter().position(|block| block.size() >= size);
        let chosen = match kept {
            Some(index) => begun + index,
            None => {
                let largest = blocks.iter().map(Piece::size).max().unwrap_or(0);
                let usual = (2 * largest).clamp(FIRST_BLOCK, LARGEST_BLOCK);
                blocks.push(Piece::new(size.max(usual))?);
                blocks.len() - 1
            }
        };
        blocks.swap(begun, chosen);
        self.used_before.set(used);
        self.begun.set(begun + 1);
        self.enter(&blocks[begun]);
        Some(())
    }

    #[cold]
    fn begin_with_the_first_block(&mut self) {
        self.used_before.set(0);
        self.begun.set(1);
        self.enter(&self.blocks.borrow()[0]);
    }

    /// Selects a block to allocate from.
    fn enter(&self, block: &Piece) {
        // SAFETY: a block is larger than the gap, and its end is the end of its memory.
        let (start, end) = unsafe { (block.start().add(GAP), block.start().add(block.size())) };
        self.start.set(start);
        self.next.set(start);
        self.end.set(end);
    }

    /// Moves an allocation to new memory, with its contents up to the smaller size.
    ///
    /// # Safety
    ///
    /// - `memory` was allocated from this `Temp` with the layout `old`, and was not freed.
    /// - It is not used afterwards.
    unsafe fn relocate(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let moved = self.allocate(new)?;
        // SAFETY: the old and the new memory are valid for the smaller size, and do not overlap, since the old memory was not
        // freed yet. By the contract, the old memory has the layout `old`, and is not used afterwards.
        unsafe {
            moved.cast().copy_from_nonoverlapping(memory, old.size().min(new.size()));
            self.deallocate(memory, old);
        }
        Ok(moved)
    }

    /// Returns whether the memory ends at the start of the free memory, that is, was allocated
    /// last.
    #[inline]
    fn is_last(&self, memory: NonNull<u8>, size: usize) -> bool {
        memory.addr().get() + size == self.next.get().addr().get()
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn refused<T>(count: usize) -> ! {
    panic!(
        "A0021: there is no scratch memory for {count} values of `{}`; ask for fewer, or use a list of \
         the `Temp`, whose `try_reserve` returns the error",
        type_name::<T>()
    );
}

impl Default for Temp {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Temp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Temp")
            .field("bytes_used", &self.bytes_used())
            .field("bytes_reserved", &self.bytes_reserved())
            .finish()
    }
}

/// A list in the scratch memory of a [`Temp`]. It frees its elements when dropped, as any list
/// does.
///
/// # Examples
///
/// ```
/// use ancho_collections::{Temp, TempList};
///
/// let temp = Temp::new();
/// let mut names: TempList<String> = temp.list();
/// names.push("Ada".to_owned());
/// assert_eq!(names, ["Ada"]);
/// ```
pub type TempList<'t, T> = allocator_api2::vec::Vec<T, &'t Temp>;

// SAFETY: the memory is part of a block, and no other allocation overlaps it until it is freed.
// Blocks are neither freed nor reused while the `Temp` is borrowed, as it is by every copy of the
// reference.
unsafe impl RawAllocator for &Temp {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let memory = self.take(layout.size(), layout.align().max(LINE)).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(memory, layout.size()))
    }

    // Memory that was taken last is freed immediately, other memory when the `Temp` is reset.
    #[inline]
    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        if self.is_last(memory, layout.size()) {
            // SAFETY: the memory ends at `next`, so it is the end of the memory taken from this
            // block. The pointer is derived from the block's own, since the caller's may have less
            // provenance.
            self.next.set(unsafe { self.next.get().sub(layout.size()) });
        }
    }

    #[inline]
    unsafe fn grow(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let fits = memory.addr().get().is_multiple_of(new.align());
        let more = new.size() - old.size();
        let room = self.end.get().addr().get() - self.next.get().addr().get();
        if old.size() != 0 && fits && more <= room && self.is_last(memory, old.size()) {
            // SAFETY: the memory ends at `next`, so it is the end of the memory taken from this
            // block, which has room for the added bytes. The pointer is the block's own, and so has
            // provenance for all of it.
            let (start, next) =
                unsafe { (self.next.get().sub(old.size()), self.next.get().add(more)) };
            self.next.set(next);
            return Ok(NonNull::slice_from_raw_parts(start, new.size()));
        }
        // SAFETY: by the contract of `grow`, the memory is from this allocator with the layout
        // `old`, and is not used afterwards.
        unsafe { self.relocate(memory, old, new) }
    }

    #[inline]
    unsafe fn shrink(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if memory.addr().get().is_multiple_of(new.align()) {
            let less = old.size() - new.size();
            if self.is_last(memory, old.size()) {
                // SAFETY: the memory ends at `next`, so this is within the memory taken from this
                // block.
                self.next.set(unsafe { self.next.get().sub(less) });
            }
            return Ok(NonNull::slice_from_raw_parts(memory, new.size()));
        }
        // SAFETY: by the contract of `shrink`, the memory is from this allocator with the layout
        // `old`, and is not used afterwards.
        unsafe { self.relocate(memory, old, new) }
    }
}

thread_local! {
    /// The scratch memory of this thread that no scope uses. The memory for the outermost scope is first.
    static SPARE: Cell<Option<Box<Spare>>> = const { Cell::new(None) };
}

#[derive(Default)]
struct Spare {
    temp: Temp,
    next: Option<Box<Spare>>,
}

/// Lends this thread's scratch memory to a function, and frees the function's allocations at its
/// end.
///
/// It can be called on any thread, even inside a job, and inside another scope. A nested scope has memory of its own: allocations
/// of the outer scope survive the end of the inner one. Blocks are kept for the next scope, until the thread ends. Allocations
/// are freed even if the function panics.
///
/// # Examples
///
/// ```
/// use ancho_collections::temp_scope;
///
/// let median = |values: &[u32]| {
///     temp_scope(|temp| {
///         let sorted = temp.slice_copy(values);
///         sorted.sort();
///         sorted[sorted.len() / 2]
///     })
/// };
/// assert_eq!(median(&[5, 1, 9]), 5);
/// ```
///
/// The memory cannot leave the scope:
///
/// ```compile_fail
/// let five = ancho_collections::temp_scope(|temp| temp.alloc(5));
/// ```
///
/// Neither can it enter a scheduled job, which may run after the scope:
///
/// ```compile_fail,E0521
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// ancho_collections::temp_scope(|temp| {
///     let five = temp.alloc(5);
///     let _ = jobs.schedule(&[], (), move |()| *five += 1);
/// });
/// ```
pub fn temp_scope<R>(work: impl FnOnce(&Temp) -> R) -> R {
    let mut scope = Scope { memory: None };
    let memory = scope.memory.insert(take_spare());
    work(&memory.temp)
}

/// Takes the memory back, even on unwinding.
struct Scope {
    memory: Option<Box<Spare>>,
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        if let Some(mut memory) = self.memory.take() {
            memory.temp.reset();
            // While the thread ends, the memory is not kept.
            let _ = SPARE.try_with(|spare| {
                memory.next = spare.take();
                spare.set(Some(memory));
            });
        }
    }
}

#[inline]
fn take_spare() -> Box<Spare> {
    let spare = SPARE.try_with(|spare| {
        let mut first = spare.take()?;
        spare.set(first.next.take());
        Some(first)
    });
    spare.ok().flatten().unwrap_or_default()
}

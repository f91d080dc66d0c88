//! Storage for a job's data and closure in a node.
#![expect(unsafe_code, reason = "stores values whose type is known to the job's functions alone")]

use std::alloc::{self, Layout};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

/// Inline capacity in bytes. Fits the data and closure of most jobs: a few container references and captures.
const INLINE_BYTES: usize = 160;

#[repr(align(16))]
struct Inline(UnsafeCell<MaybeUninit<[u8; INLINE_BYTES]>>);

/// Untyped storage for one value. The code that stores a value also runs or drops it, and remembers whether it was
/// spilled.
#[repr(C)]
pub(crate) struct Payload {
    inline: Inline,
    /// Memory for a value that does not fit inline. Kept for the node's next large job: a program that schedules the
    /// same jobs every frame allocates nothing.
    spill: Option<(NonNull<u8>, Layout)>,
}

impl Payload {
    pub(crate) fn new() -> Self {
        let inline = Inline(UnsafeCell::new(MaybeUninit::uninit()));
        Self { inline, spill: None }
    }

    /// Stores a value, and returns whether it was spilled. The previous value is overwritten without being dropped.
    pub(crate) fn store<T>(&mut self, value: T) -> bool {
        let layout = Layout::new::<T>();
        let spilled = layout.size() > INLINE_BYTES || layout.align() > align_of::<Inline>();
        if spilled {
            self.reserve(layout);
        }
        // SAFETY: the place is large and aligned enough for a `T`, by the choice just made, and unshared, by `&mut
        // self`.
        unsafe { ptr::write(self.get(spilled).cast::<T>(), value) };
        spilled
    }

    /// Returns the address of the value, inline or spilled.
    #[inline]
    pub(crate) fn get(&self, spilled: bool) -> *mut u8 {
        if spilled && let Some((memory, _)) = self.spill {
            return memory.as_ptr();
        }
        self.inline.0.get().cast()
    }

    #[cold]
    fn reserve(&mut self, layout: Layout) {
        if let Some((_, kept)) = self.spill
            && kept.size() >= layout.size()
            && kept.align() >= layout.align()
        {
            return;
        }
        self.release();
        // A zero-sized type with a large alignment spills too, and an allocation must not have size zero.
        let layout = Layout::from_size_align(layout.size().max(layout.align()), layout.align())
            .expect("a type's size rounded up to its alignment fits in memory");
        // SAFETY: the size is at least the alignment, which is at least one.
        let memory = unsafe { alloc::alloc(layout) };
        let Some(memory) = NonNull::new(memory) else { alloc::handle_alloc_error(layout) };
        self.spill = Some((memory, layout));
    }

    fn release(&mut self) {
        if let Some((memory, layout)) = self.spill.take() {
            // SAFETY: allocated by `reserve` with this layout, and taken, so freed once.
            unsafe { alloc::dealloc(memory.as_ptr(), layout) };
        }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.release();
    }
}

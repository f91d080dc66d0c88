//! Allocators of containers.
//!
//! Every container keeps an [`Allocator`], a handle of one word. Behind it is the system's memory,
//! an arena, or a user's [`MemorySource`]. Most containers use the system's memory, which costs one
//! branch; everything else goes through a [`Source`], out of line.
#![expect(unsafe_code, reason = "implements the unsafe trait of allocators")]

mod arena;
mod block;
mod frame;
mod line_aligned;
mod registry;
mod rewindable;
mod source;
mod temp;

pub use frame::{FrameMemory, FrameReport, LeakReport, MAX_TEMP_JOB_FRAMES};
pub(crate) use line_aligned::LINE;
pub use line_aligned::LineAligned;
pub use registry::LiveContainer;
pub(crate) use registry::Registration;
pub use rewindable::RewindableAllocator;
pub use source::MemorySource;
pub use temp::{Temp, TempList, temp_scope};

use std::alloc::Layout;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use allocator_api2::alloc::{AllocError, Allocator as RawAllocator, Global};
use allocator_api2::collections::TryReserveError;
use allocator_api2::vec::Vec as RawVec;
use ancho_jobs::{ContainerLabel, Epoch, EpochStamp};

use arena::Arena;
use registry::Registry;
use source::System;

/// Handle to the memory of a container; every container keeps one.
///
/// It is one word, and a clone is the same allocator. The memory behind it lives as long as the
/// last handle, so a container can outlive the owner of its allocator.
///
/// | allocator | memory lives | for |
/// |---|---|---|
/// | [`Allocator::PERSISTENT`] | until the container is dropped | anything |
/// | [`FrameMemory::persistent`](crate::FrameMemory::persistent) | the same, and leaks are listed | containers of a world |
/// | [`FrameMemory::temp_job`](crate::FrameMemory::temp_job) | the same, and reported after four frames | containers shared with jobs |
/// | [`RewindableAllocator`](crate::RewindableAllocator) | until it is rewound | all containers of one phase |
/// | [`Allocator::custom`] | as its source defines | limits, counting, placement |
///
/// Scratch memory for one function is [`Temp`](crate::Temp), which is not an `Allocator`: it is
/// borrowed, and so never reaches a job.
///
/// It implements `Allocator` of the crate `allocator-api2`, so the vectors of that crate and the maps of
/// `hashbrown` can use it too.
///
/// # Examples
///
/// ```
/// use allocator_api2::vec::Vec;
/// use ancho_collections::Allocator;
///
/// let mut scores = Vec::new_in(Allocator::PERSISTENT);
/// scores.push(5);
/// assert_eq!(scores.allocator().name(), "Persistent");
/// ```
#[derive(Clone, Default)]
pub struct Allocator(Option<Arc<Source>>);

/// The state behind a handle, unless the handle is [`Allocator::PERSISTENT`].
struct Source {
    name: &'static str,
    memory: Memory,
    /// Registry of live containers, if they are reported.
    registry: Option<Arc<Registry>>,
    /// Epoch that expires containers, if the memory can be rewound while they exist.
    epoch: Option<Arc<Epoch>>,
}

enum Memory {
    System,
    Arena(Arc<Arena>),
    Custom(Box<dyn MemorySource>),
}

impl Allocator {
    /// The system's memory, through the program's global allocator.
    ///
    /// Leaks are not reported; use [`FrameMemory::persistent`](crate::FrameMemory::persistent) for
    /// that.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::Allocator;
    ///
    /// assert_eq!(Allocator::PERSISTENT, Allocator::default());
    /// ```
    pub const PERSISTENT: Self = Self(None);

    /// Creates an allocator from a user's source of memory.
    ///
    /// Messages use `name`. The source is dropped with the last handle.
    ///
    /// # Examples
    ///
    /// [`MemorySource`] has an example with a limit. This source refuses every allocation:
    ///
    /// ```
    /// use std::alloc::Layout;
    /// use std::ptr::NonNull;
    ///
    /// use allocator_api2::vec::Vec;
    /// use ancho_collections::{Allocator, MemorySource};
    ///
    /// struct Nothing;
    ///
    /// // SAFETY: it never returns memory, so there is none to free or to resize.
    /// unsafe impl MemorySource for Nothing {
    ///     fn allocate(&self, _: Layout) -> Option<NonNull<u8>> { None }
    ///     unsafe fn deallocate(&self, _: NonNull<u8>, _: Layout) {}
    /// }
    ///
    /// let mut list: Vec<u8, _> = Vec::new_in(Allocator::custom("Nothing", Nothing));
    /// assert!(list.try_reserve(1).is_err());
    /// ```
    pub fn custom(name: &'static str, source: impl MemorySource) -> Self {
        let memory = Memory::Custom(Box::new(source));
        Self::new(Source { name, memory, registry: None, epoch: None })
    }

    fn new(source: Source) -> Self {
        Self(Some(Arc::new(source)))
    }

    /// Returns the name used in messages.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(ancho_collections::Allocator::PERSISTENT.name(), "Persistent");
    /// ```
    pub fn name(&self) -> &'static str {
        self.0.as_ref().map_or("Persistent", |source| source.name)
    }

    /// Registers a container with the allocator's registry, if it has one. The container keeps the
    /// result.
    pub(crate) fn register(&self, label: ContainerLabel) -> Option<Registration> {
        let source = self.0.as_deref()?;
        source.registry.as_ref().map(|registry| registry.register(label, source.name))
    }

    /// Converts the handle into a pointer. The caller converts it back once, with [`from_raw`](Self::from_raw).
    pub(crate) fn into_raw(self) -> *mut () {
        self.0.map_or(ptr::null_mut(), |source| Arc::into_raw(source).cast_mut().cast())
    }

    /// Converts a pointer from [`into_raw`](Self::into_raw) back into the handle.
    ///
    /// # Safety
    ///
    /// The pointer is from [`into_raw`](Self::into_raw), and is converted back once.
    pub(crate) unsafe fn from_raw(pointer: *mut ()) -> Self {
        if pointer.is_null() {
            return Self(None);
        }
        // SAFETY: by the contract, the pointer was made by `Arc::into_raw`, and is turned back
        // once.
        Self(Some(unsafe { Arc::from_raw(pointer.cast_const().cast()) }))
    }

    /// Returns the epoch stamp by which a new container expires, if the allocator can be rewound.
    pub(crate) fn stamp(&self) -> Option<EpochStamp> {
        self.0.as_deref()?.epoch.as_ref().map(|epoch| epoch.stamp())
    }
}

/// Two handles are equal if memory of one can be freed by the other.
impl PartialEq for Allocator {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            _ => false,
        }
    }
}

impl Eq for Allocator {}

impl fmt::Debug for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Allocator").field(&self.name()).finish()
    }
}

// SAFETY: memory of the global allocator stays valid until freed. So does memory of a source, by
// the contract of `MemorySource`, until the source is dropped, which happens with the last clone of
// the handle. All clones share the same source, and free to it what came from it.
unsafe impl RawAllocator for Allocator {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        match &self.0 {
            None => Global.allocate(layout),
            Some(source) => source.allocate(layout, false),
        }
    }

    #[inline]
    fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        match &self.0 {
            None => Global.allocate_zeroed(layout),
            Some(source) => source.allocate(layout, true),
        }
    }

    #[inline]
    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the contract of this method is that of the methods called, and the arguments are
        // unchanged.
        unsafe {
            match &self.0 {
                None => Global.deallocate(memory, layout),
                Some(source) => source.deallocate(memory, layout),
            }
        }
    }

    #[inline]
    unsafe fn grow(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the contract of this method is that of the methods called, and the arguments are
        // unchanged.
        unsafe {
            match &self.0 {
                None => Global.grow(memory, old, new),
                Some(source) => source.resize(memory, old, new),
            }
        }
    }

    #[inline]
    unsafe fn shrink(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the contract of this method is that of the methods called, and the arguments are
        // unchanged.
        unsafe {
            match &self.0 {
                None => Global.shrink(memory, old, new),
                Some(source) => source.resize(memory, old, new),
            }
        }
    }
}

/// The same operations for sources, which never see zero bytes or a change of alignment.
impl Source {
    fn memory(&self) -> &dyn MemorySource {
        match &self.memory {
            Memory::System => &System,
            Memory::Arena(arena) => &**arena,
            Memory::Custom(source) => &**source,
        }
    }

    #[inline(never)]
    fn allocate(&self, layout: Layout, zeroed: bool) -> Result<NonNull<[u8]>, AllocError> {
        let memory = match (layout.size(), zeroed) {
            (0, _) => Some(layout.dangling_ptr()),
            (_, false) => self.memory().allocate(layout),
            (_, true) => self.memory().allocate_zeroed(layout),
        };
        exactly(memory, layout)
    }

    /// # Safety
    ///
    /// Same contract as [`RawAllocator::deallocate`].
    #[inline(never)]
    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            // SAFETY: the memory is from this source, was not freed yet, and is not used
            // afterwards. A layout that fits is the last one requested, since sources return
            // exactly that size.
            unsafe { self.memory().deallocate(memory, layout) };
        }
    }

    /// # Safety
    ///
    /// Same contract as [`RawAllocator::grow`] or [`RawAllocator::shrink`].
    #[inline(never)]
    unsafe fn resize(
        &self,
        memory: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if old.size() == 0 || new.size() == 0 || old.align() != new.align() {
            let moved = self.allocate(new, false)?;
            // SAFETY: the old and the new memory are valid for the smaller of the two sizes, and do not overlap. The old memory
            // is from this source, was not freed yet, and is not used afterwards.
            unsafe {
                let kept = old.size().min(new.size());
                ptr::copy_nonoverlapping(memory.as_ptr(), moved.as_ptr().cast(), kept);
                self.deallocate(memory, old);
            }
            return Ok(moved);
        }
        // SAFETY: the memory is from this source and was not freed yet, the layout is the last one
        // requested, and the new size is that of a layout with the same alignment. The new size is
        // not zero, and the comparison selects the method whose contract it meets.
        let resized = unsafe {
            if new.size() >= old.size() {
                self.memory().grow(memory, old, new.size())
            } else {
                self.memory().shrink(memory, old, new.size())
            }
        };
        exactly(resized, new)
    }
}

/// Moves the elements of a vector to memory for exactly `capacity` elements, which is at least
/// their number. If the allocation fails, nothing changes.
///
/// The vector's own `shrink_to` aborts if the allocator refuses.
pub(crate) fn move_to_capacity<T, A: RawAllocator + Clone>(
    items: &mut RawVec<T, A>,
    capacity: usize,
) -> Result<(), TryReserveError> {
    let mut moved = RawVec::new_in(items.allocator().clone());
    moved.try_reserve_exact(capacity)?;
    moved.append(items);
    *items = moved;
    Ok(())
}

/// Wraps memory of exactly the requested size: sources may rely on that size when the memory is
/// freed.
fn exactly(memory: Option<NonNull<u8>>, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
    let memory = memory.ok_or(AllocError)?;
    Ok(NonNull::slice_from_raw_parts(memory, layout.size()))
}

//! Lists and maps in scratch memory.
#![expect(unsafe_code, reason = "implements the unsafe trait of allocators")]

use std::alloc::Layout;
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator as RawAllocator};

use super::{LINE, Temp};

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
        let moved = self.allocate(new)?;
        // SAFETY: both are valid for the old size, and do not overlap, since the old memory was not
        // freed yet. It is not used afterwards.
        unsafe {
            moved.cast().copy_from_nonoverlapping(memory, old.size());
            self.deallocate(memory, old);
        }
        Ok(moved)
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
        let moved = self.allocate(new)?;
        // SAFETY: both are valid for the new size, and do not overlap, since the old memory was not
        // freed yet. It is not used afterwards.
        unsafe {
            moved.cast().copy_from_nonoverlapping(memory, new.size());
            self.deallocate(memory, old);
        }
        Ok(moved)
    }
}

//! Memory for what is remembered of chunks beside their data.

#![expect(unsafe_code, reason = "memory of the global allocator")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::tracking::Tracking;

/// Memory of chunks that are gone, for chunks to come: so that opening one mostly asks nobody for memory.
///
/// It comes in powers of two, so that few sizes do for all archetypes. It is aligned to 16 bytes.
#[derive(Default)]
pub(crate) struct StateMemory {
    /// By size, from the smallest on. What is larger than the last is not kept.
    kept: [Vec<NonNull<u8>>; SIZES],
    /// What was tracked row by row, by the number of columns.
    tracked: Vec<Vec<Tracking>>,
}

/// The smallest size has so many bits behind its first.
const SMALLEST: u32 = 5;
/// How many sizes are kept: up to 4 KiB.
const SIZES: usize = 8;
const ALIGN: usize = 16;

// SAFETY: it owns the memory, as a box does.
unsafe impl Send for StateMemory {}

impl StateMemory {
    /// Memory for so many bytes, more than none. What is in it is not known.
    pub(super) fn take(&mut self, bytes: usize) -> NonNull<u8> {
        let kept = self.kept.get_mut(place_of(bytes)).and_then(Vec::pop);
        kept.unwrap_or_else(|| allocate(bytes))
    }

    /// Keeps memory that was [taken](Self::take) or [allocated](allocate) for so many bytes, unless so many of the size are kept already.
    ///
    /// # Safety
    ///
    /// - it was, and nobody uses it any more
    pub(super) unsafe fn give_back(&mut self, memory: NonNull<u8>, bytes: usize, most: usize) {
        match self.kept.get_mut(place_of(bytes)) {
            Some(kept) if kept.len() < most => kept.push(memory),
            // SAFETY: the caller's promise.
            _ => unsafe { free(memory, bytes) },
        }
    }

    /// To track so many columns of a chunk without rows.
    pub(super) fn take_tracking(&mut self, columns: usize, capacity: u32) -> Tracking {
        /// Among how many one is looked for whose memory is as large as is needed.
        const LOOKED_AT: usize = 8;

        let Some(kept) = self.tracked.get_mut(columns).filter(|kept| !kept.is_empty()) else {
            return Tracking::new(columns, capacity);
        };
        let mut last = (0..kept.len()).rev().take(LOOKED_AT);
        let at = last.find(|&at| kept[at].is_for(capacity)).unwrap_or(kept.len() - 1);
        let mut tracking = kept.swap_remove(at);
        tracking.renew(capacity);
        tracking
    }

    /// Keeps the memory of what was tracked, unless so many of as many columns are kept already.
    pub(super) fn give_tracking_back(&mut self, mut tracking: Tracking, most: usize) {
        /// Of how many the versions of single rows are kept, which may be half as large as a chunk.
        const WHOLE: usize = 64;

        let columns = tracking.len();
        if columns >= self.tracked.len() {
            self.tracked.resize_with(columns + 1, Vec::new);
        }
        let kept = &mut self.tracked[columns];
        if kept.len() < most {
            if kept.len() >= WHOLE {
                tracking.forget_rows();
            }
            kept.push(tracking);
        }
    }
}

/// Memory for so many bytes, more than none, for who knows of none that is kept.
pub(super) fn allocate(bytes: usize) -> NonNull<u8> {
    let layout = layout_of(bytes);
    // SAFETY: the layout has a size.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Frees memory that was [taken](StateMemory::take) or [allocated](allocate) for so many bytes.
///
/// # Safety
///
/// - it was, and nobody uses it any more
pub(super) unsafe fn free(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: it was allocated with this layout.
    unsafe { dealloc(memory.as_ptr(), layout_of(bytes)) };
}

/// Whether the memory for so many bytes does for so many others.
pub(super) fn are_alike(bytes: usize, others: usize) -> bool {
    layout_of(bytes) == layout_of(others)
}

/// Where memory for so many bytes is in the list.
fn place_of(bytes: usize) -> usize {
    (layout_of(bytes).size().ilog2() - SMALLEST) as usize
}

fn layout_of(bytes: usize) -> Layout {
    let size = bytes.max(1 << SMALLEST).next_power_of_two();
    Layout::from_size_align(size, ALIGN).expect("as large as a few chunks at most")
}

impl Drop for StateMemory {
    fn drop(&mut self) {
        for (at, kept) in self.kept.iter_mut().enumerate() {
            for memory in kept.drain(..) {
                // SAFETY: it is of this size, and nobody uses it.
                unsafe { free(memory, 1 << (at + SMALLEST as usize)) };
            }
        }
    }
}

//! Pages of the table: slots that tables share, and copy when one of them writes.
#![expect(unsafe_code, reason = "counted memory")]

use std::ptr::NonNull;
use std::sync::LazyLock;

use super::NONE;
use crate::storage::count::Count;

/// How many slots a page has, as a power of two.
pub(super) const PAGE_SHIFT: u32 = 12;
/// How many slots a page has.
pub(super) const PAGE_SLOTS: usize = 1 << PAGE_SHIFT;

/// What the table knows of one index.
///
/// ```text
///           version                     chunk             row
/// living    that of the entity          where it is       where it is
/// free      that of the next entity     NONE              the next free index in the chain, or NONE
/// fresh     that of the next entity     NONE              nothing
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Slot {
    pub(super) version: u32,
    pub(super) chunk: u32,
    pub(super) row: u32,
}

impl Slot {
    /// The slot of an index that no entity has had.
    const UNUSED: Self = Self { version: 1, chunk: NONE, row: NONE };

    /// Whether an entity has it.
    #[inline]
    pub(super) fn is_alive(&self) -> bool {
        self.chunk != NONE
    }

    /// The version that the next entity in the slot will have, once its present one is dead.
    #[inline]
    pub(super) fn version_if_dead(&self) -> u32 {
        if self.is_alive() { next_version(self.version) } else { self.version }
    }
}

/// The version after another. Zero is that of the null entity, and left out.
#[inline]
pub(super) fn next_version(version: u32) -> u32 {
    version.wrapping_add(1).max(1)
}

/// The memory of a page.
#[repr(C, align(64))]
struct Memory {
    slots: [Slot; PAGE_SLOTS],
    count: Count,
}

/// One count of the memory of a page.
///
/// **Invariant:** while there are several counts, nobody writes to the slots.
#[derive(Debug)]
struct Counted(NonNull<Memory>);

// SAFETY: the count is atomic, and slots are plain numbers, written only by the table that has the only
// count, through `&mut`.
unsafe impl Send for Counted {}
// SAFETY: as above.
unsafe impl Sync for Counted {}

impl Counted {
    /// Makes a page. Its slots are written by `write`, which is given the first of them.
    ///
    /// # Safety
    ///
    /// The caller promises that `write` initialises all slots.
    unsafe fn new(write: impl FnOnce(NonNull<Slot>)) -> Self {
        let memory = NonNull::from(Box::leak(Box::<Memory>::new_uninit())).cast::<Memory>();
        // SAFETY: the field is inside the new memory.
        unsafe { (&raw mut (*memory.as_ptr()).count).write(Count::one()) };
        write(memory.cast());
        Self(memory)
    }

    /// The first of the slots.
    #[inline]
    fn slots(&self) -> NonNull<Slot> {
        // The slots are the first field.
        self.0.cast()
    }

    fn count(&self) -> &Count {
        // SAFETY: the memory lives by the count that this is. The count is shared only.
        unsafe { &(*self.0.as_ptr()).count }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.count().add();
        Self(self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.count().remove() {
            // SAFETY: it was made as a box, and this was the last who could reach it.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

/// A page of one table.
#[derive(Debug)]
pub(super) struct Page {
    /// Where the table reads: the slots of `memory`, or, if the page is parked, [dead ones](dead_slots).
    visible: NonNull<Slot>,
    memory: Counted,
    /// Whether another table may have a count of the memory. If not, the table may write.
    shared: bool,
}

// SAFETY: `visible` is the memory that `memory` owns a count of, which is `Send` and `Sync`, or memory that
// never changes.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

/// Slots that no entity has, seen instead of those of parked pages. They are always the same ones.
pub(super) fn dead_slots() -> &'static [Slot; PAGE_SLOTS] {
    // On the heap, since most programs never need them, and would carry them in the executable.
    static DEAD: LazyLock<Box<[Slot; PAGE_SLOTS]>> =
        LazyLock::new(|| Box::new([Slot::UNUSED; PAGE_SLOTS]));
    &DEAD
}

impl Page {
    /// Makes a page of slots that no entity has had.
    pub(super) fn new() -> Self {
        // SAFETY: all slots are written.
        let memory =
            unsafe { Counted::new(|slots| slots.cast().write([Slot::UNUSED; PAGE_SLOTS])) };
        Self { visible: memory.slots(), memory, shared: false }
    }

    /// Reads a slot. It is the one of the index in the page; larger ones are taken modulo the slots of a
    /// page.
    #[inline]
    pub(super) fn slot(&self, index: u32) -> Slot {
        // SAFETY: there are so many slots, which live as long as the page has a count, or forever. Nobody
        // writes to them: that takes the only count, and this page by `&mut`.
        unsafe { self.visible.add(index as usize % PAGE_SLOTS).read() }
    }

    /// Reads all slots.
    pub(super) fn slots(&self) -> &[Slot; PAGE_SLOTS] {
        // SAFETY: as in `slot`.
        unsafe { self.visible.cast().as_ref() }
    }

    /// Reads the slots that the page will have when it is unparked, but for the living ones among them: those
    /// will have died.
    pub(super) fn hidden_slots(&self) -> &[Slot; PAGE_SLOTS] {
        // SAFETY: as in `slot`.
        unsafe { self.memory.slots().cast().as_ref() }
    }

    /// Opens a slot to be written. Which one is said as for [`slot`](Self::slot).
    #[inline]
    pub(super) fn slot_mut(&mut self, index: u32) -> &mut Slot {
        if self.shared {
            self.unshare();
        }
        // SAFETY: there are so many slots. Nobody else has a count of them, and the page is borrowed.
        unsafe { self.memory.slots().add(index as usize % PAGE_SLOTS).as_mut() }
    }

    /// Opens all slots to be written.
    #[inline]
    pub(super) fn slots_mut(&mut self) -> &mut [Slot; PAGE_SLOTS] {
        if self.shared {
            self.unshare();
        }
        // SAFETY: as in `slot_mut`.
        unsafe { self.memory.slots().cast().as_mut() }
    }

    /// Whether the page shows dead slots in place of its own.
    pub(super) fn is_parked(&self) -> bool {
        self.visible != self.memory.slots()
    }

    /// Whether the page may be written as it is. That takes the only count, which is what a check compares.
    pub(super) fn is_writable(&self) -> (bool, bool) {
        (!self.shared, self.memory.count().is_one())
    }

    /// Lets all entities of the page die, without touching its slots.
    pub(super) fn park(&mut self) {
        self.visible = NonNull::from(dead_slots()).cast();
    }

    /// Shows the slots of a parked page again. Those that were alive when it was parked get their next
    /// version, and are dead.
    pub(super) fn unpark(&mut self) {
        debug_assert!(self.is_parked());
        for slot in self.slots_mut() {
            slot.version = slot.version_if_dead();
            slot.chunk = NONE;
        }
        self.visible = self.memory.slots();
    }

    /// Makes the same page for another table. Whichever writes first copies it.
    pub(super) fn fork(&mut self) -> Self {
        self.shared = true;
        Self { visible: self.visible, memory: self.memory.clone(), shared: true }
    }

    /// Makes sure that this is the only count of the memory.
    #[cold]
    #[inline(never)]
    pub(super) fn unshare(&mut self) {
        // The others may have gone, or copied the page.
        if !self.memory.count().is_one() {
            let parked = self.is_parked();
            let original = self.memory.slots();
            // SAFETY: all slots are written, from those of another page, which nobody writes to.
            self.memory = unsafe {
                Counted::new(|slots| slots.copy_from_nonoverlapping(original, PAGE_SLOTS))
            };
            if !parked {
                self.visible = self.memory.slots();
            }
        }
        self.shared = false;
    }
}

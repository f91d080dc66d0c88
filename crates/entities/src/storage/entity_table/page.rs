//! Pages of the table: slots that tables share, and copy when one of them writes.
#![expect(unsafe_code, reason = "slots in counted memory")]

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::LazyLock;

use super::NONE;
use crate::storage::arena::{ChunkArena, ChunkMemory, TABLE_PAGE_SIZE};

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

/// Where the tables of all worlds have their pages from.
///
/// Finding an entity by its id is a jump into its table. In the blocks of an arena, which are huge pages where
/// the system has them, a jump among a million slots takes nine tenths of the time that it takes in memory of
/// the heap. Tables are not worth an arena for each world: there is one page for thousands of entities.
static PAGES: LazyLock<ChunkArena> = LazyLock::new(ChunkArena::new);

const _: () = assert!(size_of::<[Slot; PAGE_SLOTS]>() == TABLE_PAGE_SIZE);

/// A page of one table.
#[derive(Debug)]
pub(super) struct Page {
    /// Where the table reads: the slots in `memory`, or, if the page is parked, [dead ones](dead_slots).
    visible: NonNull<Slot>,
    /// The slots, all of them initialised. While there are other counts, nobody writes to them.
    memory: ChunkMemory,
    /// Whether another table may have a count of the memory. If not, the table may write.
    shared: bool,
}

// SAFETY: `visible` is the memory that `memory` has a count of, or one that never changes. Slots are plain
// numbers. They are written only by who has the only count of them, and the page by `&mut`.
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
        let memory = allocate();
        // SAFETY: the memory is new, and as large as a page.
        unsafe { memory.as_ptr().cast().write([Slot::UNUSED; PAGE_SLOTS]) };
        Self { visible: memory.as_ptr().cast(), memory, shared: false }
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
        unsafe { self.own().cast().as_ref() }
    }

    /// Where a slot that is seen is, to be written if an entity has it. Which one is said as for [`slot`](Self::slot).
    #[inline]
    pub(super) fn seen_slot(&mut self, index: u32) -> NonNull<Slot> {
        if self.shared {
            self.unshare();
        }
        // SAFETY: there are so many slots.
        unsafe { self.visible.add(index as usize % PAGE_SLOTS) }
    }

    /// Opens a slot to be written. Which one is said as for [`slot`](Self::slot).
    #[inline]
    pub(super) fn slot_mut(&mut self, index: u32) -> &mut Slot {
        if self.shared {
            self.unshare();
        }
        // SAFETY: there are so many slots. Nobody else has a count of them, and the page is borrowed.
        unsafe { self.own().add(index as usize % PAGE_SLOTS).as_mut() }
    }

    /// Opens all slots to be written.
    #[inline]
    pub(super) fn slots_mut(&mut self) -> &mut [Slot; PAGE_SLOTS] {
        if self.shared {
            self.unshare();
        }
        // SAFETY: as in `slot_mut`.
        unsafe { self.own().cast().as_mut() }
    }

    /// Whether the page shows dead slots in place of its own.
    pub(super) fn is_parked(&self) -> bool {
        self.visible != self.own()
    }

    /// Whether another table has the page too, and it is not marked as shared. This must never be.
    pub(super) fn is_secretly_shared(&self) -> bool {
        !self.shared && !self.memory.is_unique()
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
        self.visible = self.own();
    }

    /// Makes the same page for another table. Whichever writes first copies it.
    pub(super) fn fork(&mut self) -> Self {
        self.shared = true;
        Self { visible: self.visible, memory: self.memory.share(), shared: true }
    }

    /// The first of the page's own slots, whether they are shown or not.
    #[inline]
    fn own(&self) -> NonNull<Slot> {
        self.memory.as_ptr().cast()
    }

    /// Makes sure that this is the only count of the memory.
    #[cold]
    #[inline(never)]
    pub(super) fn unshare(&mut self) {
        // The others may have gone, or copied the page.
        if !self.memory.is_unique() {
            let parked = self.is_parked();
            let copy = allocate();
            // SAFETY: both are as large as a page. The copy is new, and nobody writes to the original.
            unsafe { copy.as_ptr().cast().copy_from_nonoverlapping(self.own(), PAGE_SLOTS) };
            self.memory = copy;
            if !parked {
                self.visible = self.own();
            }
        }
        self.shared = false;
    }
}

/// Allocates the memory of a page. Slots have nothing to drop, so neither has it.
#[cold]
fn allocate() -> ChunkMemory {
    match PAGES.allocate(TABLE_PAGE_SIZE as u32) {
        Ok(memory) => memory,
        // There is no limit, so it is the system that has no more.
        Err(_) => handle_alloc_error(Layout::new::<[Slot; PAGE_SLOTS]>()),
    }
}

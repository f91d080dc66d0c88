//! Pages of the table: slots that tables share, and copy when one of them writes.
#![expect(unsafe_code, reason = "slots in counted memory")]

use std::alloc::{Layout, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::LazyLock;

use super::{Location, NONE};
use crate::Entity;
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
/// aside     that of the next entity     NONE              a mark
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
    pub(super) const UNUSED: Self = Self { version: 1, chunk: NONE, row: NONE };

    /// Whether an entity has it.
    #[inline]
    pub(super) fn is_alive(&self) -> bool {
        self.chunk != NONE
    }

    /// Where an entity is, if it has the slot.
    #[inline]
    pub(super) fn location_of(self, entity: Entity) -> Option<Location> {
        let Self { version, chunk, row } = self;
        // The version of a free slot is that of an entity to come.
        if version != entity.version() || chunk == NONE {
            return None;
        }
        Some(Location { chunk, row })
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

/// A page of one table: memory for its slots, of which the table knows how many are initialised.
#[derive(Debug)]
pub(super) struct Page {
    /// While there are other counts, nobody writes to it.
    memory: ChunkMemory,
    /// Whether another table may have a count of the memory. If not, the table may write.
    shared: bool,
}

// SAFETY: slots are plain numbers. They are written only by who has the only count of them, and the page by `&mut`.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    /// Makes a page.
    pub(super) fn new() -> Self {
        Self { memory: allocate(), shared: false }
    }

    /// Where the slots are. They live as long as the page, and are written only through it.
    #[inline]
    pub(super) fn first(&self) -> NonNull<Slot> {
        self.memory.as_ptr().cast()
    }

    /// Opens all slots to be written.
    #[inline]
    pub(super) fn slots_mut(&mut self) -> &mut [MaybeUninit<Slot>; PAGE_SLOTS] {
        if self.shared {
            self.unshare();
        }
        // SAFETY: there are so many slots. Nobody else has a count of them, and the page is borrowed.
        unsafe { self.first().cast().as_mut() }
    }

    /// Whether another table has the page too, and it is not marked as shared. This must never be.
    pub(super) fn is_secretly_shared(&self) -> bool {
        !self.shared && !self.memory.is_unique()
    }

    /// Makes the same page for another table. Whichever writes first copies it.
    pub(super) fn fork(&mut self) -> Self {
        self.shared = true;
        Self { memory: self.memory.share(), shared: true }
    }

    /// Makes sure that this is the only count of the memory.
    #[cold]
    #[inline(never)]
    pub(super) fn unshare(&mut self) {
        // The others may have gone, or copied the page.
        if !self.memory.is_unique() {
            let copy = allocate();
            let slots = copy.as_ptr().cast::<MaybeUninit<Slot>>();
            // SAFETY: both are as large as a page. The copy is new, and nobody writes to the original.
            unsafe { slots.copy_from_nonoverlapping(self.first().cast(), PAGE_SLOTS) };
            self.memory = copy;
        }
        self.shared = false;
    }
}

/// Allocates the memory of a page. Slots have nothing to drop, so neither has it.
#[cold]
fn allocate() -> ChunkMemory {
    match PAGES.allocate_page() {
        Ok(memory) => memory,
        // There is no limit, so it is the system that has no more.
        Err(_) => handle_alloc_error(Layout::new::<[Slot; PAGE_SLOTS]>()),
    }
}

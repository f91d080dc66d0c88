//! Pages of the entity table, which forks share until one of them writes, and views for fast lookups.

#![expect(unsafe_code, reason = "slots in counted memory")]

use std::alloc::{Layout, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::LazyLock;

use ancho_burst::dispatch;

use super::{EntityTable, Location, NONE};
use crate::entity::Entity;
use crate::storage::arena::{ChunkArena, ChunkMemory, TABLE_PAGE_SIZE};
use crate::storage::raw_values::prefetch;

/// The binary logarithm of the number of slots in a page.
pub(super) const PAGE_SHIFT: u32 = 12;
/// The number of slots in a page.
pub(super) const PAGE_SLOTS: usize = 1 << PAGE_SHIFT;

/// The state of an index.
///
/// ```text
///            version                     chunk             row
/// living     that of the entity          where it is       where it is
/// free       that of the next entity     NONE              the next free index in the list, or NONE
/// reserved   that of the next entity     NONE              a mark
/// fresh      that of the next entity     NONE              nothing
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct EntitySlot {
    pub(super) version: u32,
    pub(super) chunk: u32,
    pub(super) row: u32,
}

impl EntitySlot {
    /// The slot of an index that was never used.
    pub(super) const UNUSED: Self = Self { version: 1, chunk: NONE, row: NONE };

    /// Returns whether the slot has an entity.
    #[inline]
    pub(super) fn is_alive(&self) -> bool {
        self.chunk != NONE
    }

    /// Returns the location of an entity, if the slot belongs to it and the entity exists.
    #[inline]
    pub(super) fn location_of(self, entity: Entity) -> Option<Location> {
        let Self { version, chunk, row } = self;
        // A free slot has the version of its next entity, so the version alone does not suffice.
        if version != entity.version() || chunk == NONE {
            return None;
        }
        Some(Location { chunk, row })
    }

    /// Returns the version of the slot's next entity, given that its current entity, if any, no longer exists.
    #[inline]
    pub(super) fn version_if_dead(&self) -> u32 {
        if self.is_alive() { next_version(self.version) } else { self.version }
    }
}

/// Returns the version that follows another. It is never zero, the version of the null entity.
#[inline]
pub(crate) fn next_version(version: u32) -> u32 {
    version.wrapping_add(1).max(1)
}

/// The arena that allocates the pages of all worlds.
///
/// Finding an entity by its id is a random access to the table. The blocks of an arena are huge pages if the system has them. An
/// access among a million slots then takes 90 % of the time that it takes on the heap. One arena serves all worlds, because a
/// page holds thousands of entities.
static PAGES: LazyLock<ChunkArena> = LazyLock::new(ChunkArena::new);

const _: () = assert!(size_of::<[EntitySlot; PAGE_SLOTS]>() == TABLE_PAGE_SIZE);

/// A page of slots of a table. The table determines which slots are initialised.
#[derive(Debug)]
pub(super) struct Page {
    /// The memory of the slots. It is not written while there are other owners.
    memory: ChunkMemory,
    /// True if another table may also own the memory. If false, the table may write.
    shared: bool,
}

// SAFETY: slots are plain numbers. They are written only through `&mut Page`, and only by the only owner of the memory.
unsafe impl Send for Page {}
// SAFETY: slots are plain numbers. They are written only through `&mut Page`, and only by the only owner of the memory.
unsafe impl Sync for Page {}

impl Page {
    /// Allocates an unshared page of uninitialised slots.
    pub(super) fn new() -> Self {
        Self { memory: allocate(), shared: false }
    }

    /// Returns the address of the slots. They live as long as the page, and are written only through the page.
    #[inline]
    pub(super) fn first(&self) -> NonNull<EntitySlot> {
        self.memory.as_ptr().cast()
    }

    /// Returns all slots mutably. If the page is shared, it is copied first.
    #[inline]
    pub(super) fn slots_mut(&mut self) -> &mut [MaybeUninit<EntitySlot>; PAGE_SLOTS] {
        if self.shared {
            self.unshare();
        }
        // SAFETY: the memory has `PAGE_SLOTS` slots. It is unshared, and the result borrows the page mutably.
        unsafe { self.first().cast().as_mut() }
    }

    /// Returns whether another table also owns the memory although the page is not marked as shared, which would be a bug.
    pub(super) fn is_shared_without_mark(&self) -> bool {
        !self.shared && !self.memory.is_unique()
    }

    /// Creates a page for another table that shares the memory. The table that writes first copies the page.
    pub(super) fn fork(&mut self) -> Self {
        self.shared = true;
        Self { memory: self.memory.share(), shared: true }
    }

    /// Makes the page the only owner of its memory, by copying the memory if necessary.
    #[cold]
    #[inline(never)]
    pub(super) fn unshare(&mut self) {
        // The other owners may have been dropped, or may have copied the page.
        if !self.memory.is_unique() {
            let copy = allocate();
            let slots = copy.as_ptr().cast::<MaybeUninit<EntitySlot>>();
            // SAFETY: both are as large as a page, and do not overlap, because the copy is new. Shared memory is not written by
            // any owner.
            unsafe { slots.copy_from_nonoverlapping(self.first().cast(), PAGE_SLOTS) };
            self.memory = copy;
        }
        self.shared = false;
    }
}

/// Allocates the memory of a page. It can be freed without dropping the slots, because slots have no drop glue.
#[cold]
fn allocate() -> ChunkMemory {
    match PAGES.allocate_page() {
        Ok(memory) => memory,
        // The arena has no limit, so the error means that the system is out of memory.
        Err(_) => handle_alloc_error(Layout::new::<[EntitySlot; PAGE_SLOTS]>()),
    }
}

/// Writes the slots of existing entities that have the same version and are in contiguous rows of a chunk.
#[inline(never)]
pub(super) fn relocate_id_range(
    slots: &mut [MaybeUninit<EntitySlot>],
    version: u32,
    chunk: u32,
    row: u32,
) {
    dispatch(
        #[inline(always)]
        || {
            for (slot, step) in slots.iter_mut().zip(0..) {
                slot.write(EntitySlot { version, chunk, row: row + step });
            }
        },
    );
}

/// Returns the version that the next entities in these slots will have, if it is the same for all of them. `slots` is not empty.
#[inline(never)]
pub(super) fn common_version(slots: &[EntitySlot]) -> Option<u32> {
    let first = slots[0];
    let is_alive = first.is_alive();
    let differ = dispatch(
        #[inline(always)]
        || {
            // Without an early exit, the compiler vectorises the loop.
            slots.iter().fold(false, |differ, slot| {
                differ | (slot.version != first.version) | (slot.is_alive() != is_alive)
            })
        },
    );
    (!differ).then(|| first.version_if_dead())
}

/// Writes contiguous ids of one version, and the slots of these ids, for entities in contiguous rows of a chunk.
#[inline(never)]
pub(super) fn write_id_range(
    ids: &mut [MaybeUninit<Entity>],
    slots: &mut [MaybeUninit<EntitySlot>],
    first: Entity,
    chunk: u32,
    row: u32,
) {
    dispatch(
        #[inline(always)]
        || {
            for (id, step) in ids.iter_mut().zip(0..) {
                id.write(Entity::from_parts(first.index() + step, first.version()));
            }
        },
    );
    // A separate loop writes the slots, so that each of the two arrays is written sequentially.
    relocate_id_range(slots, first.version(), chunk, row);
}

/// Returns the number of leading slots that the free list visits in order and that have the same version, which is at least one.
/// Also returns the version, and the index at which the list continues.
///
/// # Safety
///
/// - the free list leads to the first slot, which has this index; this slot, and all slots it leads to, are initialised
pub(super) unsafe fn linked_range(
    slots: &[MaybeUninit<EntitySlot>],
    index: u32,
) -> (usize, u32, u32) {
    // SAFETY: only slots are read that the free list leads to, which are initialised.
    let read = |slot: &MaybeUninit<EntitySlot>| unsafe { slot.assume_init() };
    let EntitySlot { version, row: mut next, .. } = read(&slots[0]);
    let mut count = 1;
    for (slot, following) in slots[1..].iter().zip(index + 1..) {
        if next != following {
            break;
        }
        let slot = read(slot);
        if slot.version != version {
            break;
        }
        next = slot.row;
        count += 1;
    }
    (count, version, next)
}

/// Marks the slots of contiguous indices that were never used as reserved.
#[inline(never)]
pub(super) fn write_reserved(slots: &mut [MaybeUninit<EntitySlot>]) {
    for slot in slots {
        slot.write(EntitySlot::reserved(EntitySlot::UNUSED.version));
    }
}

/// Links contiguous slots into a free list that continues with `next`, if all of them are reserved and have the version of
/// `first`. Returns whether they were linked. If not, nothing is written.
#[inline(never)]
pub(super) fn link_reserved(slots: &mut [EntitySlot], first: Entity, next: u32) -> bool {
    let version = first.version();
    let differ = slots
        .iter()
        .fold(false, |differ, slot| differ | !slot.is_reserved() | (slot.version != version));
    if differ {
        return false;
    }
    for (slot, following) in slots.iter_mut().zip(first.index() + 1..) {
        slot.row = following;
    }
    if let Some(last) = slots.last_mut() {
        last.row = next;
    }
    true
}

/// The addresses of all pages of a table, stored contiguously for fast lookups.
#[derive(Default)]
pub(crate) struct PageView<'t> {
    /// The address of the first slot of each page.
    pages: Vec<NonNull<EntitySlot>>,
    high_water: u32,
    table: PhantomData<&'t ()>,
}

impl PageView<'_> {
    /// Replaces the addresses of the view with those of a table's pages.
    ///
    /// # Safety
    ///
    /// - after a change to the table, the view is not used until it reads the pages again
    pub(crate) unsafe fn read_pages(&mut self, table: &EntityTable) {
        self.pages.clear();
        self.pages.extend(table.pages.iter().map(Page::first));
        self.high_water = table.high_water;
    }

    /// Returns the addresses of the view as plain values.
    #[inline(always)]
    pub(crate) fn slots(&self) -> SlotView<'_> {
        SlotView { pages: self.pages.as_ptr(), high_water: self.high_water, table: PhantomData }
    }

    /// Prefetches the slot of an entity.
    #[inline]
    pub(crate) fn prefetch(&self, entity: Entity) {
        self.slots().prefetch(entity);
    }

    /// Returns the location of an entity, if it exists.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<Location> {
        self.slots().locate(entity)
    }
}

/// The addresses of a [`PageView`] as plain values that stay in registers. A loop that writes to memory would otherwise reload
/// them for each entity.
#[derive(Clone, Copy)]
pub(crate) struct SlotView<'t> {
    pages: *const NonNull<EntitySlot>,
    high_water: u32,
    table: PhantomData<&'t ()>,
}

impl SlotView<'_> {
    /// Prefetches the slot of an entity.
    #[inline]
    pub(crate) fn prefetch(self, entity: Entity) {
        if let Some(slot) = self.slot(entity.index()) {
            prefetch(slot.as_ptr().cast());
        }
    }

    #[inline(always)]
    fn slot(self, index: u32) -> Option<NonNull<EntitySlot>> {
        if index >= self.high_water {
            return None;
        }
        // SAFETY: the index is below the high-water mark, so the list, which is borrowed, has a page for it.
        let page = unsafe { *self.pages.add((index >> PAGE_SHIFT) as usize) };
        // SAFETY: the offset is less than the number of slots in a page.
        Some(unsafe { page.add(index as usize % PAGE_SLOTS) })
    }

    /// Returns the location of an entity, if it exists.
    #[inline(always)]
    pub(crate) fn locate(self, entity: Entity) -> Option<Location> {
        // SAFETY: `slot` returns only slots below the high-water mark. They are initialised, and not written while the table is
        // borrowed.
        unsafe { self.slot(entity.index())?.read() }.location_of(entity)
    }
}

/// A pointer to the slot of an existing entity, in an unshared page.
#[derive(Clone, Copy)]
pub(crate) struct SlotMut(NonNull<EntitySlot>);

impl SlotMut {
    pub(super) fn new(slot: &mut EntitySlot) -> Self {
        Self(NonNull::from(slot))
    }

    /// Returns the location of the entity.
    ///
    /// # Safety
    ///
    /// - since the slot was opened, the table has only been used to relocate other entities
    #[inline]
    pub(crate) unsafe fn location(self) -> Location {
        // SAFETY: relocations do not move pages, so the slot is at the same address.
        let EntitySlot { chunk, row, .. } = unsafe { self.0.read() };
        Location { chunk, row }
    }

    /// Records the new location of the entity.
    ///
    /// # Safety
    ///
    /// - since the slot was opened, the table has only been used to relocate other entities
    #[inline]
    pub(crate) unsafe fn relocate(self, location: Location) {
        // SAFETY: relocations neither move nor share pages, so the slot is at the same address, in an unshared page.
        let slot = unsafe { &mut *self.0.as_ptr() };
        slot.chunk = location.chunk;
        slot.row = location.row;
    }

    /// Overwrites the slot.
    ///
    /// # Safety
    ///
    /// - since the slot was opened, the table has only been used to relocate other entities
    #[inline]
    pub(super) unsafe fn write(self, slot: EntitySlot) {
        // SAFETY: relocations neither move nor share pages, so the slot is at the same address, in an unshared page.
        unsafe { self.0.write(slot) };
    }
}

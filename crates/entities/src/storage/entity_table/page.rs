//! Pages of the table: slots that tables share, and copy when one of them writes.

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
pub(super) struct EntitySlot {
    pub(super) version: u32,
    pub(super) chunk: u32,
    pub(super) row: u32,
}

impl EntitySlot {
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

const _: () = assert!(size_of::<[EntitySlot; PAGE_SLOTS]>() == TABLE_PAGE_SIZE);

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
    pub(super) fn first(&self) -> NonNull<EntitySlot> {
        self.memory.as_ptr().cast()
    }

    /// Opens all slots to be written.
    #[inline]
    pub(super) fn slots_mut(&mut self) -> &mut [MaybeUninit<EntitySlot>; PAGE_SLOTS] {
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
            let slots = copy.as_ptr().cast::<MaybeUninit<EntitySlot>>();
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
        Err(_) => handle_alloc_error(Layout::new::<[EntitySlot; PAGE_SLOTS]>()),
    }
}

/// Writes the slots of living entities of one version, which are in rows of a chunk that follow the first.
#[inline(never)]
pub(super) fn relocate_stretch(
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

/// The version that the next entities of these slots, of which there are some, will all have, unless they differ: mostly they were
/// made together.
#[inline(never)]
pub(super) fn common_version(slots: &[EntitySlot]) -> Option<u32> {
    let first = slots[0];
    let is_alive = first.is_alive();
    let differ = dispatch(
        #[inline(always)]
        || {
            // Without a way out in the middle the loop is one for vectors.
            slots.iter().fold(false, |differ, slot| {
                differ | (slot.version != first.version) | (slot.is_alive() != is_alive)
            })
        },
    );
    (!differ).then(|| first.version_if_dead())
}

/// Writes ids that follow the first, all of its version, and their slots, in rows of a chunk that follow the first.
#[inline(never)]
pub(super) fn write_alike(
    ids: &mut [MaybeUninit<Entity>],
    slots: &mut [MaybeUninit<EntitySlot>],
    first: Entity,
    chunk: u32,
    row: u32,
) {
    dispatch(
        #[inline(always)]
        || {
            // One loop for each, since both are written from their beginning to their end.
            for (id, step) in ids.iter_mut().zip(0..) {
                id.write(Entity::from_parts(first.index() + step, first.version()));
            }
            for (slot, step) in slots.iter_mut().zip(0..) {
                slot.write(EntitySlot { version: first.version(), chunk, row: row + step });
            }
        },
    );
}

/// How many of the first slots, of the index and of those after it, the chain of free ones leads through one after the other, with ids
/// of one version: one at least.
///
/// # Safety
///
/// The chain leads to the first slot: it, and whatever it leads to, is initialised.
pub(super) unsafe fn chained(slots: &[MaybeUninit<EntitySlot>], index: u32) -> usize {
    // SAFETY: the caller promises it.
    let first = unsafe { slots[0].assume_init_ref() };
    let (mut row, mut following) = (first.row, index);
    let mut count = 1;
    for slot in &slots[1..] {
        following += 1;
        if row != following {
            break;
        }
        // SAFETY: the chain leads to this one.
        let slot = unsafe { slot.assume_init_ref() };
        if slot.version != first.version {
            break;
        }
        row = slot.row;
        count += 1;
    }
    count
}

/// Marks slots of neighbours that no entity has had: their ids are set aside.
#[inline(never)]
pub(super) fn write_aside(slots: &mut [MaybeUninit<EntitySlot>]) {
    for slot in slots {
        slot.write(EntitySlot::reserved(EntitySlot::UNUSED.version));
    }
}

/// Chains neighbours, from the first index on, whose ids of this version are all set aside. The last one leads to the next index.
/// Returns whether it did: if one of them is not set aside, nothing is written.
#[inline(never)]
pub(super) fn chain_aside(slots: &mut [EntitySlot], first: Entity, next: u32) -> bool {
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

/// The slots of a table, close together: half of what stands between an entity's id and its slot.
#[derive(Default)]
pub(crate) struct PageView<'t> {
    /// The first slot of each page.
    pages: Vec<NonNull<EntitySlot>>,
    high_water: u32,
    table: PhantomData<&'t ()>,
}

impl PageView<'_> {
    /// Sees the pages of a table, instead of those that it saw before.
    ///
    /// # Safety
    ///
    /// - it is not used once the table is changed, until it sees another
    pub(crate) unsafe fn see(&mut self, table: &EntityTable) {
        self.pages.clear();
        self.pages.extend(table.pages.iter().map(Page::first));
        self.high_water = table.high_water;
    }

    /// Where the slots are.
    #[inline(always)]
    pub(crate) fn slots(&self) -> SlotView<'_> {
        SlotView { pages: self.pages.as_ptr(), high_water: self.high_water, table: PhantomData }
    }

    /// Has the memory of an entity's slot on its way.
    #[inline]
    pub(crate) fn prefetch(&self, entity: Entity) {
        self.slots().prefetch(entity);
    }

    /// Says where an entity is, if it exists.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<Location> {
        self.slots().locate(entity)
    }
}

/// Where the slots of a table are, as numbers that stay in registers: who writes to memory while it looks for entities would
/// have those of [`PageView`] read again for each.
#[derive(Clone, Copy)]
pub(crate) struct SlotView<'t> {
    pages: *const NonNull<EntitySlot>,
    high_water: u32,
    table: PhantomData<&'t ()>,
}

impl SlotView<'_> {
    /// Has the memory of an entity's slot on its way.
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
        // SAFETY: there are pages for all indices below the water mark, in a list that is borrowed.
        let page = unsafe { *self.pages.add((index >> PAGE_SHIFT) as usize) };
        // SAFETY: a page has so many slots.
        Some(unsafe { page.add(index as usize % PAGE_SLOTS) })
    }

    /// Says where an entity is, if it exists.
    #[inline(always)]
    pub(crate) fn locate(self, entity: Entity) -> Option<Location> {
        // SAFETY: slots below the water mark are initialised, and not written while the table is borrowed.
        unsafe { self.slot(entity.index())?.read() }.location_of(entity)
    }
}

/// The slot of an entity that exists, in a page that is the table's alone.
#[derive(Clone, Copy)]
pub(crate) struct SlotMut(NonNull<EntitySlot>);

impl SlotMut {
    pub(super) fn new(slot: &mut EntitySlot) -> Self {
        Self(NonNull::from(slot))
    }

    /// Where the entity is.
    ///
    /// # Safety
    ///
    /// - the table has only been used to relocate others since
    #[inline]
    pub(crate) unsafe fn location(self) -> Location {
        // SAFETY: the page is where it was.
        let EntitySlot { chunk, row, .. } = unsafe { self.0.read() };
        Location { chunk, row }
    }

    /// Says that the entity is somewhere else now.
    ///
    /// # Safety
    ///
    /// - the table has only been used to relocate others since
    #[inline]
    pub(crate) unsafe fn relocate(self, location: Location) {
        // SAFETY: the page is where it was, and its table's alone.
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
        // SAFETY: the page did not move and is unshared, since nothing but relocations happened.
        unsafe { self.0.write(slot) };
    }
}

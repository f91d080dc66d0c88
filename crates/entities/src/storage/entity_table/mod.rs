//! The entity table, which stores the existing entities and their locations.
//!
//! Each index has a slot of 12 bytes, in pages of 4,096 slots. There are four kinds of indices:
//!
//! ```text
//! 0                                  high water                             known
//! | living, and free ones in a list  | fresh: not used since the last clear | fresh: never used ...
//! ```
//!
//! A new entity gets the index that was freed last or, if no index is free, the first fresh one. So the ids depend only on the
//! sequence of calls. The version of a slot increases when its entity is destroyed, and when the table is cleared.
//!
//! **Copy on write.** A fork shares all pages, and both tables mark them as shared. A write to a marked page copies the page if
//! it is still shared. Reads are not affected.
//!
//! **Clearing** sets the high-water mark to zero and writes no slot, because slots at or above the mark are ignored. A slot that
//! was in use when the table was cleared gets its next version when its index is used again.
//!
//! **Reserved ids** belong to entities that do not exist yet. See `reserved`.
//!
//! **Unused slots** are uninitialised, so that the slots of a page are not written twice.

#![expect(unsafe_code, reason = "uninitialised slots and open slots")]

#[cfg(test)]
mod model;
mod page;
mod rebuild;
mod reserved;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::iter;
use std::mem::MaybeUninit;

use crate::Entity;
use crate::entity::is_id_range;
use page::{
    EntitySlot, PAGE_SHIFT, PAGE_SLOTS, Page, common_version, linked_range, relocate_id_range,
    write_id_range,
};
pub(crate) use page::{PageView, SlotMut, SlotView, next_version};
pub use rebuild::FutureIds;
pub(crate) use reserved::NextIds;

/// The chunk of a slot without an entity, and the end of the free list. It is not the number of any chunk, nor an index.
pub(crate) const NONE: u32 = u32::MAX;

/// The number of indices. Higher indices belong to placeholders of recorded commands, for entities that do not exist yet.
const INDICES: u32 = 1 << 31;

/// The minimum number of contiguous free slots that `allocate_rows` writes together.
const FEW: usize = 8;

/// The number of slots that `allocate_rows` takes from the free list one by one, before it looks for contiguous slots again.
const STEPS: usize = 256;

/// The location of an entity: its chunk and row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// The number of the chunk. It is not [`NONE`].
    pub(crate) chunk: u32,
    pub(crate) row: u32,
}

/// The entities of a world, and the location of each.
///
/// Methods that require existing entities check that in debug builds only. Calling them with another entity corrupts the table.
/// That is not undefined behaviour by itself, but storage relies on the table when it accesses chunks.
#[derive(Debug)]
pub(crate) struct EntityTable {
    pages: Vec<Page>,
    /// The head of the free list: the index that was freed last, or [`NONE`].
    first_free: Cell<u32>,
    /// The first fresh index.
    high_water: u32,
    /// The first index that was never used. Slots below it are initialised and have pages.
    known: u32,
    living: u32,
    /// The number of reserved ids.
    reserved: Cell<u32>,
    /// Indices from the free list that were reserved, but whose slots are not marked yet.
    pending: RefCell<Vec<u32>>,
    /// The number of fresh indices that were reserved, but whose slots are not marked yet. They begin at `high_water`.
    pending_fresh: Cell<u32>,
}

impl EntityTable {
    /// Creates a table without entities.
    pub(crate) const fn new() -> Self {
        Self {
            pages: Vec::new(),
            first_free: Cell::new(NONE),
            high_water: 0,
            known: 0,
            living: 0,
            reserved: Cell::new(0),
            pending: RefCell::new(Vec::new()),
            pending_fresh: Cell::new(0),
        }
    }

    /// Returns the number of entities.
    pub(crate) fn living(&self) -> usize {
        self.living as usize
    }

    /// Returns the number of entities that can still be created.
    pub(crate) fn room(&self) -> usize {
        (INDICES - self.living - self.reserved.get()) as usize
    }

    /// Checks that this number of entities can still be created.
    ///
    /// # Panics
    ///
    /// Panics if there is not enough [room](Self::room).
    #[inline]
    #[track_caller]
    pub(crate) fn require(&self, count: usize) {
        if count > self.room() {
            no_room();
        }
    }

    /// Returns the location of an entity, if it exists.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<Location> {
        if entity.index() >= self.high_water {
            return None;
        }
        // SAFETY: the index is below the high-water mark, and so below `known`.
        unsafe { self.used_slot(entity.index()) }.location_of(entity)
    }

    /// Returns a view for looking many entities up.
    pub(crate) fn page_view(&self) -> PageView<'_> {
        let mut view = PageView::default();
        // SAFETY: the view borrows the table, so the table does not change while the view is used.
        unsafe { view.read_pages(self) };
        view
    }

    /// Returns the slot of an entity, mutably, if the entity exists.
    #[inline]
    pub(crate) fn open(&mut self, entity: Entity) -> Option<SlotMut> {
        if entity.index() >= self.high_water {
            return None;
        }
        // SAFETY: the index is below the high-water mark, and so below `known`.
        let slot = unsafe { self.used_slot_mut(entity.index()) };
        slot.location_of(entity)?;
        Some(SlotMut::new(slot))
    }

    /// Frees the id of an entity whose slot was opened.
    ///
    /// # Safety
    ///
    /// - the slot was opened for the entity, and the table has since only been used to relocate other entities
    #[inline]
    pub(crate) unsafe fn free_open(&mut self, slot: SlotMut, entity: Entity) {
        let version = next_version(entity.version());
        // SAFETY: the table has only been used to relocate other entities since the slot was opened.
        unsafe { slot.write(EntitySlot { version, chunk: NONE, row: self.first_free.get() }) };
        self.first_free.set(entity.index());
        self.living -= 1;
    }

    /// Returns the version of the entity in a slot, or the version that its next entity will have. Returns `None` if the index
    /// was never used.
    pub(crate) fn slot_version(&self, index: u32) -> Option<u32> {
        if index >= self.known {
            return None;
        }
        let slot = self.slot(index);
        Some(if index < self.high_water { slot.version } else { slot.version_if_dead() })
    }

    /// Creates an entity at this location.
    ///
    /// # Panics
    ///
    /// Panics if there is no [room](Self::room).
    #[inline]
    #[track_caller]
    pub(crate) fn allocate(&mut self, location: Location) -> Entity {
        debug_assert_ne!(location.chunk, NONE);
        let (index, version);
        if self.first_free.get() == NONE {
            if self.pending_fresh.get() != 0 {
                self.flush_pending();
            }
            index = self.high_water;
            if index == self.known {
                self.learn(index);
            }
            let slot = self.slot_mut(index);
            version = slot.version_if_dead();
            *slot = EntitySlot { version, chunk: location.chunk, row: location.row };
            self.high_water += 1;
        } else {
            index = self.first_free.get();
            let slot = self.slot_mut(index);
            let next = slot.row;
            version = slot.version;
            *slot = EntitySlot { version, chunk: location.chunk, row: location.row };
            self.first_free.set(next);
        }
        self.living += 1;
        Entity::from_parts(index, version)
    }

    /// Initialises the slot of `index`, the first index that was never used.
    #[inline]
    #[track_caller]
    fn learn(&mut self, index: u32) {
        if index.is_multiple_of(PAGE_SLOTS as u32) {
            self.add_page(index);
        }
        let page = &mut self.pages[(index >> PAGE_SHIFT) as usize];
        page.slots_mut()[index as usize % PAGE_SLOTS].write(EntitySlot::UNUSED);
        self.known = index + 1;
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn add_page(&mut self, index: u32) {
        if index == INDICES {
            no_room();
        }
        debug_assert_eq!(self.pages.len(), (index >> PAGE_SHIFT) as usize);
        self.pages.push(Page::new());
    }

    /// Creates entities in contiguous rows of a chunk, and writes their ids to `ids`. The ids are the same as if the entities
    /// were created one by one.
    ///
    /// # Panics
    ///
    /// Panics if there is not enough [room](Self::room). In that case no entity is created.
    #[track_caller]
    pub(crate) fn allocate_rows(
        &mut self,
        mut ids: &mut [MaybeUninit<Entity>],
        chunk: u32,
        first_row: u32,
    ) {
        debug_assert_ne!(chunk, NONE);
        self.require(ids.len());
        let mut row = first_row;
        // The free list is used first. As long as it stays in one page, the page is not looked up again.
        while self.first_free.get() != NONE && !ids.is_empty() {
            let page = self.first_free.get() >> PAGE_SHIFT;
            let slots = self.pages[page as usize].slots_mut();
            let mut index = self.first_free.get();
            let mut made = 0;
            // Ids that were reserved together often have contiguous slots, which are written without following the list.
            let neighbours = &mut slots[index as usize % PAGE_SLOTS..];
            let most = neighbours.len().min(ids.len());
            // SAFETY: the free list leads to the first of these slots, whose index is `index`.
            let (count, version, next) = unsafe { linked_range(&neighbours[..most], index) };
            if count >= FEW {
                let first = Entity::from_parts(index, version);
                write_id_range(&mut ids[..count], &mut neighbours[..count], first, chunk, row);
                (row, made, index) = (row + count as u32, count as u32, next);
            } else {
                for id in ids.iter_mut().take(STEPS) {
                    // SAFETY: the free list leads only to initialised slots.
                    let slot = unsafe { slots[index as usize % PAGE_SLOTS].assume_init_mut() };
                    id.write(Entity::from_parts(index, slot.version));
                    index = slot.row;
                    slot.chunk = chunk;
                    slot.row = row;
                    row += 1;
                    made += 1;
                    if index >> PAGE_SHIFT != page {
                        break;
                    }
                }
            }
            self.first_free.set(index);
            self.living += made;
            ids = &mut ids[made as usize..];
        }
        if !ids.is_empty() {
            self.flush_pending();
        }
        // Fresh indices are used next. Each pass covers indices of one page that were either all used before, or never used.
        while !ids.is_empty() {
            let first = self.high_water;
            let is_known = first < self.known;
            if !is_known && first.is_multiple_of(PAGE_SLOTS as u32) {
                self.add_page(first);
            }
            let slots = self.pages[(first >> PAGE_SHIFT) as usize].slots_mut();
            let slots = &mut slots[first as usize % PAGE_SLOTS..];
            let most = if is_known { (self.known - first) as usize } else { usize::MAX };
            let (now, later) = ids.split_at_mut(slots.len().min(ids.len()).min(most));
            let count = now.len() as u32;
            let slots = &mut slots[..count as usize];
            if !is_known {
                let first_id = Entity::from_parts(first, EntitySlot::UNUSED.version);
                write_id_range(now, slots, first_id, chunk, row);
                self.known = first + count;
            // SAFETY: these indices are below `known`, so their slots are initialised.
            } else if let Some(version) = unsafe { common_version(slots.assume_init_ref()) } {
                write_id_range(now, slots, Entity::from_parts(first, version), chunk, row);
            } else {
                for ((id, slot), step) in now.iter_mut().zip(slots).zip(0..) {
                    // SAFETY: the index is below `known`, so its slot is initialised.
                    let version = unsafe { slot.assume_init_ref() }.version_if_dead();
                    id.write(Entity::from_parts(first + step, version));
                    slot.write(EntitySlot { version, chunk, row: row + step });
                }
            }
            row += count;
            self.high_water += count;
            self.living += count;
            ids = later;
        }
    }

    /// Sets the location of an existing entity.
    #[inline]
    pub(crate) fn relocate(&mut self, entity: Entity, location: Location) {
        debug_assert!(self.locate(entity).is_some(), "{entity} does not exist");
        debug_assert_ne!(location.chunk, NONE);
        let slot = self.slot_mut(entity.index());
        slot.chunk = location.chunk;
        slot.row = location.row;
    }

    /// Sets the row of an existing entity, which stays in its chunk.
    #[inline]
    pub(crate) fn set_row(&mut self, entity: Entity, row: u32) {
        debug_assert!(self.locate(entity).is_some(), "{entity} does not exist");
        self.slot_mut(entity.index()).row = row;
    }

    /// Sets the locations of existing entities to contiguous rows of a chunk.
    pub(crate) fn relocate_rows(&mut self, entities: &[Entity], chunk: u32, first_row: u32) {
        debug_assert_ne!(chunk, NONE);
        debug_assert!(entities.iter().all(|&entity| self.locate(entity).is_some()));
        let mut row = first_row;
        let mut rest = entities;
        while let Some(&first) = rest.first() {
            // Entities that were created together often have contiguous indices. Those of one page are then written together.
            let start = first.index() as usize % PAGE_SLOTS;
            let (now, later) = rest.split_at((PAGE_SLOTS - start).min(rest.len()));
            if is_id_range(now) {
                let slots = self.pages[(first.index() >> PAGE_SHIFT) as usize].slots_mut();
                relocate_id_range(&mut slots[start..][..now.len()], first.version(), chunk, row);
                row += now.len() as u32;
                rest = later;
                continue;
            }
            for &entity in now {
                let slot = self.slot_mut(entity.index());
                (slot.chunk, slot.row) = (chunk, row);
                row += 1;
            }
            rest = later;
        }
    }

    /// Frees the id of an existing entity.
    #[inline]
    pub(crate) fn free(&mut self, entity: Entity) {
        debug_assert!(self.locate(entity).is_some(), "{entity} does not exist");
        let slot = SlotMut::new(self.slot_mut(entity.index()));
        // SAFETY: the slot was just opened for the entity.
        unsafe { self.free_open(slot, entity) };
    }

    /// Frees the ids of existing entities in order.
    pub(crate) fn free_rows(&mut self, entities: &[Entity]) {
        let Some(first) = entities.first() else { return };
        if self.free_id_range(entities) {
            return;
        }
        let mut page = first.index() >> PAGE_SHIFT;
        let mut slots = self.pages[page as usize].slots_mut();
        let mut next = self.first_free.get();
        for entity in entities {
            // Usually the entity is in the same page as the previous one.
            if entity.index() >> PAGE_SHIFT != page {
                page = entity.index() >> PAGE_SHIFT;
                slots = self.pages[page as usize].slots_mut();
            }
            let slot = &mut slots[entity.index() as usize % PAGE_SLOTS];
            // SAFETY: the entity exists, so its slot is initialised.
            let slot = unsafe { slot.assume_init_mut() };
            debug_assert!(slot.is_alive() && slot.version == entity.version());
            *slot = EntitySlot { version: next_version(entity.version()), chunk: NONE, row: next };
            next = entity.index();
        }
        self.first_free.set(next);
        self.living -= entities.len() as u32;
    }

    /// Frees the ids of existing entities, if they have contiguous indices in one page and the same version. Returns whether they
    /// were freed.
    fn free_id_range(&mut self, entities: &[Entity]) -> bool {
        let (first, last) = (entities[0], entities[entities.len() - 1]);
        if first.index() >> PAGE_SHIFT != last.index() >> PAGE_SHIFT || !is_id_range(entities) {
            return false;
        }
        let slots = self.pages[(first.index() >> PAGE_SHIFT) as usize].slots_mut();
        let slots = &mut slots[first.index() as usize % PAGE_SLOTS..][..entities.len()];
        let version = next_version(first.version());
        // Each slot links to the slot that was freed before it.
        let mut before = first.index().wrapping_sub(1);
        for slot in slots.iter_mut() {
            slot.write(EntitySlot { version, chunk: NONE, row: before });
            before = before.wrapping_add(1);
        }
        slots[0].write(EntitySlot { version, chunk: NONE, row: self.first_free.get() });
        self.first_free.set(last.index());
        self.living -= entities.len() as u32;
        true
    }

    /// Removes all entities. The next entities have the indices 0, 1, 2 and so on, with other versions. Reserved ids are lost: no
    /// entity will ever have them.
    pub(crate) fn clear(&mut self) {
        if self.reserved.get() != 0 {
            self.forget_reserved();
        }
        self.first_free.set(NONE);
        self.high_water = 0;
        self.living = 0;
    }

    /// Creates a table with the same entities at the same locations, which creates the same ids in the future.
    ///
    /// # Complexity
    ///
    /// Linear in the number of pages. A page is copied when one of the two tables first writes to it.
    pub(crate) fn fork(&mut self) -> Self {
        self.flush_pending();
        Self {
            pages: self.pages.iter_mut().map(Page::fork).collect(),
            first_free: self.first_free.clone(),
            high_water: self.high_water,
            known: self.known,
            living: self.living,
            reserved: self.reserved.clone(),
            pending: RefCell::default(),
            pending_fresh: Cell::default(),
        }
    }

    /// Copies all pages that are still shared with forks.
    pub(crate) fn unshare(&mut self) {
        self.pages.iter_mut().for_each(Page::unshare);
    }

    /// Sets the version of a slot below the high-water mark, for tests of versions that wrap around. The id of the entity in the
    /// slot changes.
    #[cfg(test)]
    pub(crate) fn set_version(&mut self, index: u32, version: u32) {
        assert_ne!(version, 0);
        self.slot_mut(index).version = version;
    }

    /// Returns the slot of an index below `known`, mutably.
    #[inline]
    fn slot_mut(&mut self, index: u32) -> &mut EntitySlot {
        assert!(index < self.known);
        // SAFETY: the index is below `known`.
        unsafe { self.used_slot_mut(index) }
    }

    /// Returns the slots of contiguous indices below `known` in one page, mutably.
    fn used_slots_mut(&mut self, first: u32, count: usize) -> &mut [EntitySlot] {
        assert!(first as usize + count <= self.known as usize);
        let slots = self.pages[(first >> PAGE_SHIFT) as usize].slots_mut();
        let slots = &mut slots[first as usize % PAGE_SLOTS..][..count];
        // SAFETY: slots of indices below `known` are initialised.
        unsafe { slots.assume_init_mut() }
    }

    /// Reads the slot of an index below `known`.
    fn slot(&self, index: u32) -> EntitySlot {
        assert!(index < self.known);
        // SAFETY: the index is below `known`.
        unsafe { self.used_slot(index) }
    }

    /// Reads the slot of an index below `known`, without a check.
    ///
    /// # Safety
    ///
    /// - the index is below `known`
    #[inline]
    unsafe fn used_slot(&self, index: u32) -> EntitySlot {
        debug_assert!(index < self.known);
        // SAFETY: all indices below `known` have pages.
        let page = unsafe { self.pages.get_unchecked((index >> PAGE_SHIFT) as usize) };
        // SAFETY: slots of indices below `known` are initialised. They are not written meanwhile, because a write takes an
        // unshared page and `&mut self`.
        unsafe { page.first().add(index as usize % PAGE_SLOTS).read() }
    }

    /// Returns the slot of an index below `known`, mutably, in an unshared page.
    ///
    /// # Safety
    ///
    /// - the index is below `known`
    #[inline]
    unsafe fn used_slot_mut(&mut self, index: u32) -> &mut EntitySlot {
        debug_assert!(index < self.known);
        // SAFETY: all indices below `known` have pages.
        let page = unsafe { self.pages.get_unchecked_mut((index >> PAGE_SHIFT) as usize) };
        let slot = &mut page.slots_mut()[index as usize % PAGE_SLOTS];
        // SAFETY: slots of indices below `known` are initialised.
        unsafe { slot.assume_init_mut() }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn no_room() -> ! {
    panic!("a world has at most {INDICES} entities; despawn some, or use several worlds");
}

impl EntityTable {
    /// Checks the invariants of the whole table. Returns a message for the first violation.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { high_water, known, ref pages, .. } = *self;
        holds!(high_water <= known, "{high_water} indices are used, of {known}");
        let is_paged = pages.len() == (known as usize).div_ceil(PAGE_SLOTS);
        holds!(is_paged, "there are {} pages for {known} indices", pages.len());
        let mut living = 0;
        for index in 0..known {
            let slot = self.slot(index);
            holds!(
                slot.version != 0,
                "the slot of index {index} has the version of the null entity"
            );
            living += u32::from(slot.is_alive() && index < high_water);
        }
        holds!(living == self.living, "{living} slots are alive, but {} are counted", self.living);
        if let Some(number) = pages.iter().position(Page::is_shared_without_mark) {
            return Err(format!("page {number} is shared, and not marked as shared"));
        }
        self.check_chain()
    }

    /// Checks that the free list contains all free slots.
    fn check_chain(&self) -> Result<(), String> {
        let mut left = self.first_fresh() - self.living - self.reserved.get();
        let mut index = self.first_free.get();
        while index != NONE {
            holds!(index < self.high_water, "the chain leads to the fresh index {index}");
            let slot = self.slot(index);
            holds!(!slot.is_alive(), "the chain leads to index {index}, which is alive");
            holds!(left > 0, "the chain is longer than there are free indices, or a circle");
            left -= 1;
            index = slot.row;
        }
        holds!(left == 0, "the chain leaves out {left} free indices");
        Ok(())
    }
}

impl EntityTable {
    /// Lists the entities that exist in `new` but not in `old`, and vice versa, by ascending index.
    ///
    /// The tables are forks of each other or of a common table. Pages that share memory are skipped.
    pub(crate) fn diff(
        old: &Self,
        new: &Self,
        created: &mut Vec<Entity>,
        destroyed: &mut Vec<Entity>,
    ) {
        for number in 0..old.pages.len().max(new.pages.len()) {
            let page = (number * PAGE_SLOTS) as u32..((number + 1) * PAGE_SLOTS) as u32;
            let (old_end, new_end) = (old.high_water.min(page.end), new.high_water.min(page.end));
            if old_end == new_end && old.shares_page(new, number) {
                continue;
            }
            for index in page.start..old_end.max(new_end) {
                let (old, new) = (old.living_version(index), new.living_version(index));
                if old == new {
                    continue;
                }
                destroyed.extend(old.map(|version| Entity::from_parts(index, version)));
                created.extend(new.map(|version| Entity::from_parts(index, version)));
            }
        }
    }

    /// Returns whether both tables share the memory of the page with this number.
    fn shares_page(&self, other: &Self, number: usize) -> bool {
        let page = |table: &Self| table.pages.get(number).map(Page::first);
        page(self).is_some() && page(self) == page(other)
    }

    /// Returns the version of the entity with an index, if the entity exists.
    fn living_version(&self, index: u32) -> Option<u32> {
        let slot = (index < self.high_water).then(|| self.slot(index))?;
        slot.is_alive().then_some(slot.version)
    }

    /// Iterates over the ids in the free list, in the order in which they will be used.
    fn free_ids(&self) -> impl Iterator<Item = Entity> {
        let mut next = self.first_free.get();
        iter::from_fn(move || {
            let index = (next != NONE).then_some(next)?;
            let EntitySlot { version, row, .. } = self.slot(index);
            next = row;
            Some(Entity::from_parts(index, version))
        })
    }

    /// Writes everything that determines future ids: the free list in order, and the versions of fresh indices. Two tables that
    /// write the same numbers create the same ids.
    ///
    /// Whether pages are shared makes no difference.
    pub(crate) fn hash_free(&self, write: &mut dyn FnMut(u64)) {
        write(self.first_fresh().into());
        write((self.first_fresh() - self.living - self.reserved.get()).into());
        self.free_ids().for_each(|id| write(id.to_bits()));
        // Most fresh indices were never used. Their version is 1, which is not written.
        for index in self.first_fresh()..self.known {
            let version = self.slot(index).version_if_dead();
            if version != 1 {
                write(Entity::from_parts(index, version).to_bits());
            }
        }
    }
}

//! Which entities exist, and where each of them is.
//!
//! An index leads to a slot, 12 bytes, in pages of 4,096. There are three kinds of indices:
//!
//! ```text
//! 0                                 high water
//! | living, and free ones in a chain |  fresh: not used since the last clear  ...
//! ```
//!
//! The next entity gets the index that was freed last, or else the first fresh one. So which ids are handed
//! out depends on nothing but the calls. An index goes with its slot's version, which rises when the entity
//! dies, also below the water mark of a table that was cleared.
//!
//! **Copy on write.** A fork shares all pages, and marks them as shared on both sides. Who writes to a page
//! that is marked looks whether it still is shared, and copies it if so. Who reads does not care.
//!
//! **Clearing** makes all indices fresh again. It does not touch the slots, but *parks* their pages: each shows
//! a page of dead slots instead of its own. When the first fresh index falls into it, it is *unparked*, and
//! the slots that were alive get their next version. So clearing takes a moment for each page, and finding
//! an entity is not slower for it.

#![expect(unsafe_code, reason = "slots that stay open")]

mod check;
mod compare;
#[cfg(test)]
mod model;
mod page;
#[cfg(test)]
mod tests;

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::Entity;
use page::{PAGE_SHIFT, PAGE_SLOTS, Page, Slot, next_version};

/// The chunk of slots that no entity has, and the end of the chain. No chunk and no index has this number.
pub(crate) const NONE: u32 = u32::MAX;

/// How many indices there are. Those above are for entities that do not exist yet: placeholders of commands.
const INDICES: u32 = 1 << 31;

/// Where an entity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// Not [`NONE`].
    pub(crate) chunk: u32,
    pub(crate) row: u32,
}

/// The slots of a table, close together: half of what stands between an entity's id and its slot.
pub(crate) struct SeenPages<'t> {
    pages: Box<[&'t [Slot; PAGE_SLOTS]]>,
}

impl SeenPages<'_> {
    /// Says where an entity is, if it exists.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<Location> {
        let slots = *self.pages.get((entity.index() >> PAGE_SHIFT) as usize)?;
        let Slot { version, chunk, row } = slots[entity.index() as usize % PAGE_SLOTS];
        if version != entity.version() || chunk == NONE {
            return None;
        }
        Some(Location { chunk, row })
    }
}

/// The slot of an entity that exists, in a page that is the table's alone.
#[derive(Clone, Copy)]
pub(crate) struct OpenSlot(NonNull<Slot>);

impl OpenSlot {
    /// Where the entity is.
    ///
    /// # Safety
    ///
    /// - the table has only been used to relocate others since
    #[inline]
    pub(crate) unsafe fn location(self) -> Location {
        // SAFETY: the page is where it was.
        let Slot { chunk, row, .. } = unsafe { self.0.read() };
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
}

/// Which entities exist, and where each of them is.
///
/// What is asked for entities that do not exist, where they have to, is refused in debug builds, and makes a
/// wrong table otherwise. That is not undefined behaviour here, but storage follows the table to chunks unchecked.
#[derive(Debug)]
pub(crate) struct EntityTable {
    pages: Vec<Page>,
    /// The index that was freed last, the first of the chain, or [`NONE`].
    first_free: u32,
    /// The first fresh index.
    high_water: u32,
    living: u32,
}

impl EntityTable {
    /// Makes a table without entities.
    pub(crate) const fn new() -> Self {
        Self { pages: Vec::new(), first_free: NONE, high_water: 0, living: 0 }
    }

    /// How many entities there are.
    pub(crate) fn living(&self) -> usize {
        self.living as usize
    }

    /// How many more entities there can be.
    pub(crate) fn room(&self) -> usize {
        (INDICES - self.living) as usize
    }

    /// Makes sure that there can be so many more entities, before anything is done for them.
    ///
    /// # Panics
    ///
    /// If there is no [room](Self::room).
    #[inline]
    #[track_caller]
    pub(crate) fn require(&self, count: usize) {
        if count > self.room() {
            no_room();
        }
    }

    /// Says where an entity is, if it exists.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<Location> {
        let page = self.pages.get((entity.index() >> PAGE_SHIFT) as usize)?;
        let Slot { version, chunk, row } = page.slot(entity.index());
        // The version of a free slot is that of an entity to come.
        if version != entity.version() || chunk == NONE {
            return None;
        }
        Some(Location { chunk, row })
    }

    /// Where the slots of all pages are, for who looks for many entities.
    pub(crate) fn seen_pages(&self) -> SeenPages<'_> {
        SeenPages { pages: self.pages.iter().map(Page::slots).collect() }
    }

    /// The slot of an entity, to be changed, if the entity exists.
    #[inline]
    pub(crate) fn open(&mut self, entity: Entity) -> Option<OpenSlot> {
        let page = self.pages.get_mut((entity.index() >> PAGE_SHIFT) as usize)?;
        let open = OpenSlot(page.seen_slot(entity.index()));
        // SAFETY: nobody else has the page, which was just borrowed mutably.
        let Slot { version, chunk, .. } = unsafe { open.0.read() };
        if version != entity.version() || chunk == NONE {
            return None;
        }
        Some(open)
    }

    /// Lets an entity die whose slot is open.
    ///
    /// # Safety
    ///
    /// - the slot was opened for the entity, and the table has only been used to relocate others since
    #[inline]
    pub(crate) unsafe fn free_open(&mut self, slot: OpenSlot, entity: Entity) {
        let version = next_version(entity.version());
        // SAFETY: the slot is that of a living entity, in a page that is this table's alone.
        unsafe { slot.0.write(Slot { version, chunk: NONE, row: self.first_free }) };
        self.first_free = entity.index();
        self.living -= 1;
    }

    /// The version of the entity that has an index, or of the one that will have it next. `None` if no entity ever had it.
    pub(crate) fn slot_version(&self, index: u32) -> Option<u32> {
        let page = self.pages.get((index >> PAGE_SHIFT) as usize)?;
        let slot = page.hidden_slots()[index as usize % PAGE_SLOTS];
        Some(if page.is_parked() { slot.version_if_dead() } else { slot.version })
    }

    /// Makes an entity, which is there.
    ///
    /// # Panics
    ///
    /// If there is no [room](Self::room).
    #[inline]
    #[track_caller]
    pub(crate) fn allocate(&mut self, location: Location) -> Entity {
        debug_assert_ne!(location.chunk, NONE);
        let index = if self.first_free == NONE { self.next_fresh() } else { self.first_free };
        let slot = self.slot_mut(index);
        let (version, next) = (slot.version, slot.row);
        *slot = Slot { version, chunk: location.chunk, row: location.row };
        if self.first_free == NONE {
            self.high_water += 1;
        } else {
            self.first_free = next;
        }
        self.living += 1;
        Entity::from_parts(index, version)
    }

    /// Makes as many entities as have room in `ids`, in rows of the chunk that follow one another. They are
    /// the same as if made one by one.
    ///
    /// # Panics
    ///
    /// If there is no [room](Self::room) for all of them. None is made then.
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
        // The chain first. A stretch of it that stays in one page is followed without asking for the page.
        while self.first_free != NONE && !ids.is_empty() {
            let page = self.first_free >> PAGE_SHIFT;
            let slots = self.pages[page as usize].slots_mut();
            let mut index = self.first_free;
            let mut made = 0;
            for id in ids.iter_mut() {
                let slot = &mut slots[index as usize % PAGE_SLOTS];
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
            self.first_free = index;
            self.living += made;
            ids = &mut ids[made as usize..];
        }
        // Then fresh indices, as many at a time as are in one page.
        while !ids.is_empty() {
            let first = self.next_fresh();
            let slots = self.pages[(first >> PAGE_SHIFT) as usize].slots_mut();
            let slots = &mut slots[first as usize % PAGE_SLOTS..];
            let (now, later) = ids.split_at_mut(slots.len().min(ids.len()));
            for ((id, slot), step) in now.iter_mut().zip(slots).zip(0..) {
                id.write(Entity::from_parts(first + step, slot.version));
                slot.chunk = chunk;
                slot.row = row + step;
            }
            row += now.len() as u32;
            self.high_water += now.len() as u32;
            self.living += now.len() as u32;
            ids = later;
        }
    }

    /// Says that a living entity is somewhere else now.
    #[inline]
    pub(crate) fn relocate(&mut self, entity: Entity, location: Location) {
        debug_assert!(self.locate(entity).is_some(), "{entity} does not exist");
        debug_assert_ne!(location.chunk, NONE);
        let slot = self.slot_mut(entity.index());
        slot.chunk = location.chunk;
        slot.row = location.row;
    }

    /// Says that a living entity is in another row of its chunk now.
    #[inline]
    pub(crate) fn set_row(&mut self, entity: Entity, row: u32) {
        debug_assert!(self.locate(entity).is_some(), "{entity} does not exist");
        self.slot_mut(entity.index()).row = row;
    }

    /// Lets a living entity die.
    #[inline]
    pub(crate) fn free(&mut self, entity: Entity) {
        debug_assert!(self.locate(entity).is_some(), "{entity} does not exist");
        let slot =
            Slot { version: next_version(entity.version()), chunk: NONE, row: self.first_free };
        *self.slot_mut(entity.index()) = slot;
        self.first_free = entity.index();
        self.living -= 1;
    }

    /// Lets entities die that are all living, one after the other.
    pub(crate) fn free_rows(&mut self, entities: &[Entity]) {
        let Some(first) = entities.first() else { return };
        if self.free_stretch(entities) {
            return;
        }
        let mut page = first.index() >> PAGE_SHIFT;
        let mut slots = self.pages[page as usize].slots_mut();
        let mut next = self.first_free;
        for entity in entities {
            // Mostly they are neighbours, and the page is the same.
            if entity.index() >> PAGE_SHIFT != page {
                page = entity.index() >> PAGE_SHIFT;
                slots = self.pages[page as usize].slots_mut();
            }
            let slot = &mut slots[entity.index() as usize % PAGE_SLOTS];
            debug_assert!(slot.is_alive() && slot.version == entity.version());
            *slot = Slot { version: next_version(entity.version()), chunk: NONE, row: next };
            next = entity.index();
        }
        self.first_free = next;
        self.living -= entities.len() as u32;
    }

    /// As `free_rows`, if the entities have one index after the other, in one page, and the same version, as those have
    /// that were made together. Returns whether it did.
    fn free_stretch(&mut self, entities: &[Entity]) -> bool {
        let (first, last) = (entities[0], entities[entities.len() - 1]);
        if first.index() >> PAGE_SHIFT != last.index() >> PAGE_SHIFT
            || last.index().wrapping_sub(first.index()) as usize != entities.len() - 1
        {
            return false;
        }
        let stretch = (first.to_bits()..).zip(entities);
        // Without a way out in the middle the loop is one for vectors.
        let differ = stretch.fold(0, |differ, (bits, entity)| differ | (bits ^ entity.to_bits()));
        if differ != 0 {
            return false;
        }
        let slots = self.pages[(first.index() >> PAGE_SHIFT) as usize].slots_mut();
        let slots = &mut slots[first.index() as usize % PAGE_SLOTS..][..entities.len()];
        let version = next_version(first.version());
        // Each leads to the one that was freed before it.
        let mut before = first.index().wrapping_sub(1);
        for slot in slots.iter_mut() {
            debug_assert!(slot.is_alive() && slot.version == first.version());
            *slot = Slot { version, chunk: NONE, row: before };
            before = before.wrapping_add(1);
        }
        slots[0].row = self.first_free;
        self.first_free = last.index();
        self.living -= entities.len() as u32;
        true
    }

    /// Lets all entities die. The next ones have the indices 0, 1, 2, and so on, with other versions.
    ///
    /// # Complexity
    ///
    /// Linear in the number of pages.
    pub(crate) fn clear(&mut self) {
        self.pages.iter_mut().for_each(Page::park);
        self.first_free = NONE;
        self.high_water = 0;
        self.living = 0;
    }

    /// Makes a table with the same entities, in the same places, and the same future.
    ///
    /// # Complexity
    ///
    /// Linear in the number of pages. Each is copied later, when the first of the two tables writes to it.
    pub(crate) fn fork(&mut self) -> Self {
        Self { pages: self.pages.iter_mut().map(Page::fork).collect(), ..*self }
    }

    /// Copies what is still shared with forks.
    pub(crate) fn unshare(&mut self) {
        self.pages.iter_mut().for_each(Page::unshare);
    }

    /// Gives the slot of an index below the water mark another version, for tests of what happens when
    /// versions run out. Whoever lives in it is renamed.
    #[doc(hidden)]
    pub(crate) fn set_version(&mut self, index: u32, version: u32) {
        assert_ne!(version, 0);
        self.slot_mut(index).version = version;
    }

    /// The slot of an index that is not fresh, or of the first fresh one.
    #[inline]
    fn slot_mut(&mut self, index: u32) -> &mut Slot {
        self.pages[(index >> PAGE_SHIFT) as usize].slot_mut(index)
    }

    /// Returns the first fresh index, after making sure that its page is there.
    #[inline]
    #[track_caller]
    fn next_fresh(&mut self) -> u32 {
        let index = self.high_water;
        // Pages beyond the water mark are parked, if there are any.
        if index.is_multiple_of(PAGE_SLOTS as u32) {
            self.enter_page(index);
        }
        index
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn enter_page(&mut self, index: u32) {
        if index == INDICES {
            no_room();
        }
        match self.pages.get_mut((index >> PAGE_SHIFT) as usize) {
            Some(page) => page.unpark(),
            None => self.pages.push(Page::new()),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn no_room() -> ! {
    panic!("a world has at most {INDICES} entities; despawn some, or use several worlds");
}

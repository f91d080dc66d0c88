//! Ids that are set aside for entities to come.
//!
//! Who records commands wants to name entities that are created when the commands are played. So the next id can be taken
//! without an entity: it is nobody else's then, and no entity has it yet. When its time comes it is put in front of the chain,
//! and whoever creates an entity gets it.
//!
//! An id is *promised* first, by `&self`, while others may be reading slots: the chain begins behind it, or the fresh indices do, and
//! its slot says nothing of that. Before it matters to anybody, the promises are kept: by `&mut self`, the slots are marked.

#![expect(unsafe_code, reason = "slots that were used are initialised")]

use std::mem::MaybeUninit;

use super::page::{PAGE_SHIFT, PAGE_SLOTS, Slot, chain_aside, next_version, write_aside};
use super::{EntityTable, INDICES, Location, NONE, no_room};
use crate::entity::{Entity, is_stretch};

/// What slots whose id is set aside have instead of a row. No index has this number.
const SET_ASIDE: u32 = NONE - 1;

impl Slot {
    pub(super) fn set_aside(version: u32) -> Self {
        Self { version, chunk: NONE, row: SET_ASIDE }
    }

    pub(super) fn is_set_aside(&self) -> bool {
        self.chunk == NONE && self.row == SET_ASIDE
    }
}

impl EntityTable {
    /// Sets the id aside that the next entity would have.
    ///
    /// # Panics
    ///
    /// If there is no [room](Self::room).
    #[inline]
    #[track_caller]
    pub(crate) fn set_aside(&self) -> Entity {
        let index = self.first_free.get();
        if index != NONE {
            let Slot { version, row, .. } = self.slot(index);
            self.first_free.set(row);
            self.promised.borrow_mut().push(index);
            self.aside.set(self.aside.get() + 1);
            return Entity::from_parts(index, version);
        }
        let index = self.first_fresh();
        if index >= INDICES {
            no_room();
        }
        self.promised_fresh.set(self.promised_fresh.get() + 1);
        self.aside.set(self.aside.get() + 1);
        Entity::from_parts(index, self.fresh_version(index))
    }

    /// Sets so many ids aside as [`set_aside`](Self::set_aside) does, in their order.
    ///
    /// # Panics
    ///
    /// If there is no [room](Self::room) for all of them. Some are set aside then.
    #[track_caller]
    pub(crate) fn promise_many(&self, count: usize, ids: &mut Vec<Entity>) {
        ids.reserve(count);
        let mut left = count;
        while left > 0 && (self.first_free.get() != NONE || self.first_fresh() < self.known) {
            ids.push(self.set_aside());
            left -= 1;
        }
        // All others are of indices that no entity has had.
        let first = self.first_fresh();
        if left > (INDICES - first) as usize {
            no_room();
        }
        let left = left as u32;
        ids.extend(
            (first..first + left).map(|index| Entity::from_parts(index, Slot::UNUSED.version)),
        );
        self.promised_fresh.set(self.promised_fresh.get() + left);
        self.aside.set(self.aside.get() + left);
    }

    /// Sets so many ids aside that the next entities would have, in their order.
    ///
    /// # Panics
    ///
    /// If there is no [room](Self::room) for all of them. None is set aside then.
    #[track_caller]
    pub(crate) fn set_many_aside(&mut self, count: usize, ids: &mut Vec<Entity>) {
        self.require(count);
        self.keep_promises();
        ids.reserve(count);
        let mut left = count;
        while left > 0 && self.first_free.get() != NONE {
            let index = self.first_free.get();
            let slot = self.slot_mut(index);
            let Slot { version, row, .. } = *slot;
            *slot = Slot::set_aside(version);
            self.first_free.set(row);
            ids.push(Entity::from_parts(index, version));
            left -= 1;
        }
        self.mark_fresh(left, |id| ids.push(id));
        self.aside.set(self.aside.get() + count as u32);
    }

    /// Has the next entities get these ids, in their order, which were set aside.
    ///
    /// # Errors
    ///
    /// One of them that was not, or comes twice. Then nothing has changed.
    pub(crate) fn hand_out_next(&mut self, ids: &[Entity]) -> Result<(), Entity> {
        self.keep_promises();
        let mut next = self.first_free.get();
        let mut left = ids;
        // Mostly they are neighbours, and are chained by pages.
        if ids.last().is_some_and(|last| last.index() < self.high_water) && is_stretch(ids) {
            while let Some(last) = left.last() {
                let in_page = (last.index() as usize % PAGE_SLOTS + 1).min(left.len());
                let (before, now) = left.split_at(left.len() - in_page);
                let slots = self.pages[(last.index() >> PAGE_SHIFT) as usize].slots_mut();
                let slots = &mut slots[now[0].index() as usize % PAGE_SLOTS..][..in_page];
                // SAFETY: what is below the water mark was used.
                if !chain_aside(unsafe { slots.assume_init_mut() }, now[0], next) {
                    break;
                }
                next = now[0].index();
                left = before;
            }
        }
        let mut refused = None;
        // Others are often at least in one page.
        let mut page = NONE;
        let mut slots: &mut [MaybeUninit<Slot>] = &mut [];
        while let Some((&id, before)) = left.split_last() {
            if id.index() >= self.high_water {
                refused = Some(id);
                break;
            }
            if id.index() >> PAGE_SHIFT != page {
                page = id.index() >> PAGE_SHIFT;
                slots = self.pages[page as usize].slots_mut();
            }
            // SAFETY: what is below the water mark was used.
            let slot = unsafe { slots[id.index() as usize % PAGE_SLOTS].assume_init_mut() };
            if !slot.is_set_aside() || slot.version != id.version() {
                refused = Some(id);
                break;
            }
            slot.row = next;
            next = id.index();
            left = before;
        }
        if let Some(refused) = refused {
            for id in &ids[left.len()..] {
                *self.slot_mut(id.index()) = Slot::set_aside(id.version());
            }
            return Err(refused);
        }
        self.first_free.set(next);
        self.aside.set(self.aside.get() - ids.len() as u32);
        Ok(())
    }

    /// Lets an entity be somewhere that has an id which is set aside, as its slot says.
    #[inline]
    pub(crate) fn enter(&mut self, id: Entity, location: Location) {
        let slot = self.slot_mut(id.index());
        debug_assert!(slot.is_set_aside() && slot.version == id.version(), "{id} is not set aside");
        (slot.chunk, slot.row) = (location.chunk, location.row);
        self.aside.set(self.aside.get() - 1);
        self.living += 1;
    }

    /// Lets an entity die that would have had an id, and was never there: the id is set aside, or free. Returns whether that was so.
    pub(crate) fn use_up(&mut self, id: Entity) -> bool {
        self.keep_promises();
        if id.index() >= self.high_water {
            return false;
        }
        let slot = self.slot(id.index());
        if slot.is_alive() || slot.version != id.version() {
            return false;
        }
        if slot.is_set_aside() {
            self.aside.set(self.aside.get() - 1);
            let row = self.first_free.replace(id.index());
            self.slot_mut(id.index()).row = row;
        }
        self.slot_mut(id.index()).version = next_version(id.version());
        true
    }

    /// Whether an id is set aside, if these are the promised indices.
    pub(crate) fn is_set_aside(&self, id: Entity, promised: &[u32]) -> bool {
        let promised_fresh = self.high_water..self.first_fresh();
        if promised_fresh.contains(&id.index()) {
            return self.fresh_version(id.index()) == id.version();
        }
        self.is_marked(id)
            || (promised.binary_search(&id.index()).is_ok()
                && self.slot(id.index()).version == id.version())
    }

    /// The indices below the water mark that were promised, and whose slots say nothing of it yet, by their size.
    pub(crate) fn promised_indices(&self) -> Vec<u32> {
        let mut indices = self.promised.borrow().clone();
        indices.sort_unstable();
        indices
    }

    /// Whether the slot of an id says that it is set aside: so do those of all ids, once promises have been kept.
    #[inline]
    pub(crate) fn is_marked(&self, id: Entity) -> bool {
        id.index() < self.high_water && {
            let slot = self.slot(id.index());
            slot.is_set_aside() && slot.version == id.version()
        }
    }

    /// Has slots say which ids are set aside, as far as they were only promised.
    pub(super) fn keep_promises(&mut self) {
        let mut promised = std::mem::take(self.promised.get_mut());
        for index in promised.drain(..) {
            let slot = self.slot_mut(index);
            *slot = Slot::set_aside(slot.version);
        }
        // With its memory.
        *self.promised.get_mut() = promised;
        let fresh = self.promised_fresh.take();
        if fresh > 0 {
            self.mark_fresh(fresh as usize, |_| ());
        }
    }

    /// Marks so many fresh indices, from the first on, and calls the function with each id.
    fn mark_fresh(&mut self, count: usize, mut each: impl FnMut(Entity)) {
        let mut left = count;
        // As many at a time as are in one page.
        while left > 0 {
            let first = self.high_water;
            if first == self.known && first.is_multiple_of(PAGE_SLOTS as u32) {
                self.add_page(first);
            }
            let known = self.known;
            let slots = self.pages[(first >> PAGE_SHIFT) as usize].slots_mut();
            let slots = &mut slots[first as usize % PAGE_SLOTS..];
            let mut most = slots.len().min(left);
            let slots = &mut slots[..most];
            if first < known {
                // Some more may be beyond those that are known: in the next turn.
                most = most.min((known - first) as usize);
                for (slot, index) in slots[..most].iter_mut().zip(first..) {
                    // SAFETY: slots of indices that are known are initialised.
                    let version = unsafe { slot.assume_init_ref() }.version_if_dead();
                    slot.write(Slot::set_aside(version));
                    each(Entity::from_parts(index, version));
                }
            } else {
                write_aside(slots);
                (first..).take(most).for_each(|index| {
                    each(Entity::from_parts(index, Slot::UNUSED.version));
                });
            }
            self.high_water += most as u32;
            self.known = known.max(self.high_water);
            left -= most;
        }
    }

    /// Makes sure that no entity ever gets an id that is set aside: all are about to be handed out anew.
    pub(super) fn forget_set_aside(&mut self) {
        self.keep_promises();
        for index in 0..self.high_water {
            let slot = self.slot_mut(index);
            if slot.is_set_aside() {
                slot.version = next_version(slot.version);
            }
        }
        self.aside.set(0);
    }

    /// The first fresh index that is not promised.
    pub(super) fn first_fresh(&self) -> u32 {
        self.high_water + self.promised_fresh.get()
    }

    /// The version of the entity that will have a fresh index.
    fn fresh_version(&self, index: u32) -> u32 {
        // The first entity of an index has the version 1.
        if index < self.known { self.slot(index).version_if_dead() } else { 1 }
    }
}

/// A number of entities that are made next, in their order.
pub(crate) struct Upcoming {
    /// The first of them, if it is one index after the other, none of which an entity ever had. A list would have to be read while
    /// chunks are written.
    fresh: Option<u32>,
    /// All of them, if not.
    list: Vec<Entity>,
}

impl Upcoming {
    /// One of them.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Entity {
        match self.fresh {
            Some(first) => Entity::from_parts(first + at as u32, 1),
            None => self.list[at],
        }
    }

    /// The list, with nothing in it.
    pub(crate) fn into_list(mut self) -> Vec<Entity> {
        self.list.clear();
        self.list
    }
}

impl EntityTable {
    /// The entities that are made next, so many, in their order. They may be listed, in the memory of a list that has nothing in it.
    pub(crate) fn upcoming(&self, count: usize, mut list: Vec<Entity>) -> Upcoming {
        let fresh = |count| (self.first_fresh()..).take(count);
        // The first entity of an index has the version 1.
        let version = |index| self.slot_version(index).unwrap_or(1);
        let used = self.known.saturating_sub(self.first_fresh()) as usize;
        if self.first_free.get() == NONE && fresh(used.min(count)).all(|index| version(index) == 1)
        {
            return Upcoming { fresh: Some(self.first_fresh()), list };
        }
        list.reserve(count);
        let mut free = self.first_free.get();
        while free != NONE && list.len() < count {
            let Slot { version, row, .. } = self.slot(free);
            list.push(Entity::from_parts(free, version));
            free = row;
        }
        let missing = count - list.len();
        list.extend(fresh(missing).map(|index| Entity::from_parts(index, version(index))));
        Upcoming { fresh: None, list }
    }
}

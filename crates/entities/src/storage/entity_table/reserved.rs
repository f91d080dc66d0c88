//! Reserved ids: ids of entities that do not exist yet.
//!
//! Recorded commands refer to entities that are created at playback. For that, the next id can be reserved, so that no other
//! entity gets it. At playback, the id is put at the head of the free list, and the next entity that is created gets it.
//!
//! Reserving takes `&self`, while jobs may be reading slots. It advances the head of the free list or the first fresh index, and
//! the id is *pending*. [`flush_pending`](EntityTable::flush_pending) marks the slots of pending ids, before an operation that
//! depends on their state.
//!
//! The bevy counterpart is `Entities::reserve_entity` and `flush`.

use super::page::{
    EntitySlot, PAGE_SHIFT, PAGE_SLOTS, link_reserved, next_version, write_reserved,
};
use super::{EntityTable, INDICES, Location, NONE, no_room};
use crate::entity::{Entity, is_id_range};

/// The row of a reserved slot. It is not a valid index.
const RESERVED: u32 = NONE - 1;

impl EntitySlot {
    pub(super) fn reserved(version: u32) -> Self {
        Self { version, chunk: NONE, row: RESERVED }
    }

    pub(super) fn is_reserved(&self) -> bool {
        self.chunk == NONE && self.row == RESERVED
    }
}

impl EntityTable {
    /// Reserves the id of the next entity.
    ///
    /// # Panics
    ///
    /// Panics if there is no [room](Self::room).
    #[inline]
    #[track_caller]
    pub(crate) fn reserve(&self) -> Entity {
        let index = self.first_free.get();
        if index != NONE {
            let EntitySlot { version, row, .. } = self.slot(index);
            self.first_free.set(row);
            self.pending.borrow_mut().push(index);
            self.reserved.set(self.reserved.get() + 1);
            return Entity::from_parts(index, version);
        }
        let index = self.first_fresh();
        if index >= INDICES {
            no_room();
        }
        self.pending_fresh.set(self.pending_fresh.get() + 1);
        self.reserved.set(self.reserved.get() + 1);
        Entity::from_parts(index, self.fresh_version(index))
    }

    /// Reserves the ids of the next `count` entities, in order, and appends them to `ids`.
    ///
    /// # Panics
    ///
    /// Panics if there is not enough [room](Self::room). In that case some ids may already be reserved.
    #[track_caller]
    pub(crate) fn reserve_many(&self, count: usize, ids: &mut Vec<Entity>) {
        ids.reserve(count);
        let mut left = count;
        while left > 0 && (self.first_free.get() != NONE || self.first_fresh() < self.known) {
            ids.push(self.reserve());
            left -= 1;
        }
        // All further fresh indices were never used.
        let first = self.first_fresh();
        if left > (INDICES - first) as usize {
            no_room();
        }
        let left = left as u32;
        ids.extend(
            (first..first + left)
                .map(|index| Entity::from_parts(index, EntitySlot::UNUSED.version)),
        );
        self.pending_fresh.set(self.pending_fresh.get() + left);
        self.reserved.set(self.reserved.get() + left);
    }

    /// Reserves the ids of the next `count` entities, in order, marks their slots immediately, and appends the ids to `ids`.
    ///
    /// # Panics
    ///
    /// Panics if there is not enough [room](Self::room). In that case no id is reserved.
    #[track_caller]
    pub(crate) fn reserve_many_mut(&mut self, count: usize, ids: &mut Vec<Entity>) {
        self.require(count);
        self.flush_pending();
        ids.reserve(count);
        let mut left = count;
        while left > 0 && self.first_free.get() != NONE {
            let index = self.first_free.get();
            let slot = self.slot_mut(index);
            let EntitySlot { version, row, .. } = *slot;
            *slot = EntitySlot::reserved(version);
            self.first_free.set(row);
            ids.push(Entity::from_parts(index, version));
            left -= 1;
        }
        self.mark_fresh(left, |id| ids.push(id));
        self.reserved.set(self.reserved.get() + count as u32);
    }

    /// Puts reserved ids at the head of the free list, so that the next entities get them in this order.
    ///
    /// # Errors
    ///
    /// Returns an id that was not reserved, or that occurs twice. In that case nothing has changed.
    pub(crate) fn release_reserved(&mut self, ids: &[Entity]) -> Result<(), Entity> {
        self.flush_pending();
        let mut next = self.first_free.get();
        let mut left = ids;
        // Usually the ids are contiguous. They are then linked page by page.
        if ids.last().is_some_and(|last| last.index() < self.high_water) && is_id_range(ids) {
            while let Some(last) = left.last() {
                let in_page = (last.index() as usize % PAGE_SLOTS + 1).min(left.len());
                let (before, now) = left.split_at(left.len() - in_page);
                let slots = self.used_slots_mut(now[0].index(), in_page);
                if !link_reserved(slots, now[0], next) {
                    break;
                }
                next = now[0].index();
                left = before;
            }
        }
        let mut refused = None;
        while let Some((&id, before)) = left.split_last() {
            if id.index() >= self.high_water {
                refused = Some(id);
                break;
            }
            let slot = self.slot_mut(id.index());
            if !slot.is_reserved() || slot.version != id.version() {
                refused = Some(id);
                break;
            }
            slot.row = next;
            next = id.index();
            left = before;
        }
        if let Some(refused) = refused {
            for id in &ids[left.len()..] {
                *self.slot_mut(id.index()) = EntitySlot::reserved(id.version());
            }
            return Err(refused);
        }
        self.first_free.set(next);
        self.reserved.set(self.reserved.get() - ids.len() as u32);
        Ok(())
    }

    /// Creates an entity with a reserved id whose slot is marked.
    #[inline]
    pub(crate) fn place_reserved(&mut self, id: Entity, location: Location) {
        let slot = self.slot_mut(id.index());
        debug_assert!(slot.is_reserved() && slot.version == id.version(), "{id} is not reserved");
        (slot.chunk, slot.row) = (location.chunk, location.row);
        self.reserved.set(self.reserved.get() - 1);
        self.living += 1;
    }

    /// Consumes a reserved or free id, as if its entity had been created and destroyed. Returns `false` if the id is neither
    /// reserved nor free.
    pub(crate) fn consume_id(&mut self, id: Entity) -> bool {
        self.flush_pending();
        if id.index() >= self.high_water {
            return false;
        }
        let slot = self.slot(id.index());
        if slot.is_alive() || slot.version != id.version() {
            return false;
        }
        if slot.is_reserved() {
            self.reserved.set(self.reserved.get() - 1);
            let row = self.first_free.replace(id.index());
            self.slot_mut(id.index()).row = row;
        }
        self.slot_mut(id.index()).version = next_version(id.version());
        true
    }

    /// Returns whether an id is reserved, given the [pending indices](Self::pending_indices).
    pub(crate) fn is_reserved(&self, id: Entity, pending: &[u32]) -> bool {
        let pending_fresh = self.high_water..self.first_fresh();
        if pending_fresh.contains(&id.index()) {
            return self.fresh_version(id.index()) == id.version();
        }
        self.is_marked_reserved(id)
            || (pending.binary_search(&id.index()).is_ok()
                && self.slot(id.index()).version == id.version())
    }

    /// Returns the sorted indices below the high-water mark that are reserved, but whose slots are not marked yet.
    pub(crate) fn pending_indices(&self) -> Vec<u32> {
        let mut indices = self.pending.borrow().clone();
        indices.sort_unstable();
        indices
    }

    /// Returns whether the slot of an id is marked as reserved. Slots of pending ids are not marked before they are flushed.
    #[inline]
    pub(crate) fn is_marked_reserved(&self, id: Entity) -> bool {
        id.index() < self.high_water && {
            let slot = self.slot(id.index());
            slot.is_reserved() && slot.version == id.version()
        }
    }

    /// Marks the slots of pending ids as reserved.
    pub(super) fn flush_pending(&mut self) {
        let mut pending = std::mem::take(self.pending.get_mut());
        for index in pending.drain(..) {
            let slot = self.slot_mut(index);
            *slot = EntitySlot::reserved(slot.version);
        }
        // The list is put back, so that its memory is reused.
        *self.pending.get_mut() = pending;
        let fresh = self.pending_fresh.take();
        if fresh > 0 {
            self.mark_fresh(fresh as usize, |_| ());
        }
    }

    /// Marks the next `count` fresh indices as reserved, and calls `each` with each id.
    fn mark_fresh(&mut self, count: usize, mut each: impl FnMut(Entity)) {
        let mut left = count;
        // Each pass covers indices of one page.
        while left > 0 {
            let first = self.high_water;
            if first == self.known && first.is_multiple_of(PAGE_SLOTS as u32) {
                self.add_page(first);
            }
            let known = self.known;
            let start = first as usize % PAGE_SLOTS;
            let mut most = (PAGE_SLOTS - start).min(left);
            if first < known {
                // Indices that were never used are marked in the next pass.
                most = most.min((known - first) as usize);
                for (slot, index) in self.used_slots_mut(first, most).iter_mut().zip(first..) {
                    let version = slot.version_if_dead();
                    *slot = EntitySlot::reserved(version);
                    each(Entity::from_parts(index, version));
                }
            } else {
                let slots = self.pages[(first >> PAGE_SHIFT) as usize].slots_mut();
                write_reserved(&mut slots[start..][..most]);
                (first..).take(most).for_each(|index| {
                    each(Entity::from_parts(index, EntitySlot::UNUSED.version));
                });
            }
            self.high_water += most as u32;
            self.known = known.max(self.high_water);
            left -= most;
        }
    }

    /// Ensures that no entity ever gets one of the reserved ids. The caller is about to clear the table.
    pub(super) fn forget_reserved(&mut self) {
        self.flush_pending();
        for index in 0..self.high_water {
            let slot = self.slot_mut(index);
            if slot.is_reserved() {
                slot.version = next_version(slot.version);
            }
        }
        self.reserved.set(0);
    }

    /// Returns the first fresh index that is not reserved.
    pub(super) fn first_fresh(&self) -> u32 {
        self.high_water + self.pending_fresh.get()
    }

    /// Returns the version that the first entity with a fresh index will have.
    fn fresh_version(&self, index: u32) -> u32 {
        // The first entity with an index has the version 1.
        if index < self.known { self.slot(index).version_if_dead() } else { 1 }
    }
}

/// A preview of the ids of the next entities, in order.
pub(crate) struct NextIds {
    /// The first index, if all indices are contiguous and have the version 1. Otherwise `None`. It saves reading a list while
    /// chunks are written.
    fresh: Option<u32>,
    /// All ids, if `fresh` is `None`.
    list: Vec<Entity>,
}

impl NextIds {
    /// Returns the id at a position.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Entity {
        match self.fresh {
            Some(first) => Entity::from_parts(first + at as u32, 1),
            None => self.list[at],
        }
    }

    /// Clears the list and returns it, so that its memory can be reused.
    pub(crate) fn into_list(mut self) -> Vec<Entity> {
        self.list.clear();
        self.list
    }
}

impl EntityTable {
    /// Returns the ids of the next `count` entities, in order. `list` is empty, and provides memory for the result.
    pub(crate) fn next_ids(&self, count: usize, mut list: Vec<Entity>) -> NextIds {
        let fresh = |count| (self.first_fresh()..).take(count);
        // The first entity with an index has the version 1.
        let version = |index| self.slot_version(index).unwrap_or(1);
        let used = self.known.saturating_sub(self.first_fresh()) as usize;
        if self.first_free.get() == NONE && fresh(used.min(count)).all(|index| version(index) == 1)
        {
            return NextIds { fresh: Some(self.first_fresh()), list };
        }
        list.reserve(count);
        list.extend(self.free_ids().take(count));
        let missing = count - list.len();
        list.extend(fresh(missing).map(|index| Entity::from_parts(index, version(index))));
        NextIds { fresh: None, list }
    }
}

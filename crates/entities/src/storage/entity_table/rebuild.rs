//! Rebuilding a table from the ids that were written to a file.

use super::page::{EntitySlot, PAGE_SLOTS};
use super::{EntityTable, INDICES, Location, NONE};
use crate::Entity;

/// The ids that a table will create next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FutureIds {
    /// The number of indices that were used since the table was cleared.
    pub used: u32,
    /// The free ids, in the order in which they are used next.
    pub free: Vec<Entity>,
    /// The ids that are reserved for entities of recorded commands. No entity has them.
    pub reserved: Vec<Entity>,
    /// The versions of the next entities at the indices from `used` on. Further indices have version 1.
    pub fresh: Vec<u32>,
}

impl EntityTable {
    /// Returns the ids that the table will create next.
    pub(crate) fn future_ids(&self) -> FutureIds {
        let used = self.first_fresh();
        let free: Vec<Entity> = self.free_ids().collect();
        let mut reserved = Vec::new();
        if self.reserved.get() != 0 {
            let mut is_free = vec![false; used as usize];
            free.iter().for_each(|id| is_free[id.index() as usize] = true);
            for index in (0..used).filter(|&index| !is_free[index as usize]) {
                let slot = if index < self.known { self.slot(index) } else { EntitySlot::UNUSED };
                if index >= self.high_water || !slot.is_alive() {
                    reserved.push(Entity::from_parts(index, slot.version_if_dead()));
                }
            }
        }
        let mut fresh: Vec<u32> =
            (used..self.known).map(|index| self.slot(index).version_if_dead()).collect();
        while fresh.last() == Some(&1) {
            fresh.pop();
        }
        FutureIds { used, free, reserved, fresh }
    }

    /// Creates a table without entities that will create these ids. [`settle`](Self::settle) then adds entities at the other used
    /// indices. Returns an id as an error that is invalid or occurs twice.
    ///
    /// The table has 12 bytes per index.
    pub(crate) fn rebuild(ids: &FutureIds) -> Result<Self, Entity> {
        /// The slot of an index that is used, by an entity that is not known yet.
        const UNSETTLED: EntitySlot = EntitySlot { version: 0, chunk: NONE, row: NONE };

        let known = u32::try_from(ids.fresh.len()).ok().and_then(|more| ids.used.checked_add(more));
        let Some(known) = known.filter(|&known| known <= INDICES) else {
            return Err(Entity::from_parts(INDICES, 1));
        };
        let mut table = Self::new();
        for index in 0..known {
            table.learn(index);
        }
        table.high_water = ids.used;
        for index in (0..ids.used).step_by(PAGE_SLOTS) {
            let count = PAGE_SLOTS.min((ids.used - index) as usize);
            table.used_slots_mut(index, count).fill(UNSETTLED);
        }
        for (index, &version) in (ids.used..).zip(&ids.fresh) {
            if version == 0 {
                return Err(Entity::from_parts(index, version));
            }
            table.slot_mut(index).version = version;
        }
        let mut next = NONE;
        for &id in ids.free.iter().rev() {
            *table.unsettled(id)? = EntitySlot { version: id.version(), chunk: NONE, row: next };
            next = id.index();
        }
        table.first_free.set(next);
        for &id in &ids.reserved {
            *table.unsettled(id)? = EntitySlot::reserved(id.version());
            table.reserved.set(table.reserved.get() + 1);
        }
        Ok(table)
    }

    /// Returns the slot of an id whose index is used and has no owner yet.
    fn unsettled(&mut self, id: Entity) -> Result<&mut EntitySlot, Entity> {
        if id.index() >= self.high_water || id.version() == 0 {
            return Err(id);
        }
        let slot = self.slot_mut(id.index());
        if slot.version == 0 { Ok(slot) } else { Err(id) }
    }

    /// Adds entities in contiguous rows of a chunk to a table that is rebuilt. Returns an id as an error that is invalid or occurs
    /// twice.
    pub(crate) fn settle(
        &mut self,
        entities: &[Entity],
        Location { chunk, row }: Location,
    ) -> Result<(), Entity> {
        for (&entity, row) in entities.iter().zip(row..) {
            *self.unsettled(entity)? = EntitySlot { version: entity.version(), chunk, row };
        }
        self.living += entities.len() as u32;
        Ok(())
    }
}

//! What is different between two tables, and what decides the ids of one.

use std::ptr;

use super::page::{PAGE_SHIFT, PAGE_SLOTS, Page, Slot, dead_slots};
use super::{EntityTable, NONE};
use crate::Entity;

impl EntityTable {
    /// Lists which entities exist in `new` and not in `old`, and the other way round, each by rising index.
    ///
    /// One of the tables, or both, are forks of one that they come from, or forks of forks. What shares its
    /// memory is not looked at.
    pub(crate) fn diff(
        old: &Self,
        new: &Self,
        created: &mut Vec<Entity>,
        destroyed: &mut Vec<Entity>,
    ) {
        for number in 0..old.pages.len().max(new.pages.len()) {
            let (old, new) = (old.slots_of_page(number), new.slots_of_page(number));
            if ptr::eq(old, new) {
                continue;
            }
            for ((old, new), index) in old.iter().zip(new).zip((number as u32) << PAGE_SHIFT..) {
                let same_version = old.version == new.version;
                if old.is_alive() && !(same_version && new.is_alive()) {
                    destroyed.push(Entity::from_parts(index, old.version));
                }
                if new.is_alive() && !(same_version && old.is_alive()) {
                    created.push(Entity::from_parts(index, new.version));
                }
            }
        }
    }

    /// The slots that a page shows. Those of a page that there is not are dead.
    fn slots_of_page(&self, number: usize) -> &[Slot; PAGE_SLOTS] {
        self.pages.get(number).map_or_else(|| dead_slots(), Page::slots)
    }

    /// Tells all that decides which ids will be handed out: the chain, in its order, and the versions of
    /// fresh indices. Two tables that tell the same hand out the same.
    ///
    /// How pages are stored makes no difference. Whether they are parked, shared, or were never made shows in
    /// nothing that is told.
    pub(crate) fn hash_free(&self, tell: &mut dyn FnMut(u64)) {
        tell(self.high_water.into());
        tell((self.high_water - self.living).into());
        let mut index = self.first_free;
        while index != NONE {
            let slot = self.pages[(index >> PAGE_SHIFT) as usize].slot(index);
            tell(Entity::from_parts(index, slot.version).to_bits());
            index = slot.row;
        }
        // Most fresh indices were never used. They have the version 1 and are not told.
        let first_page = (self.high_water >> PAGE_SHIFT) as usize;
        for (page, first) in self.pages.iter().zip((0..).step_by(1 << PAGE_SHIFT)).skip(first_page)
        {
            for (slot, index) in page.hidden_slots().iter().zip(first..) {
                let version = slot.version_if_dead();
                if index >= self.high_water && version != 1 {
                    tell(Entity::from_parts(index, version).to_bits());
                }
            }
        }
    }
}

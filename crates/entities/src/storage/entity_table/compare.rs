//! What is different between two tables, and what decides the ids of one.

use super::page::{PAGE_SLOTS, Page};
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

    /// Whether both tables have the same memory for a page.
    fn shares_page(&self, other: &Self, number: usize) -> bool {
        let page = |table: &Self| table.pages.get(number).map(Page::first);
        page(self).is_some() && page(self) == page(other)
    }

    /// The version of the entity that has an index.
    fn living_version(&self, index: u32) -> Option<u32> {
        let slot = (index < self.high_water).then(|| self.slot(index))?;
        slot.is_alive().then_some(slot.version)
    }

    /// Tells all that decides which ids will be handed out: the chain, in its order, and the versions of
    /// fresh indices. Two tables that tell the same hand out the same.
    ///
    /// How pages are stored makes no difference: whether they are shared shows in nothing that is told.
    pub(crate) fn hash_free(&self, tell: &mut dyn FnMut(u64)) {
        tell(self.first_fresh().into());
        tell((self.first_fresh() - self.living - self.aside.get()).into());
        let mut index = self.first_free.get();
        while index != NONE {
            let slot = self.slot(index);
            tell(Entity::from_parts(index, slot.version).to_bits());
            index = slot.row;
        }
        // Fresh indices mostly were never used. They have the version 1 and are not told.
        for index in self.first_fresh()..self.known {
            let version = self.slot(index).version_if_dead();
            if version != 1 {
                tell(Entity::from_parts(index, version).to_bits());
            }
        }
    }
}

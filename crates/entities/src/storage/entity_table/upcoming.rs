//! The entities that are made next.

use super::page::Slot;
use super::{EntityTable, NONE};
use crate::entity::Entity;

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

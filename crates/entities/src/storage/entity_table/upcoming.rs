//! The entities that are made next.

use super::page::Slot;
use super::{EntityTable, NONE};
use crate::entity::Entity;
use crate::storage::Few;

/// A number of entities that are made next, in their order.
pub(crate) enum Upcoming {
    /// One index after the other, none of which an entity ever had. A list would have to be read while chunks are written.
    Fresh {
        first: u32,
    },
    Listed(Few<Entity, 4>),
}

impl Upcoming {
    /// One of them.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Entity {
        match self {
            Self::Fresh { first } => Entity::from_parts(first + at as u32, 1),
            Self::Listed(entities) => *entities.get(at).expect("there are so many"),
        }
    }
}

impl EntityTable {
    /// The entities that are made next, so many, in their order.
    pub(crate) fn upcoming(&self, count: usize) -> Upcoming {
        let fresh = |count| (self.first_fresh()..).take(count);
        // The first entity of an index has the version 1.
        let version = |index| self.slot_version(index).unwrap_or(1);
        let used = self.known.saturating_sub(self.first_fresh()) as usize;
        if self.first_free.get() == NONE && fresh(used.min(count)).all(|index| version(index) == 1)
        {
            return Upcoming::Fresh { first: self.first_fresh() };
        }
        let mut entities = Few::with_capacity(count);
        let mut free = self.first_free.get();
        while free != NONE && entities.len() < count {
            let Slot { version, row, .. } = self.slot(free);
            entities.push(Entity::from_parts(free, version));
            free = row;
        }
        let missing = count - entities.len();
        fresh(missing).for_each(|index| entities.push(Entity::from_parts(index, version(index))));
        Upcoming::Listed(entities)
    }
}

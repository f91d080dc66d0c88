//! Lists in which each entity is once.

use std::ops::Deref;

use ancho_collections::FixedState;
use hashbrown::HashSet;

use crate::entity::Entity;

/// Entities in the order in which they came, each once. It keeps its memory when it is cleared.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    list: Vec<Entity>,
    /// All of them, once they are not few.
    seen: HashSet<Entity, FixedState>,
}

/// So many are found by looking at all of them. Most groups are no larger, and so do not pay for one that was: to clear a set takes
/// as long as it has room.
const FEW: usize = 16;

impl Distinct {
    /// Adds an entity, unless it is there. Returns whether it was not.
    pub(crate) fn insert(&mut self, entity: Entity) -> bool {
        let is_new = if self.list.len() < FEW {
            !self.list.contains(&entity)
        } else {
            if self.seen.is_empty() {
                self.seen.extend(&self.list);
            }
            self.seen.insert(entity)
        };
        if is_new {
            self.list.push(entity);
        }
        is_new
    }

    /// Leaves nothing but the memory.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.seen.clear();
    }
}

impl Deref for Distinct {
    type Target = [Entity];

    fn deref(&self) -> &[Entity] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_once_whether_they_are_few_or_many() {
        let mut distinct = Distinct::default();
        for count in [3, 100, FEW as u32, 0, FEW as u32 + 1] {
            let all: Vec<_> = (0..count).map(|index| Entity::from_parts(index, 1)).collect();
            for round in 0..2 {
                assert!(all.iter().all(|&entity| distinct.insert(entity) == (round == 0)));
            }
            assert_eq!(*distinct, *all);
            distinct.clear();
            assert!(distinct.is_empty());
        }
    }
}

//! Which entities have the components that a query asks for.

use std::fmt;

use super::matched::Matched;
use crate::entity::Entity;
use crate::storage::Storage;

/// Tells of an entity whether it has the components that a query asks for: what
/// [`Query::mask`](crate::Query::mask) returns.
///
/// It asks for the archetype alone, and not for what is switched off, has changed or is shared. Unity's `EntityQueryMask`.
#[derive(Clone, Copy)]
pub struct QueryMask<'w> {
    storage: &'w Storage,
    matched: &'w Matched,
}

impl<'w> QueryMask<'w> {
    pub(super) fn new(storage: &'w Storage, matched: &'w Matched) -> Self {
        Self { storage, matched }
    }

    /// Whether an entity is there and has such components.
    #[inline]
    pub fn matches(&self, entity: Entity) -> bool {
        let at = self.storage.table.locate(entity);
        at.is_some_and(|at| self.matched.has(self.storage.archetype_at(at)))
    }
}

impl fmt::Debug for QueryMask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryMask")
            .field("archetypes", &self.matched.matches.len())
            .finish_non_exhaustive()
    }
}

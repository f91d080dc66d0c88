//! The queries that have to match for a system to run.

use crate::manager::EntityManager;
use crate::query::{QueryDescriptor, SystemQuery};

/// The queries that have to match for a system to run.
#[derive(Default)]
pub(crate) struct Requirements {
    /// Queries that all have to match.
    pub(crate) all: Vec<RequiredQuery>,
    /// Queries of which at least one has to match.
    pub(crate) any: Vec<RequiredQuery>,
    /// Set if one of the system's own queries has to match. Has no effect unless both lists are empty.
    pub(crate) matching: bool,
}

/// A required query. It is resolved in the world to which the system is added.
pub(crate) enum RequiredQuery {
    Pending(QueryDescriptor),
    Resolved(SystemQuery),
}

impl RequiredQuery {
    /// Resolves the query. Registering its types may run user code. The error is the message of A0070 or A0086.
    fn resolve(&mut self, entities: &EntityManager) -> Result<(), String> {
        if let Self::Pending(query) = self {
            *self = Self::Resolved(SystemQuery::of_description(entities, query)?);
        }
        Ok(())
    }

    fn matches(&mut self, entities: &EntityManager) -> bool {
        match self {
            Self::Resolved(query) => query.has_chunks(entities),
            Self::Pending(_) => unreachable!("it was resolved when the system was added"),
        }
    }
}

impl Requirements {
    /// Resolves all queries in the world to which the system is added. The error is the message of A0070 or A0086.
    pub(crate) fn resolve(&mut self, entities: &EntityManager) -> Result<(), String> {
        let mut queries = self.all.iter_mut().chain(&mut self.any);
        queries.try_for_each(|query| query.resolve(entities))
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.is_explicit() && !self.matching
    }

    fn is_explicit(&self) -> bool {
        !self.all.is_empty() || !self.any.is_empty()
    }

    /// Tests the requirements. `matching` tests whether the system's own queries match.
    pub(crate) fn are_met(
        &mut self,
        entities: &EntityManager,
        matching: impl FnOnce() -> Option<bool>,
    ) -> bool {
        if self.is_explicit() {
            let all = self.all.iter_mut().all(|query| query.matches(entities));
            return all
                && (self.any.is_empty()
                    || self.any.iter_mut().any(|query| query.matches(entities)));
        }
        !self.matching || matching().unwrap_or(true)
    }
}

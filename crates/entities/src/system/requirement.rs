//! What has to be there so that a system runs.

use crate::manager::EntityManager;
use crate::query::SystemQuery;

/// A query that is looked for when it is first asked.
pub(super) enum Asked {
    /// How it is made of the entities of a world.
    Later(Box<dyn FnOnce(&EntityManager) -> SystemQuery + Send>),
    Kept(SystemQuery),
    /// Between the two.
    Nothing,
}

/// What has to be there so that a system runs.
#[derive(Default)]
pub(super) struct Requirements {
    /// Of each of them there must be entities.
    pub(super) all: Vec<Asked>,
    /// Of one of them there must be.
    pub(super) any: Vec<Asked>,
    /// For one of the system's own queries there must be, if nothing else is said.
    pub(super) matching: bool,
}

impl Asked {
    /// Looks for the query in the world that the system is added to.
    pub(super) fn look_for(&mut self, entities: &EntityManager) {
        if matches!(self, Self::Later(_))
            && let Self::Later(make) = std::mem::replace(self, Self::Nothing)
        {
            *self = Self::Kept(make(entities));
        }
    }

    fn is_there(&mut self, entities: &EntityManager) -> bool {
        self.look_for(entities);
        match self {
            Self::Kept(query) => query.has_chunks(entities),
            _ => false,
        }
    }
}

impl Requirements {
    /// Whether nothing is required.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_explicit() && !self.matching
    }

    fn is_explicit(&self) -> bool {
        !self.all.is_empty() || !self.any.is_empty()
    }

    /// Whether everything is there. `matching` says whether there are entities for the system's own queries.
    pub(super) fn are_met(
        &mut self,
        entities: &EntityManager,
        matching: impl FnOnce() -> Option<bool>,
    ) -> bool {
        if self.is_explicit() {
            let all = self.all.iter_mut().all(|asked| asked.is_there(entities));
            return all
                && (self.any.is_empty()
                    || self.any.iter_mut().any(|asked| asked.is_there(entities)));
        }
        !self.matching || matching().unwrap_or(true)
    }
}

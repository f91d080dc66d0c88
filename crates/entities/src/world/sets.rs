//! The configuration of system sets.

use std::any::TypeId;

use super::systems::ErasedCondition;
use crate::schedule::SystemTarget;

/// The sets that were configured.
#[derive(Default)]
pub(crate) struct SystemSets {
    list: Vec<SetRecord>,
    /// Set if a set may be empty since the last check.
    pub(crate) is_unchecked: bool,
}

/// The configuration of one set.
pub(crate) struct SetRecord {
    pub(crate) type_id: TypeId,
    pub(crate) name: &'static str,
    pub(crate) before: Vec<SystemTarget>,
    pub(crate) after: Vec<SystemTarget>,
    /// The conditions, without the state of their parameters. Each member has copies.
    pub(crate) conditions: Vec<Box<dyn ErasedCondition>>,
    pub(crate) is_enabled: bool,
    pub(crate) may_be_empty: bool,
}

impl SystemSets {
    /// Returns the configuration of a set, if it was configured.
    pub(crate) fn get(&self, set: TypeId) -> Option<&SetRecord> {
        self.list.iter().find(|record| record.type_id == set)
    }

    /// Returns the configuration of a set. Creates it if it does not exist.
    pub(crate) fn get_or_insert(&mut self, set: TypeId, name: &'static str) -> &mut SetRecord {
        let at = self.list.iter().position(|record| record.type_id == set);
        let at = at.unwrap_or_else(|| {
            self.list.push(SetRecord {
                type_id: set,
                name,
                before: Vec::new(),
                after: Vec::new(),
                conditions: Vec::new(),
                is_enabled: true,
                may_be_empty: false,
            });
            self.list.len() - 1
        });
        &mut self.list[at]
    }

    /// Iterates over the configured sets, in the order in which they were configured.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &SetRecord> {
        self.list.iter()
    }
}

//! What is said of a query when the program runs.

use std::sync::Arc;

use crate::component::{ComponentType, SharedValue};
use crate::field::EntityRemap;
use crate::shared::{Shared, SharedComponent};
use crate::version::Version;

/// What a query includes that others pass over, or the other way round. Bits of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options(u8);

impl Options {
    /// Nothing is said.
    pub(crate) const NONE: Self = Self(0);
    /// Entities that are [disabled](crate::Disabled).
    pub(crate) const DISABLED: Self = Self(1);
    /// [Prefabs](crate::Prefab).
    pub(crate) const PREFABS: Self = Self(2);
    /// All entities, whatever is switched off.
    pub(crate) const IGNORE_ENABLED: Self = Self(4);
    /// No entities that others write in a special way.
    pub(crate) const WRITE_GROUPS: Self = Self(8);

    pub(crate) const fn has(self, option: Self) -> bool {
        self.0 & option.0 != 0
    }

    pub(crate) const fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn with(self, option: Self) -> Self {
        Self(self.0 | option.0)
    }
}

/// What is said of a query when the program runs.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    /// What counts as changed is newer.
    pub(crate) since: Since,
    /// The values that entities must have, all of them. `None` if there are none.
    pub(crate) shared: Option<Arc<Vec<(ComponentType, SharedValue)>>>,
}

/// A version, [`Version::NEVER`] unless it is said.
#[derive(Clone, Copy)]
pub(crate) struct Since(pub(crate) Version);

impl Default for Since {
    fn default() -> Self {
        Self(Version::NEVER)
    }
}

impl Settings {
    pub(crate) fn add_shared<T: SharedComponent>(&mut self, value: T) {
        let filters = self.shared.get_or_insert_default();
        Arc::make_mut(filters)
            .push((ComponentType::of_shared::<T>(), Shared::new(value).into_erased()));
    }

    /// Replaces the entities in the values.
    pub(crate) fn remap_entities(&mut self, map: &mut EntityRemap<'_>) {
        let Some(filters) = &mut self.shared else { return };
        for at in 0..filters.len() {
            let (ty, value) = &filters[at];
            let remap = ty.0.shared.and_then(|functions| functions.remap);
            if let Some(other) = remap.and_then(|remap| remap(&**value, map)) {
                // Others may ask for the same.
                Arc::make_mut(filters)[at].1 = other;
            }
        }
    }

    /// Whether there may be entities in the values.
    pub(crate) fn may_name_entities(&self) -> bool {
        let may = |(ty, _): &(ComponentType, SharedValue)| {
            ty.0.shared.is_some_and(|functions| functions.remap.is_some())
        };
        self.shared().iter().any(may)
    }

    pub(crate) fn shared(&self) -> &[(ComponentType, SharedValue)] {
        self.shared.as_ref().map_or(&[], |shared| shared)
    }
}

//! The owner of entities: a manager alone, or a world, which delivers events.

use std::ops::{Deref, DerefMut};

use super::EntityManager;

/// Entities: an [`EntityManager`], or a [`World`](crate::World), which delivers the events of a change at its end.
pub(crate) trait EntityHost {
    fn manager(&self) -> &EntityManager;

    fn manager_mut(&mut self) -> &mut EntityManager;

    /// Delivers the events of a change.
    fn deliver(&mut self);
}

impl EntityHost for EntityManager {
    fn manager(&self) -> &EntityManager {
        self
    }

    fn manager_mut(&mut self) -> &mut EntityManager {
        self
    }

    fn deliver(&mut self) {}
}

/// A borrowed [`EntityHost`]. It derefs to the manager, and the borrower calls [`deliver`](Self::deliver) after a change.
pub(crate) struct HostMut<'w>(pub(crate) &'w mut dyn EntityHost);

impl HostMut<'_> {
    pub(crate) fn deliver(&mut self) {
        self.0.deliver();
    }
}

impl Deref for HostMut<'_> {
    type Target = EntityManager;

    fn deref(&self) -> &EntityManager {
        self.0.manager()
    }
}

impl DerefMut for HostMut<'_> {
    fn deref_mut(&mut self) -> &mut EntityManager {
        self.0.manager_mut()
    }
}

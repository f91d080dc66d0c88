//! Changes of relationships in a world. Outside of updates, they deliver events to observers at their end.

use super::World;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::ChildSpawner;
use crate::relationship::Relationship;

impl World {
    /// Calls a function that spawns children of an entity. See [`EntityManager::with_children`](crate::EntityManager::with_children).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::with_children`](crate::EntityManager::with_children).
    #[track_caller]
    pub fn with_children(
        &mut self,
        parent: Entity,
        spawn: impl FnOnce(&mut ChildSpawner<'_>),
    ) -> Result<(), EntityError> {
        let done = self.entities.with_children(parent, spawn);
        self.deliver_outside();
        done
    }

    /// Attaches a child to a parent. See [`EntityManager::add_child`](crate::EntityManager::add_child).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::add_child`](crate::EntityManager::add_child).
    pub fn add_child(&mut self, parent: Entity, child: Entity) -> Result<(), EntityError> {
        let done = self.entities.add_child(parent, child);
        self.deliver_outside();
        done
    }

    /// Attaches a child to a parent, at an index. See [`EntityManager::insert_child`](crate::EntityManager::insert_child).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::insert_child`](crate::EntityManager::insert_child).
    pub fn insert_child(
        &mut self,
        parent: Entity,
        index: usize,
        child: Entity,
    ) -> Result<(), EntityError> {
        let done = self.entities.insert_child(parent, index, child);
        self.deliver_outside();
        done
    }

    /// Attaches a source to a target, at an index. See [`EntityManager::insert_source`](crate::EntityManager::insert_source).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::insert_source`](crate::EntityManager::insert_source).
    pub fn insert_source<R: Relationship>(
        &mut self,
        target: Entity,
        index: usize,
        source: Entity,
    ) -> Result<(), EntityError> {
        let done = self.entities.insert_source::<R>(target, index, source);
        self.deliver_outside();
        done
    }

    /// Detaches an entity from its parent. See [`EntityManager::detach_child`](crate::EntityManager::detach_child).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::detach_child`](crate::EntityManager::detach_child).
    pub fn detach_child(&mut self, child: Entity) -> Result<bool, EntityError> {
        let done = self.entities.detach_child(child);
        self.deliver_outside();
        done
    }

    /// Detaches all children from an entity. See [`EntityManager::detach_children`](crate::EntityManager::detach_children).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::detach_children`](crate::EntityManager::detach_children).
    pub fn detach_children(&mut self, parent: Entity) -> Result<bool, EntityError> {
        let done = self.entities.detach_children(parent);
        self.deliver_outside();
        done
    }

    /// Despawns the descendants of an entity. See [`EntityManager::despawn_children`](crate::EntityManager::despawn_children).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::despawn_children`](crate::EntityManager::despawn_children).
    pub fn despawn_children(&mut self, parent: Entity) -> Result<usize, EntityError> {
        let done = self.entities.despawn_children(parent);
        self.deliver_outside();
        done
    }
}

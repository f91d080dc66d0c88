//! Changes of all entities that match a [`QueryDescriptor`].

use std::mem;

use super::access::{Asked, sync_for_query};
use super::chunk_filter::each_run;
use super::descriptor::QueryDescriptor;
use super::state::Match;
use super::walk::{Walk, set_enabled};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::manager::{EntityManager, RowSelection};
use crate::storage::RowRange;

impl QueryDescriptor {
    /// Copies all matching entities of one world to another. Returns a map from each entity to its copy.
    ///
    /// # Errors
    ///
    /// The errors of [`EntityManager::copy_entities_from`]. No entity is copied then.
    ///
    /// # Panics
    ///
    /// Panics for the reasons of [`EntityManager::copy_entities_from`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let (mut game, mut preview) = (World::new("Game"), World::new("Preview"));
    /// game.spawn_many((), 10);
    /// game.spawn_many(Health(20), 5);
    /// let copied = QueryDescriptor::of::<&Health, ()>().copy_to(&game, &mut preview).unwrap();
    /// assert_eq!((copied.len(), game.entity_count(), preview.entity_count()), (5, 15, 5));
    /// ```
    #[track_caller]
    pub fn copy_to(
        &self,
        from: &EntityManager,
        to: &mut EntityManager,
    ) -> Result<EntityMap, EntityError> {
        let found = self.found(from);
        let copied = to.copy_rows_from(from, &found);
        from.keep_selection(found);
        copied
    }

    /// Calls a function with the manager and all matching rows.
    #[track_caller]
    pub(crate) fn change<R>(
        &self,
        entities: &mut EntityManager,
        change: impl FnOnce(&mut EntityManager, &RowSelection) -> R,
    ) -> R {
        let found = self.found(entities);
        let result = change(entities, &found);
        entities.keep_selection(found);
        result
    }

    /// Returns all matching rows, after waiting for all jobs that use them.
    #[track_caller]
    pub(crate) fn found(&self, entities: &EntityManager) -> RowSelection {
        let matched = self.matched_in(entities);
        // These jobs include those that write enabled bits or versions that the conditions read.
        entities.sync_for_move(matched.matches.iter().map(|found| found.archetype));
        Walk::reading(entities, matched, &self.settings).found(entities.take_selection())
    }

    /// Removes entities that do not match from a list.
    pub(crate) fn retain_found(&self, entities: &EntityManager, list: &mut Vec<Entity>) {
        let matched = self.matched_in(entities);
        sync_for_query(entities, matched, Asked::Found);
        let walk = Walk::reading(entities, matched, &self.settings);
        let storage = &entities.storage;
        list.retain(|&entity| {
            let Some(at) = storage.table.locate(entity) else { return false };
            let Some(found) = matched.find(storage.archetype_at(at)) else { return false };
            walk.has_row(found, at.chunk, at.row)
        });
    }

    /// Enables or disables a component of all matching entities. Returns the number of matching entities.
    #[track_caller]
    pub(crate) fn set_type_enabled(
        &self,
        entities: &mut EntityManager,
        ty: ComponentType,
        enabled: bool,
    ) -> Result<usize, EntityError> {
        if !ty.is_enableable() {
            return Err(EntityError::NotEnableable { component: ty });
        }
        let archetypes = &entities.storage.archetypes;
        let lacks = |found: &Match| !archetypes[found.archetype].shape.has(ty);
        if self.matched_in(entities).matches.iter().any(lacks) {
            // An archetype that matches does not have the component. It is an error only if one of its entities matches.
            self.change(entities, |entities, found| entities.check_all_have(found, ty))?;
        }
        Ok(set_enabled(entities, self, ty, enabled))
    }
}

impl Walk<'_> {
    /// Adds all matching rows to `all`, which must be empty, and returns it.
    fn found(self, mut all: RowSelection) -> RowSelection {
        let count = |found: &Match| self.archetypes[found.archetype].chunks.len();
        all.reserve(self.matches.iter().map(count).sum());
        let mut changed = mem::take(&mut all.changed);
        self.for_each_chunk(&mut changed, |found, number, chunk, changed| {
            each_run(&found.bits, chunk, changed, |run| {
                let (first, rows) = (run.start, run.end - run.start);
                all.push(found.archetype, RowRange { chunk: number, first, rows });
            });
        });
        all.changed = changed;
        all
    }
}

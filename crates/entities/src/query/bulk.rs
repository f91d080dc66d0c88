//! The rows that match a description, for changes of all of them at once.

#![expect(unsafe_code, reason = "chunks of a world that is borrowed")]

use std::mem;

use super::access::{Asked, sync_for_query};
use super::chunk_filter::Runs;
use super::descriptor::QueryDescriptor;
use super::state::{Masks, Match, matching_rows};
use super::walk::Walk;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::manager::{EntityManager, RowSelection};
use crate::storage::{Chunk, RowRange};

impl QueryDescriptor {
    /// Copies all matching entities of one world to another. Returns a map from each entity to its copy.
    ///
    /// # Errors
    ///
    /// Those of [`EntityManager::copy_entities_from`]. Nothing is copied then.
    ///
    /// # Panics
    ///
    /// The same as [`EntityManager::copy_entities_from`].
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

    /// Applies a change to all matching rows.
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
        // That includes jobs that write enabled bits or versions on which matching depends.
        entities.sync_for_move(matched.matches.iter().map(|found| found.archetype));
        Walk::reading(entities, matched, self.settings()).found(entities.take_selection())
    }

    /// Removes the entities from a list that do not match.
    pub(crate) fn retain_found(&self, entities: &EntityManager, list: &mut Vec<Entity>) {
        let matched = self.matched_in(entities);
        sync_for_query(entities, matched, Asked::Found);
        let walk = Walk::reading(entities, matched, self.settings());
        let storage = &entities.storage;
        list.retain(|&entity| {
            let Some(at) = storage.table.locate(entity) else { return false };
            let Some(found) = matched.find(storage.archetype_at(at)) else { return false };
            walk.has_row(found, at.chunk, at.row)
        });
    }

    /// Enables or disables a component of all matching entities.
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
            // Perhaps no entity of those archetypes matches.
            self.change(entities, |entities, found| entities.check_all_have(found, ty))?;
        }
        entities.sync_for_set_enabled(ty);
        sync_for_query(entities, self.matched_in(entities), Asked::Data);
        let entities: *mut EntityManager = entities;
        // SAFETY: the manager is borrowed mutably by this function alone, and neither the states nor the archetypes change
        // meanwhile.
        let (states, archetypes) =
            unsafe { (&(*entities).queries, &(*entities).storage.archetypes) };
        let matched = self.matched(states, archetypes);
        // SAFETY: no other view uses the chunks, and the state belongs to the manager.
        let walk = unsafe { Walk::writing(entities, matched, self.settings()) };
        // SAFETY: the manager is borrowed mutably, and no item of it is alive. Jobs that use the component, or read whether it is
        // enabled, have completed, and other jobs do not see its versions.
        Ok(unsafe { walk.switch(ty, enabled) })
    }
}

/// Distance, in chunks, at which memory is prefetched.
const AHEAD: usize = 16;

impl Walk<'_> {
    /// Returns all matching rows, in a list that is empty yet.
    pub(super) fn found(&self, mut all: RowSelection) -> RowSelection {
        let chunks = |found: &Match| self.archetypes[found.archetype].chunks.len();
        all.reserve(self.matches.iter().map(chunks).sum());
        // SAFETY: the headers of chunks do not change meanwhile.
        let chunks = unsafe { &*self.chunks };
        let mut changed = mem::take(&mut all.changed);
        for found in self.matches {
            let mut list = self.archetypes[found.archetype].chunks.iter();
            while let Some(number) = self.next_chosen(&mut list, found, &mut changed) {
                // Other work may have evicted the chunks from the cache.
                if let Some(&later) = list.as_slice().get(AHEAD - 1) {
                    chunks.prefetch(later);
                }
                // SAFETY: archetypes list existing chunks.
                let chunk = unsafe { chunks.get_unchecked(number) };
                let masks = Masks { enabled: &chunk.enabled, changed: &changed };
                let (mut run, mut runs) = Runs::new(&found.bits, chunk).next(&masks);
                while run.start < run.end {
                    let rows = run.end - run.start;
                    all.push(found.archetype, RowRange { chunk: number, first: run.start, rows });
                    (run, runs) = runs.next(&masks);
                }
            }
        }
        all.changed = changed;
        all
    }

    /// Enables or disables a component of all matching rows. All matching archetypes have it. Returns the number of rows.
    ///
    /// # Safety
    ///
    /// - the walk was made by [`writing`](Self::writing), and no fetched data of its chunks is alive
    /// - no other code uses the mask and the versions of the component in these chunks; nor versions of other columns, unless they
    ///   were written out
    pub(super) unsafe fn switch(&self, component: ComponentType, enabled: bool) -> usize {
        let mut switched = 0;
        let mut changed = Vec::new();
        for found in self.matches {
            let archetype = &self.archetypes[found.archetype];
            let place = archetype.shape.index.find(component);
            let Some((column, mask)) = place.and_then(|place| Some((place.column, place.mask()?)))
            else {
                continue;
            };
            let mut list = archetype.chunks.iter();
            while let Some(number) = self.next_chosen(&mut list, found, &mut changed) {
                // SAFETY: archetypes list existing chunks.
                let chunk = unsafe { (*self.chunks).get_unchecked(number) };
                // SAFETY: no other code uses the mask and the versions of the component, nor versions of other columns unless they
                // were written out.
                unsafe {
                    if found.bits.is_empty() {
                        chunk.enabled.set_rows(mask, 0, chunk.len, enabled);
                        chunk.note_written_beside(column, 0, chunk.len, self.version);
                        switched += chunk.len as usize;
                    } else {
                        let place = (column, mask);
                        switched += self.switch_some(chunk, found, &changed, place, enabled);
                    }
                }
            }
        }
        switched
    }

    /// Enables or disables a component of the matching rows of a chunk, given its column and its mask. Returns the number of rows.
    ///
    /// # Safety
    ///
    /// - no other code uses the mask and the versions of the column; nor versions of other columns, unless they were written out
    unsafe fn switch_some(
        &self,
        chunk: &Chunk,
        found: &Match,
        changed: &[u64],
        (column, mask): (u32, u32),
        enabled: bool,
    ) -> usize {
        let mut switched = 0;
        // Matching depends on the bits of one word at a time, so earlier writes do not matter.
        for word in 0..chunk.len.div_ceil(u64::BITS) {
            let masks = Masks { enabled: &chunk.enabled, changed };
            let rows = matching_rows(&found.bits, &masks, word, chunk.len);
            if rows != 0 {
                // SAFETY: no other code uses the mask and the versions of the column, nor versions of other columns unless they
                // were written out. The borrow for matching has ended.
                unsafe {
                    chunk.enabled.set_bits(mask, word, rows, enabled);
                    chunk.note_written_bits(column, word, rows, self.version);
                }
                switched += rows.count_ones() as usize;
            }
        }
        switched
    }
}

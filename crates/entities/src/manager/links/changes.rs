//! Changes of links: listing, checks, and updates of the lists.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use ancho_collections::FixedState;
use hashbrown::{HashMap, HashSet};

use super::LinkChange;
use crate::component::RelationshipInfo;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;

/// The number of removed sources from which on an ordered list is filtered as a whole.
const MANY: usize = 3;

/// The number of entities up to which lists are searched linearly.
const FEW: usize = 8;

impl EntityManager {
    /// Takes the list of changes, which is empty.
    pub(super) fn take_changes(&mut self) -> Vec<LinkChange> {
        mem::take(&mut self.links.changes)
    }

    /// Returns the list of changes.
    pub(super) fn keep_changes(&mut self, mut changes: Vec<LinkChange>) {
        changes.clear();
        self.links.changes = changes;
    }

    /// Adds the change of a source to the list, unless it has the target already.
    pub(super) fn list_change(
        &self,
        changes: &mut Vec<LinkChange>,
        relationship: &'static RelationshipInfo,
        source: Entity,
        new: Entity,
    ) {
        let old = self.link_target(relationship, source).unwrap_or(Entity::NULL);
        if old != new || new.is_null() {
            changes.push(LinkChange { relationship, source, old, new });
        }
    }

    /// Returns an error if an entity cannot be a target.
    pub(in crate::manager) fn check_target(&self, target: Entity) -> Result<(), EntityError> {
        let location = self.locate(target)?;
        if self.storage.chunks[location.chunk].shape().is_cleanup_only() {
            return Err(EntityError::CleanupOnly { entity: target });
        }
        Ok(())
    }

    /// Checks the new links of changes together, as if all were made.
    pub(super) fn check_links(&self, changes: &[LinkChange]) -> Result<(), EntityError> {
        let mut checked = Entity::NULL;
        let mut acyclic = None;
        for &LinkChange { relationship, source, new, .. } in changes {
            if new.is_null() {
                continue;
            }
            if new != checked {
                self.check_target(new)?;
                checked = new;
            }
            if new == source && !relationship.allow_self {
                let component = (relationship.source)();
                return Err(EntityError::LinkToSelf { entity: source, component });
            }
            if relationship.acyclic {
                acyclic = Some(relationship);
            }
        }
        match (changes, acyclic) {
            (_, None) => Ok(()),
            (&[change], _) => self.check_one_cycle(change),
            _ => self.check_cycles(changes),
        }
    }

    fn check_one_cycle(&self, change: LinkChange) -> Result<(), EntityError> {
        let LinkChange { relationship, source, new, .. } = change;
        if !self.has_type(source, (relationship.reverse)()) {
            // A source without sources of its own has no descendants.
            return Ok(());
        }
        let (mut at, mut length) = (new, 1);
        while at != source {
            let Some(next) = self.link_target(relationship, at) else { return Ok(()) };
            (at, length) = (next, length + 1);
        }
        let component = (relationship.source)();
        Err(EntityError::LinkCycle { component, source, target: new, length })
    }

    fn check_cycles(&self, changes: &[LinkChange]) -> Result<(), EntityError> {
        let mut rest = changes;
        // Changes of one relationship are contiguous, or there are few.
        while let Some(first) = rest.first() {
            let relationship = first.relationship;
            let is_same = |change: &&LinkChange| ptr::eq(change.relationship, relationship);
            if relationship.acyclic {
                let same = || changes.iter().filter(is_same);
                if self.may_close_cycle(relationship, same()) {
                    self.find_cycle(relationship, same())?;
                }
            }
            let run = rest.iter().take_while(is_same).count();
            rest = &rest[run..];
        }
        Ok(())
    }

    /// Returns whether a new target, or one of its ancestors, is a source among the changes. Otherwise no cycle is closed.
    fn may_close_cycle<'c>(
        &self,
        relationship: &RelationshipInfo,
        changes: impl Iterator<Item = &'c LinkChange> + Clone,
    ) -> bool {
        let (mut few, mut many) = (Vec::new(), HashSet::<Entity, FixedState>::default());
        // Without descendants, a source can only be the target of another change.
        let list = (relationship.reverse)();
        let have_descendants = changes.clone().any(|change| self.has_type(change.source, list));
        let mut last = Entity::NULL;
        for change in changes.clone().filter(|change| !change.new.is_null()) {
            if mem::replace(&mut last, change.new) == change.new {
                continue;
            }
            let mut at = Some(change.new);
            while let Some(entity) = at {
                if few.contains(&entity) || many.contains(&entity) {
                    break;
                }
                if few.len() < FEW {
                    few.push(entity);
                } else {
                    many.insert(entity);
                }
                at = if have_descendants { self.link_target(relationship, entity) } else { None };
            }
        }
        let is_on_path = |source: &Entity| few.contains(source) || many.contains(source);
        changes.clone().any(|change| is_on_path(&change.source))
    }

    /// Returns an error if the links have a cycle after all changes.
    fn find_cycle<'c>(
        &self,
        relationship: &RelationshipInfo,
        changes: impl Iterator<Item = &'c LinkChange> + Clone,
    ) -> Result<(), EntityError> {
        let planned: HashMap<Entity, Entity, FixedState> =
            changes.clone().map(|change| (change.source, change.new)).collect();
        let next = |entity: Entity| match planned.get(&entity) {
            Some(&target) => Some(target).filter(|target| !target.is_null()),
            None => self.link_target(relationship, entity),
        };
        // The number of the walk that visited an entity first.
        let mut walks = HashMap::<Entity, usize, FixedState>::default();
        for (walk, change) in changes.enumerate() {
            let mut at = Some(change.source);
            while let Some(entity) = at {
                match walks.get(&entity) {
                    Some(&earlier) if earlier == walk => {
                        let target = next(entity).unwrap_or(Entity::NULL);
                        let (mut length, mut at) = (1, target);
                        while at != entity {
                            (at, length) = (next(at).unwrap_or(entity), length + 1);
                        }
                        let component = (relationship.source)();
                        return Err(EntityError::LinkCycle {
                            component,
                            source: entity,
                            target,
                            length,
                        });
                    }
                    Some(_) => break,
                    None => _ = walks.insert(entity, walk),
                }
                at = next(entity);
            }
        }
        Ok(())
    }

    /// Makes an operation and the changes of links together. If the operation fails, nothing is changed.
    pub(super) fn change_links<R, E: From<EntityError>>(
        &mut self,
        changes: &[LinkChange],
        operation: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        self.prepare_lists(changes)?;
        let done = catch_unwind(AssertUnwindSafe(|| operation(self)));
        self.finish_links(changes, done)
    }

    /// Updates the lists after an operation, or removes the empty lists that were created for it.
    pub(super) fn finish_links<R, E>(
        &mut self,
        changes: &[LinkChange],
        done: std::thread::Result<Result<R, E>>,
    ) -> Result<R, E> {
        match done {
            Ok(Ok(result)) => {
                self.links.given.clear();
                self.update_lists(changes);
                self.close_empty_chunks();
                Ok(result)
            }
            failed => {
                // Some sources may have been changed before the failure.
                let is_made = |change: &&LinkChange| {
                    let target = self.link_target(change.relationship, change.source);
                    target.unwrap_or(Entity::NULL) == change.new
                };
                let made: Vec<_> = changes.iter().filter(is_made).copied().collect();
                self.update_lists(&made);
                self.take_lists_back();
                self.close_empty_chunks();
                failed.unwrap_or_else(|panic| resume_unwind(panic))
            }
        }
    }

    /// Gives each new target a list, and makes the lists of all targets unshared.
    pub(super) fn prepare_lists(&mut self, changes: &[LinkChange]) -> Result<(), EntityError> {
        debug_assert!(self.links.given.is_empty());
        let prepared = self.try_prepare_lists(changes);
        if prepared.is_err() {
            self.take_lists_back();
        }
        prepared
    }

    fn try_prepare_lists(&mut self, changes: &[LinkChange]) -> Result<(), EntityError> {
        let mut last = (ptr::null(), Entity::NULL, Entity::NULL);
        for &LinkChange { relationship, old, new, .. } in changes {
            // Often many sources have the same targets.
            let links = (ptr::from_ref(relationship), old, new);
            if mem::replace(&mut last, links) == links {
                continue;
            }
            if !old.is_null() {
                self.open_list(relationship, old)?;
            }
            self.prepare_list(relationship, new)?;
        }
        Ok(())
    }

    /// Gives a target a list if it has none, and makes the list unshared.
    pub(super) fn prepare_list(
        &mut self,
        relationship: &'static RelationshipInfo,
        target: Entity,
    ) -> Result<(), EntityError> {
        if target.is_null() {
            return Ok(());
        }
        if self.has_type(target, (relationship.reverse)()) {
            return self.open_list(relationship, target);
        }
        self.add_list(relationship, target)?;
        self.links.given.push((relationship, target));
        Ok(())
    }

    /// Removes the lists that were created for an operation, if they are empty.
    pub(super) fn take_lists_back(&mut self) {
        while let Some((relationship, target)) = self.links.given.pop() {
            self.remove_empty_list(relationship, target);
        }
    }

    /// Removes the list of a target if it is empty.
    pub(super) fn remove_empty_list(&mut self, relationship: &RelationshipInfo, target: Entity) {
        let ty = (relationship.reverse)();
        if self.has_type(target, ty) && self.link_sources(relationship, target).is_empty() {
            // Without memory for the move, an empty list remains, which has the same meaning.
            let _ = self.set_number_of(&[ty]).and_then(|set| self.remove_set(target, set, None));
        }
    }

    /// Updates the lists after sources were changed.
    pub(super) fn update_lists(&mut self, changes: &[LinkChange]) {
        self.detach_from_lists(changes);
        let mut rest = changes;
        while let Some(&LinkChange { relationship, new, .. }) = rest.first() {
            let is_same = |change: &&LinkChange| {
                change.new == new && ptr::eq(change.relationship, relationship)
            };
            let run = rest.iter().take_while(is_same).count();
            if !new.is_null() {
                let mut sources = mem::take(&mut self.links.sources);
                sources.extend(rest[..run].iter().map(|change| change.source));
                self.append_sources(relationship, new, &sources);
                sources.clear();
                self.links.sources = sources;
            }
            rest = &rest[run..];
        }
        // A list may be filled again, so that empty lists are removed last.
        for change in changes.iter().filter(|change| !change.old.is_null()) {
            self.remove_empty_list(change.relationship, change.old);
        }
    }

    /// Removes the sources of changes from the lists of their old targets.
    fn detach_from_lists(&mut self, changes: &[LinkChange]) {
        let detached = || changes.iter().filter(|change| !change.old.is_null());
        if detached().count() < MANY {
            for change in detached() {
                self.remove_source(change.relationship, change.old, change.source);
            }
            return;
        }
        let mut counts = HashMap::<(*const RelationshipInfo, Entity), usize, FixedState>::default();
        let key = |change: &LinkChange| (ptr::from_ref(change.relationship), change.old);
        detached().for_each(|change| *counts.entry(key(change)).or_default() += 1);
        for change in detached() {
            let Some(count) = counts.get_mut(&key(change)) else { continue };
            if !change.relationship.ordered || *count < MANY {
                self.remove_source(change.relationship, change.old, change.source);
            } else {
                self.keep_true_sources(change.relationship, change.old);
                counts.remove(&key(change));
            }
        }
    }
}

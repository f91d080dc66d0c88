//! Operations that remove links: removing sources and lists, and despawning.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{LinkChange, lists_in, sources_in};
use crate::component::{ComponentType, Requirement};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::manager::despawn::shared_prefix;
use crate::manager::linked_groups::GroupMemory;
use crate::set::ComponentSet;
use crate::storage::{Location, SetOperation};

impl EntityManager {
    /// Removes the components of a set, which include sources or lists, from entities: from all or from none. Returns the number of
    /// entities that had one of the components.
    #[cold]
    #[inline(never)]
    pub(in crate::manager) fn remove_linked(
        &mut self,
        entities: &[Entity],
        set: u32,
    ) -> Result<usize, EntityError> {
        let types = self.sets.get(set).types.clone();
        let mut changes = self.take_changes();
        let (mut losses, mut removed) = (Vec::new(), 0);
        for &entity in entities {
            let Some(location) = self.storage.table.locate(entity) else {
                if self.strict {
                    self.keep_changes(changes);
                    return Err(self.no_such(entity));
                }
                continue;
            };
            let from = self.storage.archetype_at(location);
            let transfer = self.transfer(from, set, SetOperation::Remove)?;
            if let Err(error) = self.check_transfer(entity, transfer, SetOperation::Remove) {
                self.keep_changes(changes);
                return Err(error);
            }
            removed += usize::from(self.transfers[transfer].present.is_some());
            self.list_removal(entity, location, &types, &mut changes, &mut losses);
        }
        let done = self.prepare_losses(&changes, &mut losses);
        if let Err(error) = done {
            self.keep_changes(changes);
            return Err(error);
        }
        let done = catch_unwind(AssertUnwindSafe(|| self.apply_losses(&losses)));
        let done = self.finish_links::<(), EntityError>(&changes, done.map(Ok));
        self.keep_changes(changes);
        done.map(|()| removed)
    }

    /// Ends links: removes the sources of the changes, and updates the lists of their targets.
    pub(super) fn end_links(&mut self, changes: &[LinkChange]) -> Result<(), EntityError> {
        let losses = changes.iter().map(|change| (change.source, (change.relationship.source)()));
        let mut losses: Vec<_> = losses.collect();
        self.prepare_losses(changes, &mut losses)?;
        let done = catch_unwind(AssertUnwindSafe(|| self.apply_losses(&losses)));
        self.finish_links(changes, done.map(Ok))
    }

    /// Removes components from an entity, which include sources, and returns them.
    #[cold]
    #[inline(never)]
    pub(in crate::manager) fn take_linked<S: ComponentSet>(
        &mut self,
        entity: Entity,
    ) -> Result<S, EntityError> {
        self.check_no_lists::<S>()?;
        self.find_set::<S>(entity)?;
        let location = self.locate(entity)?;
        let set = self.set_number::<S>()?;
        let types = self.sets.get(set).types.clone();
        let mut changes = self.take_changes();
        self.list_removal(entity, location, &types, &mut changes, &mut Vec::new());
        let taken = self.change_links(&changes, |manager| manager.take_unlinked(entity));
        self.keep_changes(changes);
        taken
    }

    /// Moves an entity with links to another archetype.
    #[cold]
    #[inline(never)]
    pub(in crate::manager) fn set_linked_archetype(
        &mut self,
        entity: Entity,
        location: Location,
        to: u32,
        required: Vec<Requirement>,
    ) -> Result<(), EntityError> {
        let shape = self.storage.chunks[location.chunk].shape();
        let new = &self.storage.archetypes[to].shape;
        let is_required = |ty| required.iter().any(|found| found.ty == ty);
        let is_new = |&(_, &ty): &(u32, &ComponentType)| !shape.has(ty) && !is_required(ty);
        new.check_initial((0..).zip(&new.types).filter(is_new).map(|(at, _)| at))?;
        let links = shape.links.iter().map(|&column| shape.types[column as usize]);
        let lost: Vec<_> = links.filter(|&ty| !new.has(ty)).collect();
        if !lost.is_empty() {
            let set = self.set_number_of(&lost)?;
            self.remove_linked(&[entity], set)?;
        }
        let location = self.locate(entity)?;
        if self.storage.archetype_at(location) == to {
            return Ok(());
        }
        self.set_archetype_unlinked(entity, location, to, required)
    }

    /// Lists the links that an entity loses with components, and the components of the sources that refer to it.
    fn list_removal(
        &self,
        entity: Entity,
        location: Location,
        types: &[ComponentType],
        changes: &mut Vec<LinkChange>,
        losses: &mut Vec<(Entity, ComponentType)>,
    ) {
        let shape = self.storage.chunks[location.chunk].shape();
        for &ty in types.iter().filter(|&&ty| shape.has(ty)) {
            if let Some(relationship) = ty.0.reverse_of {
                let source_type = (relationship.source)();
                for &source in self.link_sources(relationship, entity) {
                    let new = Entity::NULL;
                    changes.push(LinkChange { relationship, source, old: entity, new });
                    losses.push((source, source_type));
                }
                continue;
            }
            if let Some(relationship) = ty.0.relationship
                && let Some(old) = self.link_target_at(relationship, location)
            {
                changes.push(LinkChange { relationship, source: entity, old, new: Entity::NULL });
            }
            losses.push((entity, ty));
        }
    }

    /// Completes jobs and reserves rows, so that entities can lose components. Sorts the losses.
    fn prepare_losses(
        &mut self,
        changes: &[LinkChange],
        losses: &mut Vec<(Entity, ComponentType)>,
    ) -> Result<(), EntityError> {
        losses.sort_unstable_by_key(|&(entity, ty)| (entity, ty.stable_hash(), ty.name()));
        losses.dedup();
        let mut moves = Vec::new();
        self.list_moves(losses, &mut moves)?;
        self.prepare_lists(changes)?;
        // Nothing fails after rows were reserved, so that no reserved chunk remains empty.
        self.reserve_for(&moves)
    }

    /// Lists the transfers by which entities lose components.
    fn list_moves(
        &mut self,
        losses: &[(Entity, ComponentType)],
        moves: &mut Vec<(Entity, u32)>,
    ) -> Result<(), EntityError> {
        let mut types = Vec::new();
        for same in losses.chunk_by(|one, other| one.0 == other.0) {
            let entity = same[0].0;
            types.clear();
            types.extend(same.iter().map(|&(_, ty)| ty));
            let set = self.set_number_of(&types)?;
            let from = self.storage.archetype_at(self.locate(entity)?);
            moves.push((entity, self.transfer(from, set, SetOperation::Remove)?));
        }
        Ok(())
    }

    /// Removes components from entities. There is room for all moves.
    fn apply_losses(&mut self, losses: &[(Entity, ComponentType)]) {
        let mut types = Vec::new();
        let mut panicked = None;
        for same in losses.chunk_by(|one, other| one.0 == other.0) {
            types.clear();
            types.extend(same.iter().map(|&(_, ty)| ty));
            let removed = catch_unwind(AssertUnwindSafe(|| {
                let set = self.set_number_of(&types)?;
                self.remove_set(same[0].0, set, None)
            }));
            match removed {
                Ok(removed) => debug_assert!(removed.is_ok(), "{removed:?}"),
                Err(panic) => _ = panicked.get_or_insert(panic),
            }
        }
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
    }

    /// Completes the jobs that use the rows of moves, and reserves rows for them.
    pub(super) fn reserve_for(&mut self, moves: &[(Entity, u32)]) -> Result<(), EntityError> {
        let from = moves.iter().filter_map(|&(entity, _)| self.storage.table.locate(entity));
        let from = from.map(|location| self.storage.archetype_at(location));
        let to = moves.iter().map(|&(_, transfer)| self.transfers[transfer].to);
        self.sync_for_move(from.chain(to));
        let mut places = mem::take(&mut self.links.places);
        let reserved = self.reserve_moves(moves, &mut places);
        places.clear();
        self.links.places = places;
        reserved?;
        let is_empty = |chunk: u32| self.storage.chunks[chunk].len == 0;
        let opened = self.runs.iter().filter(|run| run.first == 0 && is_empty(run.chunk));
        self.links.opened.extend(opened.map(|run| run.chunk));
        Ok(())
    }

    /// Removes chunks that were opened for moves and are still empty. If the operation removes rows of the same archetype before a
    /// move, the move takes one of these rows.
    pub(super) fn close_empty_chunks(&mut self) {
        let mut retired = Vec::new();
        while let Some(chunk) = self.links.opened.pop() {
            // The chunk may have been filled and removed again, and its number may belong to another one.
            if self.storage.chunks.get(chunk).is_some_and(|chunk| chunk.len == 0) {
                retired.push(self.storage.close_chunk(chunk).into_parts());
            }
        }
        if !retired.is_empty() {
            // Shared values and chunk components are dropped last, because that runs user code, which may panic.
            let _unused = self.storage.shared.take_unused();
            drop(retired);
        }
    }

    /// Despawns entities with their linked groups and their linked sources, all or none. Other sources lose their links. Returns the
    /// number of entities that were despawned.
    #[cold]
    #[inline(never)]
    pub(in crate::manager) fn despawn_linked(
        &mut self,
        entities: &[Entity],
    ) -> Result<usize, EntityError> {
        let mut lists = mem::take(&mut self.group_lists);
        let mut members = mem::take(&mut self.links.members);
        let GroupMemory { next, .. } = &mut lists;
        for &root in entities {
            next.push(root);
            while let Some(entity) = next.pop() {
                if self.exists(entity) && self.links.mark(entity) {
                    members.push(entity);
                    // The stack yields the group first, then the sources.
                    self.push_linked_sources(entity, next);
                    next.extend(self.group_of(entity).iter().rev().map(|member| member.0));
                }
            }
        }
        let mut changes = self.take_changes();
        let mut losses = Vec::new();
        let prepared = self.prepare_despawn(&members, &mut changes, &mut losses);
        self.links.unmark(&members);
        let despawned = prepared.and_then(|()| {
            let done = catch_unwind(AssertUnwindSafe(|| {
                let (despawned, panic) = self.despawn_members(&members);
                self.apply_losses(&losses);
                if let Some(panic) = panic {
                    resume_unwind(panic);
                }
                Ok(despawned)
            }));
            self.finish_links::<usize, EntityError>(&changes, done)
        });
        self.keep_changes(changes);
        members.clear();
        self.links.members = members;
        lists.clear();
        self.group_lists = lists;
        despawned
    }

    /// Lists the links that end when members are despawned, and reserves all rows that are needed.
    fn prepare_despawn(
        &mut self,
        members: &[Entity],
        changes: &mut Vec<LinkChange>,
        losses: &mut Vec<(Entity, ComponentType)>,
    ) -> Result<(), EntityError> {
        let mut moves = Vec::new();
        for &entity in members {
            let location = self.locate(entity)?;
            let chunk = &self.storage.chunks[location.chunk];
            let (shape, from) = (chunk.shape(), chunk.archetype);
            for relationship in sources_in(shape) {
                if let Some(old) = self.link_target_at(relationship, location)
                    && !self.links.is_marked(old)
                {
                    let new = Entity::NULL;
                    changes.push(LinkChange { relationship, source: entity, old, new });
                }
            }
            for relationship in lists_in(shape).filter(|relationship| !relationship.linked) {
                let sources = self.link_sources(relationship, entity).iter();
                let outside = sources.filter(|&&source| !self.links.is_marked(source));
                losses.extend(outside.map(|&source| (source, (relationship.source)())));
            }
            if shape.stays() {
                let transfer = self.transfer_of::<()>(from, SetOperation::Despawn)?;
                if self.transfers[transfer].to != from {
                    moves.push((entity, transfer));
                }
            }
        }
        losses.sort_unstable_by_key(|&(entity, ty)| (entity, ty.stable_hash(), ty.name()));
        self.list_moves(losses, &mut moves)?;
        self.sync_for_move(self.archetypes_of(members));
        if self.storage.chunks.may_be_shared() {
            for &entity in members {
                let location = self.locate(entity)?;
                let owner = &self.storage.chunks[location.chunk];
                // A chunk with one entity is removed without a write to its memory.
                if !owner.shape().stays() && owner.len > 1 {
                    self.storage.make_unique(location.chunk)?;
                }
            }
        }
        self.prepare_lists(changes)?;
        // Nothing fails after rows were reserved, so that no reserved chunk remains empty.
        self.reserve_for(&moves)
    }

    /// Despawns entities that were prepared. Contiguous rows are removed together. Returns their number, and the first panic of user
    /// code.
    fn despawn_members(
        &mut self,
        members: &[Entity],
    ) -> (usize, Option<Box<dyn std::any::Any + Send>>) {
        let (mut despawned, mut at, mut panicked) = (0, 0, None);
        while let Some(&entity) = members.get(at) {
            let Some(location) = self.storage.table.locate(entity) else {
                at += 1;
                continue;
            };
            let chunk = &self.storage.chunks[location.chunk];
            let stays = chunk.shape().stays();
            let rows = if stays {
                1
            } else {
                shared_prefix(&chunk.entities()[location.row as usize..], &members[at..])
            };
            at += rows;
            let removed = catch_unwind(AssertUnwindSafe(|| {
                if stays {
                    return self.despawn_partly(entity, location).map(usize::from);
                }
                self.storage.destroy_rows(location.chunk, location.row, rows as u32)?;
                Ok(rows)
            }));
            match removed {
                Ok(removed) => {
                    debug_assert!(removed.is_ok(), "{removed:?}");
                    despawned += removed.unwrap_or(0);
                }
                Err(panic) => _ = panicked.get_or_insert(panic),
            }
        }
        (despawned, panicked)
    }
}

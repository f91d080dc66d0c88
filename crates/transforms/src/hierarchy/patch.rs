//! Updates the cached hierarchy after few rows have changed.
//!
//! 1. Entities of changed rows are *removed*, and matched with the entities that are in changed rows now. Entities that are in both
//!    have only moved.
//! 2. Entities that no longer exist or have another parent leave the child list of their old parent.
//! 3. The other entities keep their places, and get new slots.
//! 4. Entities that are new or have another parent are *pending*. They are resolved after their parents.
//!
//! A rebuild is needed if a node was removed while its children remain, or if a node was added for which inactive children have
//! waited.

use ancho_entities::{Entity, Version, World};
use glam::Affine3A;

use super::changes::{Changes, NewRow};
use super::order::{NONE, NeedsRebuild};
use super::rebuild::matrix_of;
use super::{Hierarchy, MatrixSource, NodeMatrices};
use crate::components::{CustomLocalToWorld, LocalToWorld};

/// An entity that was in a changed row at the last update.
#[derive(Clone, Copy, Debug)]
pub(super) struct RemovedRow {
    entity: Entity,
    parent: Entity,
    is_root: bool,
    source: MatrixSource,
    /// The slot of the entity at the last update.
    slot: u32,
    /// The position of the entity in the child list of its parent.
    position: u32,
    /// `still_exists` is true if the entity is still a node. `keeps_parent` is true if it also has the same parent.
    still_exists: bool,
    keeps_parent: bool,
}

/// Tag bit of slots of removed entities; the low bits are the index in the list of removed rows.
const REMOVED_TAG: u32 = 1 << 31;

impl Hierarchy {
    /// Updates the cache after changes since a version, and marks nodes to compute.
    ///
    /// If this method fails, the cache has to be rebuilt.
    pub(super) fn patch(
        &mut self,
        world: &World,
        node_matrices: &mut NodeMatrices,
        since: Version,
    ) -> Result<(), NeedsRebuild> {
        let mut changes = std::mem::take(&mut self.changes);
        let found = self.find_changes(world, since, &mut changes);
        let done = found.and_then(|()| self.try_patch(world, node_matrices, &mut changes));
        self.changes = changes;
        done
    }

    fn try_patch(
        &mut self,
        world: &World,
        node_matrices: &mut NodeMatrices,
        changes: &mut Changes,
    ) -> Result<(), NeedsRebuild> {
        self.remove_old_rows(changes);
        self.detach_removed(changes)?;
        self.insert_new_rows(changes);
        self.resolve_pending(changes)?;
        self.demote(changes);
        if self.order.is_fragmented() || self.entities.len() > self.count * 2 + 64 * 64 {
            return Err(NeedsRebuild);
        }
        // From here on the patch cannot fail: records are updated.
        self.update_matrices_of_changes(world, node_matrices, changes);
        for removed in changes.removed.iter().filter(|removed| !removed.still_exists) {
            self.forget(removed.entity);
        }
        for &NewRow { slot, entity, .. } in &changes.new_rows {
            let number = self.chunk_at(slot as usize).0;
            self.mark_if_changed(number, slot as usize, self.rebuild_count);
            // Inactive nodes have no record.
            if self.sources[slot as usize] == MatrixSource::INACTIVE {
                self.forget(entity);
            }
        }
        Ok(())
    }

    /// Lists the old entities of changed rows, and finds the entities among them that are in changed rows now.
    fn remove_old_rows(&mut self, changes: &mut Changes) {
        let Changes { removed, old_slots, new_rows, .. } = changes;
        removed.clear();
        for (number, &slot) in (0..).zip(&*old_slots) {
            let at = slot as usize;
            let entity = self.entities[at];
            removed.push(RemovedRow {
                entity,
                parent: self.parent_entities[at],
                is_root: self.chunk_at(at).1.traits.is_root,
                source: self.sources[at],
                slot,
                position: 0,
                still_exists: false,
                keeps_parent: false,
            });
            self.slots[entity.index() as usize] = REMOVED_TAG | number;
        }
        for new in new_rows {
            let Some(number) = self.removed_index(new.entity) else { continue };
            if let Some(removed) = removed.get_mut(number).filter(|old| old.entity == new.entity) {
                let is_root = self.chunk_at(new.slot as usize).1.traits.is_root;
                removed.still_exists = true;
                removed.keeps_parent = removed.parent == new.parent && removed.is_root == is_root;
            }
        }
    }

    fn removed_index(&self, entity: Entity) -> Option<usize> {
        let slot = *self.slots.get(entity.index() as usize)?;
        (slot != NONE && slot & REMOVED_TAG != 0).then_some((slot & !REMOVED_TAG) as usize)
    }

    /// Removes entities that no longer exist or have another parent from the child lists of their old parents. Slots keep their old
    /// numbers.
    fn detach_removed(&mut self, changes: &mut Changes) -> Result<(), NeedsRebuild> {
        let Changes { removed, .. } = changes;
        for removed in removed.iter().filter(|removed| !removed.keeps_parent) {
            if removed.source == MatrixSource::INACTIVE {
                if !removed.parent.is_null() {
                    self.inactive_children[removed.parent.index() as usize] -= 1;
                }
                continue;
            }
            let (place, is_own) = removed.source.place();
            let above = if is_own { self.order.parent[place] } else { place as u32 };
            if above != NONE {
                self.order.remove_child(above, removed.slot);
            }
            if is_own {
                self.order.parent[place] = NONE;
            }
        }
        for removed in removed.iter().filter(|removed| !removed.still_exists) {
            if let (place, true) = removed.source.place()
                && removed.source != MatrixSource::INACTIVE
            {
                if !self.order.children(place).is_empty() {
                    return Err(NeedsRebuild);
                }
                self.free_place(place as u32);
            }
        }
        for removed in &mut *removed {
            removed.position = self.order.position(removed.slot);
            let slot = removed.slot as usize;
            self.entities[slot] = Entity::NULL;
            self.parent_entities[slot] = Entity::NULL;
            self.sources[slot] = MatrixSource::INACTIVE;
            self.order.place[slot] = NONE;
            if !removed.still_exists {
                self.slots[removed.entity.index() as usize] = NONE;
            }
        }
        Ok(())
    }

    /// Assigns the slots of changed rows to their new entities.
    fn insert_new_rows(&mut self, changes: &mut Changes) {
        let Changes { removed, new_rows, pending, .. } = changes;
        pending.clear();
        for &NewRow { slot, entity, parent } in &*new_rows {
            let before = self.removed_index(entity).and_then(|number| removed.get(number));
            let before = before.filter(|before| before.entity == entity).copied();
            let at = slot as usize;
            self.entities[at] = entity;
            self.parent_entities[at] = parent;
            let index = entity.index() as usize;
            if index >= self.slots.len() {
                self.slots.resize((index + 1).next_power_of_two(), NONE);
            }
            self.slots[index] = slot;
            let chunk = self.chunk_at(at).1;
            let source = before.map_or(MatrixSource::INACTIVE, |before| before.source);
            let is_placed = source != MatrixSource::INACTIVE;
            if let (place, true) = source.place()
                && is_placed
            {
                self.order.renumber(place as u32, slot);
                self.rows[place] = (self.chunk_of[at / 64], slot - chunk.first);
            }
            match before.filter(|before| before.keeps_parent) {
                Some(before) => {
                    self.sources[at] = source;
                    let (place, is_own) = source.place();
                    if is_placed {
                        let above = if is_own { self.order.parent[place] } else { place as u32 };
                        if above != NONE {
                            self.order.renumber_child(above, before.position, slot);
                        }
                    }
                }
                None => {
                    self.sources[at] = MatrixSource::PENDING;
                    pending.push(slot);
                }
            }
        }
    }

    /// Links all pending nodes to their parents.
    fn resolve_pending(&mut self, changes: &mut Changes) -> Result<(), NeedsRebuild> {
        let Changes { pending, ancestors, promoted, moves, .. } = changes;
        promoted.clear();
        moves.clear();
        for &slot in &*pending {
            let mut at = slot as usize;
            ancestors.clear();
            while self.sources[at] == MatrixSource::PENDING {
                // A cycle.
                if ancestors.len() > pending.len() {
                    return Err(NeedsRebuild);
                }
                ancestors.push(at as u32);
                let Some(parent) = self.slot_of(self.parent_entities[at]) else { break };
                at = parent;
            }
            while let Some(slot) = ancestors.pop() {
                self.resolve(slot, promoted, moves)?;
            }
        }
        Ok(())
    }

    /// Links a pending node to its parent, which is resolved already.
    fn resolve(
        &mut self,
        slot: u32,
        promoted: &mut Vec<u32>,
        moves: &mut Vec<(u32, u32)>,
    ) -> Result<(), NeedsRebuild> {
        let at = slot as usize;
        let own = self.order.place[at];
        let (entity, parent) = (self.entities[at], self.parent_entities[at]);
        if self.inactive_children.get(entity.index() as usize).is_some_and(|count| *count > 0) {
            return Err(NeedsRebuild);
        }
        if self.chunk_at(at).1.traits.is_root {
            let own = if own == NONE { self.allocate_place(slot, NONE) } else { own };
            self.sources[at] = MatrixSource::own(own);
            return Ok(());
        }
        let above =
            self.slot_of(parent).filter(|above| self.sources[*above] != MatrixSource::INACTIVE);
        let Some(above) = above else {
            if own != NONE {
                if !self.order.children(own as usize).is_empty() {
                    return Err(NeedsRebuild);
                }
                self.free_place(own);
            }
            self.sources[at] = MatrixSource::INACTIVE;
            if !parent.is_null() {
                self.add_inactive_child(parent);
            }
            return Ok(());
        };
        let above = match self.order.place[above] {
            NONE => self.promote(above, promoted),
            place => place,
        };
        self.order.add_child(above, slot);
        if own == NONE {
            self.sources[at] = MatrixSource(above);
            return Ok(());
        }
        if self.order.is_below(above, own) {
            return Err(NeedsRebuild);
        }
        self.order.parent[own as usize] = above;
        self.sources[at] = MatrixSource::own(own);
        if !self.order.is_after(own, above) {
            self.move_subtree(own, moves);
        }
        Ok(())
    }

    /// Assigns a place to a leaf that gets children.
    fn promote(&mut self, at: usize, promoted: &mut Vec<u32>) -> u32 {
        let (parent, _) = self.sources[at].place();
        let place = self.allocate_place(at as u32, parent as u32);
        self.sources[at] = MatrixSource::own(place);
        promoted.push(at as u32);
        place
    }

    /// Frees the places of nodes without children, and marks chunks that have places.
    fn demote(&mut self, changes: &Changes) {
        for slot in changes.new_rows.iter().map(|new| new.slot as usize) {
            let place = self.order.place[slot];
            if place == NONE {
                continue;
            }
            let parent = self.order.parent[place as usize];
            if parent != NONE && self.order.children(place as usize).is_empty() {
                self.free_place(place);
                self.sources[slot] = MatrixSource(parent);
            } else {
                let number = self.chunk_at(slot).0;
                self.chunks[number].has_places = true;
            }
        }
    }

    /// Moves a place and all places below it, so that each is after its parent.
    fn move_subtree(&mut self, place: u32, moves: &mut Vec<(u32, u32)>) {
        let first = moves.len();
        self.move_place(place, moves);
        let mut next = first;
        while let Some(&(_, place)) = moves.get(next) {
            next += 1;
            for at in self.order.child_range(place) {
                let child = self.order.child_at(at) as usize;
                let own = self.order.place[child];
                if own == NONE {
                    self.sources[child] = MatrixSource(place);
                    continue;
                }
                self.order.parent[own as usize] = place;
                if !self.order.is_after(own, place) {
                    self.move_place(own, moves);
                }
            }
        }
    }

    fn move_place(&mut self, place: u32, moves: &mut Vec<(u32, u32)>) {
        let to = self.order.move_place(place);
        self.set_row(to);
        self.rows[place as usize] = NO_ROW;
        self.sources[self.order.nodes[to as usize] as usize] = MatrixSource::own(to);
        moves.push((place, to));
    }

    fn allocate_place(&mut self, slot: u32, parent: u32) -> u32 {
        let place = self.order.allocate_place(slot, parent);
        self.set_row(place);
        place
    }

    fn free_place(&mut self, place: u32) {
        self.order.free_place(place);
        self.rows[place as usize] = NO_ROW;
    }

    /// Sets the chunk and row of the node at a place.
    fn set_row(&mut self, place: u32) {
        let place = place as usize;
        if place >= self.rows.len() {
            self.rows.resize(place + 1, NO_ROW);
        }
        let slot = self.order.nodes[place];
        let (number, chunk) = self.chunk_at(slot as usize);
        self.rows[place] = (number as u32, slot - chunk.first);
        self.chunks[number].has_places = true;
    }

    /// Moves matrices to the new places of their nodes. Reads the matrices of new nodes from their entities.
    fn update_matrices_of_changes(
        &self,
        world: &World,
        node_matrices: &mut NodeMatrices,
        changes: &Changes,
    ) {
        let NodeMatrices { matrices, moved, rows, due } = node_matrices;
        rows.resize(self.dirty.len(), 0);
        due.resize(self.order.nodes.len().div_ceil(64), 0);
        matrices.resize(self.order.nodes.len(), Affine3A::IDENTITY);
        moved.resize(matrices.len(), false);
        for &(from, to) in &changes.moves {
            matrices[to as usize] = matrices[from as usize];
        }
        let written = world.lookup::<&LocalToWorld>();
        let custom = world.lookup::<&CustomLocalToWorld>();
        let new = changes.new_rows.iter().map(|new| new.slot);
        for slot in new.chain(changes.promoted.iter().copied()) {
            let Some(matrix) = matrices.get_mut(self.order.place[slot as usize] as usize) else {
                continue;
            };
            let entity = self.entities[slot as usize];
            *matrix = matrix_of(custom.get(entity), written.get(entity));
        }
    }
}

/// The row of a hole, which belongs to no chunk.
const NO_ROW: (u32, u32) = (NONE, 0);

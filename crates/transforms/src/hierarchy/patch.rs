//! What is known follows where few rows have changed.
//!
//! 1. who was in such a row is *taken* out, and compared with who is in such a row now: some are only in other rows
//! 2. who is gone, or has another parent, leaves the list of its parent's children
//! 3. the others keep their places, and are known by their new slots
//! 4. who has come, or has another parent, is *pending*, and is settled below its parent, after that
//!
//! It gives up where that is not enough: somebody is gone that others are below of who have stayed, or somebody has come whom others
//! have waited for.

use ancho_entities::{Entity, Version, World};
use glam::Affine3A;

use super::changes::{Changes, New};
use super::order::{NONE, Worn};
use super::rebuild::matrix_of;
use super::{Hierarchy, Places, Source};
use crate::components::{CustomLocalToWorld, LocalToWorld};

/// One who was in a row that has changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    entity: Entity,
    parent: Entity,
    is_root: bool,
    source: Source,
    /// The slot that it had.
    slot: u32,
    /// Where it is in the list of its parent.
    position: u32,
    /// Whether it is somewhere, and whether it has the same parent.
    is_back: bool,
    is_kept: bool,
}

/// What slots of entities begin with that are taken: the rest is the number of what was taken.
const TAKEN: u32 = 1 << 31;

impl Hierarchy {
    /// Has what is known follow what has changed since, and marks who has to be placed for that.
    ///
    /// If it gives up, all has to be made again.
    pub(super) fn patch(
        &mut self,
        world: &World,
        places: &mut Places,
        since: Version,
    ) -> Result<(), Worn> {
        let mut changes = std::mem::take(&mut self.changes);
        let done = self.try_patch(world, places, since, &mut changes);
        self.changes = changes;
        done
    }

    fn try_patch(
        &mut self,
        world: &World,
        places: &mut Places,
        since: Version,
        changes: &mut Changes,
    ) -> Result<(), Worn> {
        self.find_changes(world, since, changes)?;
        self.take_out(changes);
        self.leave_parents(changes)?;
        self.put_in(changes);
        self.settle_all(changes)?;
        self.demote(changes);
        if self.order.is_worn() || self.entities.len() > self.count * 2 + 64 * 64 {
            return Err(Worn);
        }
        // From here on nothing is given up: what is known of entities tells later who has changed.
        self.keep_places(world, places, changes);
        for taken in changes.taken.iter().filter(|taken| !taken.is_back) {
            self.forget(taken.entity);
        }
        for &New { slot, entity, .. } in &changes.new {
            let number = self.chunk_at(slot as usize).0;
            self.mark_new(number, slot as usize, self.round);
            // Of who rests nothing is known.
            if self.sources[slot as usize] == Source::REST {
                self.forget(entity);
            }
        }
        Ok(())
    }

    /// Lists who was in rows that have changed, and finds those of them that are in such a row now.
    fn take_out(&mut self, changes: &mut Changes) {
        let Changes { taken, old, new, .. } = changes;
        taken.clear();
        for (number, &slot) in (0..).zip(&*old) {
            let at = slot as usize;
            let entity = self.entities[at];
            taken.push(Taken {
                entity,
                parent: self.parent_entities[at],
                is_root: self.chunk_at(at).1.kind.is_root,
                source: self.sources[at],
                slot,
                position: 0,
                is_back: false,
                is_kept: false,
            });
            self.slots[entity.index() as usize] = TAKEN | number;
        }
        for new in new {
            let Some(number) = self.taken_number(new.entity) else { continue };
            if let Some(taken) = taken.get_mut(number).filter(|old| old.entity == new.entity) {
                let is_root = self.chunk_at(new.slot as usize).1.kind.is_root;
                taken.is_back = true;
                taken.is_kept = taken.parent == new.parent && taken.is_root == is_root;
            }
        }
    }

    fn taken_number(&self, entity: Entity) -> Option<usize> {
        let slot = *self.slots.get(entity.index() as usize)?;
        (slot != NONE && slot & TAKEN != 0).then_some((slot & !TAKEN) as usize)
    }

    /// Has those who are gone, or have another parent, leave the children of the parents that they had. All slots are still whose
    /// they were.
    fn leave_parents(&mut self, changes: &mut Changes) -> Result<(), Worn> {
        let Changes { taken, .. } = changes;
        for taken in taken.iter().filter(|taken| !taken.is_kept) {
            if taken.source == Source::REST {
                if !taken.parent.is_null() {
                    self.awaited[taken.parent.index() as usize] -= 1;
                }
                continue;
            }
            let (place, is_own) = taken.source.place();
            let above = if is_own { self.order.parent[place] } else { place as u32 };
            if above != NONE {
                self.order.remove_child(above, taken.slot);
            }
            if is_own {
                self.order.parent[place] = NONE;
            }
        }
        for taken in taken.iter().filter(|taken| !taken.is_back) {
            if let (place, true) = taken.source.place()
                && taken.source != Source::REST
            {
                if !self.order.children(place).is_empty() {
                    return Err(Worn);
                }
                self.leave_place(place as u32);
            }
        }
        for taken in &mut *taken {
            taken.position = self.order.position(taken.slot);
            let slot = taken.slot as usize;
            self.entities[slot] = Entity::NULL;
            self.parent_entities[slot] = Entity::NULL;
            self.sources[slot] = Source::REST;
            self.order.place[slot] = NONE;
            if !taken.is_back {
                self.slots[taken.entity.index() as usize] = NONE;
            }
        }
        Ok(())
    }

    /// Has those who are in rows that have changed be known by the slots of those.
    fn put_in(&mut self, changes: &mut Changes) {
        let Changes { taken, new, pending, .. } = changes;
        pending.clear();
        for &New { slot, entity, parent } in &*new {
            let before = self.taken_number(entity).and_then(|number| taken.get(number));
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
            let source = before.map_or(Source::REST, |before| before.source);
            let is_placed = source != Source::REST;
            if let (place, true) = source.place()
                && is_placed
            {
                self.order.renumber(place as u32, slot);
                self.rows[place] = (self.chunk_of[at / 64], slot - chunk.first);
            }
            match before.filter(|before| before.is_kept) {
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
                    self.sources[at] = Source::PENDING;
                    pending.push(slot);
                }
            }
        }
    }

    /// Has all that are pending be below their parents.
    fn settle_all(&mut self, changes: &mut Changes) -> Result<(), Worn> {
        let Changes { pending, line, promoted, moves, .. } = changes;
        promoted.clear();
        moves.clear();
        for &slot in &*pending {
            let mut at = slot as usize;
            line.clear();
            while self.sources[at] == Source::PENDING {
                // They are their own ancestors.
                if line.len() > pending.len() {
                    return Err(Worn);
                }
                line.push(at as u32);
                let Some(parent) = self.slot_of(self.parent_entities[at]) else { break };
                at = parent;
            }
            while let Some(slot) = line.pop() {
                self.settle(slot, promoted, moves)?;
            }
        }
        Ok(())
    }

    /// Has one that is pending be below its parent, which is not.
    fn settle(
        &mut self,
        slot: u32,
        promoted: &mut Vec<u32>,
        moves: &mut Vec<(u32, u32)>,
    ) -> Result<(), Worn> {
        let at = slot as usize;
        let own = self.order.place[at];
        let (entity, parent) = (self.entities[at], self.parent_entities[at]);
        if self.awaited.get(entity.index() as usize).is_some_and(|count| *count > 0) {
            return Err(Worn);
        }
        if self.chunk_at(at).1.kind.is_root {
            let own = if own == NONE { self.take_place(slot, NONE) } else { own };
            self.sources[at] = Source::own(own);
            return Ok(());
        }
        let above = self.slot_of(parent).filter(|above| self.sources[*above] != Source::REST);
        let Some(above) = above else {
            if own != NONE {
                if !self.order.children(own as usize).is_empty() {
                    return Err(Worn);
                }
                self.leave_place(own);
            }
            self.sources[at] = Source::REST;
            if !parent.is_null() {
                self.await_parent(parent);
            }
            return Ok(());
        };
        let above = match self.order.place[above] {
            NONE => self.promote(above, promoted),
            place => place,
        };
        self.order.add_child(above, slot);
        if own == NONE {
            self.sources[at] = Source(above);
            return Ok(());
        }
        if self.order.is_below(above, own) {
            return Err(Worn);
        }
        self.order.parent[own as usize] = above;
        self.sources[at] = Source::own(own);
        if !self.order.is_after(own, above) {
            self.change_places(own, moves);
        }
        Ok(())
    }

    /// Gives a leaf a place, since others come below it.
    fn promote(&mut self, at: usize, promoted: &mut Vec<u32>) -> u32 {
        let (parent, _) = self.sources[at].place();
        let place = self.take_place(at as u32, parent as u32);
        self.sources[at] = Source::own(place);
        promoted.push(at as u32);
        place
    }

    /// Takes their places from those that nobody is below of any more, and notes which chunks have others.
    fn demote(&mut self, changes: &Changes) {
        for slot in changes.new.iter().map(|new| new.slot as usize) {
            let place = self.order.place[slot];
            if place == NONE {
                continue;
            }
            let parent = self.order.parent[place as usize];
            if parent != NONE && self.order.children(place as usize).is_empty() {
                self.leave_place(place);
                self.sources[slot] = Source(parent);
            } else {
                let number = self.chunk_at(slot).0;
                self.chunks[number].has_places = true;
            }
        }
    }

    /// Has who is at a place, and all below it, be at others that come after those of their parents.
    fn change_places(&mut self, place: u32, moves: &mut Vec<(u32, u32)>) {
        let first = moves.len();
        self.change_place(place, moves);
        let mut next = first;
        while let Some(&(_, place)) = moves.get(next) {
            next += 1;
            for at in self.order.child_range(place) {
                let child = self.order.child_at(at) as usize;
                let own = self.order.place[child];
                if own == NONE {
                    self.sources[child] = Source(place);
                    continue;
                }
                self.order.parent[own as usize] = place;
                if !self.order.is_after(own, place) {
                    self.change_place(own, moves);
                }
            }
        }
    }

    fn change_place(&mut self, place: u32, moves: &mut Vec<(u32, u32)>) {
        let to = self.order.change_place(place);
        self.note_row(to);
        self.rows[place as usize] = NOWHERE;
        self.sources[self.order.nodes[to as usize] as usize] = Source::own(to);
        moves.push((place, to));
    }

    fn take_place(&mut self, slot: u32, parent: u32) -> u32 {
        let place = self.order.take_place(slot, parent);
        self.note_row(place);
        place
    }

    fn leave_place(&mut self, place: u32) {
        self.order.leave_place(place);
        self.rows[place as usize] = NOWHERE;
    }

    /// Notes the chunk and row of who is at a place.
    fn note_row(&mut self, place: u32) {
        let place = place as usize;
        if place >= self.rows.len() {
            self.rows.resize(place + 1, NOWHERE);
        }
        let slot = self.order.nodes[place];
        let (number, chunk) = self.chunk_at(slot as usize);
        self.rows[place] = (number as u32, slot - chunk.first);
        self.chunks[number].has_places = true;
    }

    /// Has all matrices be at the places that they are of, and those who have come have theirs.
    fn keep_places(&self, world: &World, places: &mut Places, changes: &Changes) {
        let Places { matrices, moved, rows, due } = places;
        rows.resize(self.dirty.len(), 0);
        due.resize(self.order.nodes.len().div_ceil(64), 0);
        matrices.resize(self.order.nodes.len(), Affine3A::IDENTITY);
        moved.resize(matrices.len(), false);
        for &(from, to) in &changes.moves {
            matrices[to as usize] = matrices[from as usize];
        }
        let written = world.lookup::<LocalToWorld>();
        let custom = world.lookup::<CustomLocalToWorld>();
        let new = changes.new.iter().map(|new| new.slot);
        for slot in new.chain(changes.promoted.iter().copied()) {
            let Some(matrix) = matrices.get_mut(self.order.place[slot as usize] as usize) else {
                continue;
            };
            let entity = self.entities[slot as usize];
            *matrix = matrix_of(custom.get(entity), written.get(entity));
        }
    }
}

/// Of a hole: in no chunk.
const NOWHERE: (u32, u32) = (NONE, 0);

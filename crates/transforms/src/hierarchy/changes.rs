//! Finds rows that others are in than before.
//!
//! Chunks whose rows may have changed say so by their versions. Each is compared with the slots that its rows had: which those are is
//! told by the rows that are still where they were. A chunk that has no slots, or too few, is given others.

use ancho_entities::{Entity, Version, World};

use super::rebuild::{RowData, kind_of, written};
use super::{Hierarchy, Kind, MayDiffer, NodeChunk, Nodes, Source, Touched};
use crate::order::Worn;
use crate::parent::PreviousParent;

/// Rows that others are in than before.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// How often changes were looked for.
    round: u32,
    /// The slots of those who were in such a row.
    pub(super) old: Vec<u32>,
    /// Who is in such a row now.
    pub(super) new: Vec<New>,
    /// Kept for their memory, by those who go on from here.
    pub(super) taken: Vec<super::patch::Taken>,
    pub(super) pending: Vec<u32>,
    pub(super) line: Vec<u32>,
    pub(super) promoted: Vec<u32>,
    pub(super) moves: Vec<(u32, u32)>,
}

impl Clone for Changes {
    /// The lists count for one update at most: they are not copied.
    fn clone(&self) -> Self {
        Self { round: self.round, ..Self::default() }
    }
}

/// Who is in a row that somebody else was in before, or nobody; or the same one with another parent, or of whom nothing is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct New {
    pub(super) slot: u32,
    pub(super) entity: Entity,
    pub(super) parent: Entity,
}

impl Hierarchy {
    /// Finds rows that others are in than before. Slots are still whose they were.
    pub(super) fn find_changes(
        &mut self,
        world: &World,
        since: Version,
        changes: &mut Changes,
    ) -> Result<(), Worn> {
        changes.round = changes.round.wrapping_add(1);
        changes.old.clear();
        changes.new.clear();
        // All rows would be others.
        if self.chunks.is_empty() {
            return Err(Worn);
        }
        let written = written(world);
        let mut nodes = world.query_filtered::<RowData, (Nodes, MayDiffer)>().since(since);
        // To go on from so many would take longer than to make all again.
        let most = self.count / 8 + 64;
        nodes.for_each_chunk(|rows| {
            if changes.new.len() <= most {
                let (found, previous, kind) = kind_of(rows, &written);
                self.compare(found, previous, kind, changes);
            }
        });
        if changes.new.len() > most {
            return Err(Worn);
        }
        if world.query_filtered::<(), Nodes>().count_unfiltered() != self.count {
            self.find_gone(world, changes);
        }
        Ok(())
    }

    /// Compares the rows of a chunk with those that it had.
    fn compare(
        &mut self,
        found: &[Entity],
        previous: Option<&[PreviousParent]>,
        kind: Kind,
        changes: &mut Changes,
    ) {
        let number = self.claim(found, kind, changes.round);
        let number = number.unwrap_or_else(|| self.give_slots(found.len(), kind));
        let chunk = &mut self.chunks[number];
        let (first, before) = (chunk.first as usize, chunk.len as usize);
        chunk.seen = changes.round;
        chunk.len = found.len() as u32;
        self.count = self.count + found.len() - before;
        for (row, &entity) in found.iter().enumerate() {
            let slot = first + row;
            let parent = previous.map_or(Entity::NULL, |previous| previous[row].0);
            // Beyond the rows that it had, slots are nobody's.
            let old = self.entities[slot];
            let is_same = old == entity
                && self.parent_entities[slot] == parent
                && (self.sources[slot] == Source::REST || self.is_known(entity));
            if is_same {
                continue;
            }
            if !old.is_null() {
                changes.old.push(slot as u32);
            }
            changes.new.push(New { slot: slot as u32, entity, parent });
        }
        changes.old.extend((found.len()..before).map(|row| (first + row) as u32));
    }

    /// Finds the chunk that has these rows: some of them are where they were. Nobody else has found it.
    fn claim(&self, found: &[Entity], kind: Kind, round: u32) -> Option<usize> {
        found.iter().enumerate().find_map(|(row, &entity)| {
            let slot = self.slot_of(entity)?;
            let (number, chunk) = self.chunk_at(slot);
            let is_free = chunk.seen != round && chunk.kind == kind;
            let fits = found.len() <= chunk.capacity as usize;
            (is_free && fits && chunk.first as usize + row == slot).then_some(number)
        })
    }

    /// Gives slots to a chunk with so many rows. Nobody is in them yet.
    fn give_slots(&mut self, len: usize, kind: Kind) -> usize {
        self.has_given |= !kind.is_written;
        let fits = |number: &u32| self.chunks[*number as usize].capacity as usize >= len;
        if let Some(at) = self.free_chunks.iter().position(fits) {
            let number = self.free_chunks.swap_remove(at) as usize;
            self.chunks[number].kind = kind;
            return number;
        }
        let first = self.entities.len();
        // Some more, for those that are still to come.
        let capacity = (len + len / 4).next_multiple_of(64);
        let number = self.chunks.len();
        let (first, end) = (first as u32, first + capacity);
        let (len, capacity) = (0, capacity as u32);
        let has_places = false;
        self.chunks.push(NodeChunk { first, len, capacity, kind, has_places, seen: 0 });
        self.chunk_of.resize(end / 64, number as u32);
        self.entities.resize(end, Entity::NULL);
        self.parent_entities.resize(end, Entity::NULL);
        self.sources.resize(end, Source::REST);
        self.order.grow(end);
        self.dirty.resize(end / 64, 0);
        self.touched.push(Touched::default());
        number
    }

    /// Finds chunks that are not there any more: all that were in them have left.
    fn find_gone(&mut self, world: &World, changes: &mut Changes) {
        let written = written(world);
        let mut nodes = world.query_filtered::<RowData, Nodes>();
        nodes.for_each_chunk(|rows| {
            let (found, _, kind) = kind_of(rows, &written);
            let Some(slot) = self.slot_of(found[0]) else { return };
            let (number, chunk) = self.chunk_at(slot);
            // A chunk that has changed and begins with one whom another chunk began with would have claimed that one. So this is
            // one that has not changed.
            let is_same = chunk.first as usize == slot
                && chunk.len as usize == found.len()
                && chunk.kind == kind;
            if is_same {
                self.chunks[number].seen = changes.round;
            }
        });
        for (number, chunk) in (0..).zip(&mut self.chunks) {
            if chunk.seen != changes.round && chunk.len > 0 {
                changes.old.extend(chunk.first..chunk.first + chunk.len);
                self.count -= chunk.len as usize;
                chunk.len = 0;
                chunk.has_places = false;
                self.free_chunks.push(number);
            }
        }
    }

    /// Whether what is known of an entity is so since all was made again.
    fn is_known(&self, entity: Entity) -> bool {
        let known = self.known.get(entity.index() as usize);
        known.is_some_and(|known| known.version == entity.version() && known.round == self.round)
    }
}

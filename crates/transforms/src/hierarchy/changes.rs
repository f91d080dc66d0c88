//! Finds rows whose entity or parent has changed.
//!
//! Versions show which chunks may have changed. Each of these chunks is compared with its slots, which are found by rows that have
//! not moved. A chunk without slots, or with too few slots, gets new ones.

use ancho_entities::{Entity, Parent, Version, World};

use super::order::NeedsRebuild;
use super::rebuild::{RowData, RowSlices, chunk_traits, computed_nodes};
use super::{ChunkTraits, Hierarchy, MatrixSource, MayDiffer, NodeChunk, Nodes, WriteFlag};

/// Rows whose entity or parent has changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The number of searches for changes so far.
    pass: u32,
    /// Slots of entities that were in changed rows.
    pub(super) old_slots: Vec<u32>,
    /// Entities that are in changed rows now.
    pub(super) new_rows: Vec<NewRow>,
    /// Scratch memory of the patch.
    pub(super) removed: Vec<super::patch::RemovedRow>,
    pub(super) pending: Vec<u32>,
    pub(super) ancestors: Vec<u32>,
    pub(super) promoted: Vec<u32>,
    pub(super) moves: Vec<(u32, u32)>,
}

impl Clone for Changes {
    /// Returns empty lists, because the contents are only valid during one update.
    fn clone(&self) -> Self {
        Self { pass: self.pass, ..Self::default() }
    }
}

/// An entity that has entered a row, has another parent, or has no current record.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewRow {
    pub(super) slot: u32,
    pub(super) entity: Entity,
    pub(super) parent: Entity,
}

impl Hierarchy {
    /// Finds changed rows. Slots keep their old entities.
    pub(super) fn find_changes(
        &mut self,
        world: &World,
        since: Version,
        changes: &mut Changes,
    ) -> Result<(), NeedsRebuild> {
        changes.pass = changes.pass.wrapping_add(1);
        changes.old_slots.clear();
        changes.new_rows.clear();
        // Without a cache, all rows would be new.
        if self.chunks.is_empty() {
            return Err(NeedsRebuild);
        }
        let computed = computed_nodes(world);
        // If more rows have changed, a rebuild is cheaper than a patch.
        let most = self.count / 8 + 64;
        let compare = |rows: RowSlices<'_>| {
            if changes.new_rows.len() <= most {
                let (found, parents, traits) = chunk_traits(rows, &computed);
                self.compare(found, parents, traits, changes);
            }
        };
        let nodes = world.query_filtered::<RowData, (Nodes, MayDiffer)>();
        nodes.since(since).for_each_chunk(compare);
        if changes.new_rows.len() > most {
            return Err(NeedsRebuild);
        }
        if world.query_filtered::<(), Nodes>().count_unfiltered() != self.count {
            self.find_removed_chunks(world, changes);
        }
        Ok(())
    }

    /// Compares the rows of a chunk with its slots.
    fn compare(
        &mut self,
        found: &[Entity],
        parents: Option<&[Parent]>,
        traits: ChunkTraits,
        changes: &mut Changes,
    ) {
        let number = self.find_chunk(found, traits, changes.pass);
        let number = number.unwrap_or_else(|| self.allocate_slots(found.len(), traits));
        let chunk = &mut self.chunks[number];
        let (first, before) = (chunk.first as usize, chunk.len as usize);
        chunk.last_pass = changes.pass;
        chunk.len = found.len() as u32;
        self.count = self.count + found.len() - before;
        for (row, &entity) in found.iter().enumerate() {
            let slot = first + row;
            let parent = parents.map_or(Entity::NULL, |parents| parents[row].0);
            // Slots beyond the old length are null.
            let old = self.entities[slot];
            let is_same = old == entity
                && self.parent_entities[slot] == parent
                && (self.sources[slot] == MatrixSource::INACTIVE || self.is_recorded(entity));
            if is_same {
                continue;
            }
            if !old.is_null() {
                changes.old_slots.push(slot as u32);
            }
            changes.new_rows.push(NewRow { slot: slot as u32, entity, parent });
        }
        changes.old_slots.extend((found.len()..before).map(|row| (first + row) as u32));
    }

    /// Finds a chunk that was not matched in this search and has some of these rows at the same place.
    fn find_chunk(&self, found: &[Entity], traits: ChunkTraits, pass: u32) -> Option<usize> {
        found.iter().enumerate().find_map(|(row, &entity)| {
            let slot = self.slot_of(entity)?;
            let (number, chunk) = self.chunk_at(slot);
            let is_free = chunk.last_pass != pass && chunk.traits == traits;
            let fits = found.len() <= chunk.capacity as usize;
            (is_free && fits && chunk.first as usize + row == slot).then_some(number)
        })
    }

    /// Allocates empty slots for a chunk of the given length.
    fn allocate_slots(&mut self, len: usize, traits: ChunkTraits) -> usize {
        self.has_external |= !traits.is_computed;
        let fits = |number: &u32| self.chunks[*number as usize].capacity as usize >= len;
        if let Some(at) = self.free_chunks.iter().position(fits) {
            let number = self.free_chunks.swap_remove(at) as usize;
            self.chunks[number].traits = traits;
            return number;
        }
        let first = self.entities.len();
        // Reserves room for more rows.
        let capacity = (len + len / 4).next_multiple_of(64);
        let number = self.chunks.len();
        let (first, end) = (first as u32, first + capacity);
        let (len, capacity) = (0, capacity as u32);
        let has_places = false;
        self.chunks.push(NodeChunk { first, len, capacity, traits, has_places, last_pass: 0 });
        self.chunk_of.resize(end / 64, number as u32);
        self.entities.resize(end, Entity::NULL);
        self.parent_entities.resize(end, Entity::NULL);
        self.sources.resize(end, MatrixSource::INACTIVE);
        self.order.grow(end);
        self.dirty.resize(end / 64, 0);
        self.touched.push(WriteFlag::default());
        number
    }

    /// Finds chunks that no longer exist. Adds all their slots to the old slots.
    fn find_removed_chunks(&mut self, world: &World, changes: &mut Changes) {
        let computed = computed_nodes(world);
        let mut nodes = world.query_filtered::<RowData, Nodes>();
        nodes.for_each_chunk(|rows| {
            let (found, _, traits) = chunk_traits(rows, &computed);
            let Some(slot) = self.slot_of(found[0]) else { return };
            let (number, chunk) = self.chunk_at(slot);
            // A changed chunk that begins with the first entity of a cached chunk was matched with it before. So this chunk has not
            // changed, and keeps its slots.
            let is_same = chunk.first as usize == slot
                && chunk.len as usize == found.len()
                && chunk.traits == traits;
            if is_same {
                self.chunks[number].last_pass = changes.pass;
            }
        });
        for (number, chunk) in (0..).zip(&mut self.chunks) {
            if chunk.last_pass != changes.pass && chunk.len > 0 {
                changes.old_slots.extend(chunk.first..chunk.first + chunk.len);
                self.count -= chunk.len as usize;
                chunk.len = 0;
                chunk.has_places = false;
                self.free_chunks.push(number);
            }
        }
    }

    /// Tests whether an entity has a record of the current build.
    fn is_recorded(&self, entity: Entity) -> bool {
        let record = self.records.get(entity.index() as usize);
        record.is_some_and(|record| {
            record.version == entity.version() && record.rebuild_count == self.rebuild_count
        })
    }
}

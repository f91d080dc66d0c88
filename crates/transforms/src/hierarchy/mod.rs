//! Cache of the hierarchies of a world: the locations of nodes, and the order in which their matrices are computed.
//!
//! Nodes are entities with a parent or children. Each node has a *slot*. The rows of a chunk have consecutive slots, and each chunk
//! begins at a multiple of 64, so that sets of rows are bit sets.
//!
//! Roots and nodes with children have a *place* in the [`Order`], which is also the index of their matrix. All other nodes are
//! *leaves*. A leaf stores only the place of its parent.
//!
//! When nodes are added, removed, moved or get other parents, [`changes`] finds the changed rows and [`patch`] updates the cache,
//! at a cost proportional to the changes. After many changes, or when the order is fragmented, [`rebuild`] builds the cache again.
//! Nodes that keep their parent keep their matrices in both cases.

mod changes;
#[cfg(test)]
mod check;
mod order;
mod patch;
mod rebuild;

use std::sync::atomic::{AtomicBool, Ordering};

use ancho_entities::{
    Any, Buffer, Changed, Child, Entity, Or, OrderChanged, Parent, Version, Without, World,
};
use glam::Affine3A;

use crate::components::{
    CustomLocalToWorld, Frozen, LocalToParent, LocalToWorld, Position, Rotation, Scale,
};
use crate::compose::InputData;
use crate::local_transform::LocalTransform;
use crate::scratch::{Reused, bits};
use changes::Changes;
use order::Order;
pub(crate) use order::{MAX_PARTS, NONE, Shape, Stage};

/// Entities with a parent or children.
pub(crate) type Nodes = Any<(Parent, Buffer<Child>)>;

/// Matches the chunks of all rows whose entity or parent may have changed.
type MayDiffer = Or<(OrderChanged, Changed<Parent>)>;

/// Nodes whose matrices this crate computes. The other nodes are *external*: other code writes their matrices.
pub(crate) type ComputedNodes = (
    Nodes,
    Any<(Position, Rotation, Scale, LocalTransform, Parent)>,
    Without<(Frozen, CustomLocalToWorld)>,
);

/// Nodes that have lost their matrix.
pub(crate) type LostMatrix = (
    Nodes,
    Any<(Position, Rotation, Scale, LocalTransform, Parent)>,
    Without<(LocalToWorld, CustomLocalToWorld)>,
);

/// Query data to compute the matrices of nodes.
pub(crate) type ComputedData =
    (Entity, &'static mut LocalToWorld, Option<&'static mut LocalToParent>, InputData);

/// The source of the matrix of a row.
///
/// | Number | Matrix of the row |
/// |---|---|
/// | [`MatrixSource::INACTIVE`] | unchanged |
/// | a place with the highest bit set | the matrix at this place, which is the row's own place |
/// | a place | the matrix at this place, which is that of the parent, times the local matrix of the row |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatrixSource(u32);

impl MatrixSource {
    pub(crate) const INACTIVE: Self = Self(u32::MAX);
    /// Source that is not resolved yet, during a patch.
    const PENDING: Self = Self(u32::MAX - 1);
    const OWN: u32 = 1 << 31;

    /// Returns the source of a node that has a place.
    fn own(place: u32) -> Self {
        Self(place | Self::OWN)
    }

    /// Returns the place, and whether it is the node's own. The place of an inactive node is out of bounds.
    #[inline(always)]
    pub(crate) fn place(self) -> (usize, bool) {
        ((self.0 & !Self::OWN) as usize, self.0 & Self::OWN != 0)
    }
}

/// Properties that all rows of a chunk share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkTraits {
    /// True if this crate computes the matrices.
    pub(crate) is_computed: bool,
    /// True if the rows have no parents.
    is_root: bool,
    /// Bit set of the input and output types.
    inputs: u8,
}

/// A chunk of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeChunk {
    /// The slot of the first row.
    pub(crate) first: u32,
    pub(crate) len: u32,
    /// The number of slots.
    capacity: u32,
    pub(crate) traits: ChunkTraits,
    /// True if rows may have a place in the order.
    pub(crate) has_places: bool,
    /// The number of the last search for changes that visited the chunk.
    last_pass: u32,
}

/// Properties of an entity at the last update of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NodeRecord {
    version: u32,
    /// The number of the rebuild to which the record belongs.
    rebuild_count: u32,
    parent: Entity,
    traits: ChunkTraits,
}

/// True if a chunk has rows to write.
#[derive(Debug, Default)]
struct WriteFlag(AtomicBool);

impl Clone for WriteFlag {
    fn clone(&self) -> Self {
        Self(AtomicBool::new(self.0.load(Ordering::Relaxed)))
    }
}

/// Cache of the hierarchies of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hierarchy {
    pub(crate) chunks: Vec<NodeChunk>,
    /// The chunk number of each block of 64 slots.
    chunk_of: Vec<u32>,
    /// The entity of each slot, or null.
    entities: Vec<Entity>,
    /// The slot of each entity, by index, or [`NONE`].
    slots: Vec<u32>,
    /// The matrix source of each slot.
    pub(crate) sources: Vec<MatrixSource>,
    pub(crate) order: Order,
    /// The chunk and row of each place.
    pub(crate) rows: Vec<(u32, u32)>,
    /// Rows with changed inputs, as one bit per slot.
    pub(crate) dirty: Vec<u64>,
    /// The chunks with rows to write.
    touched: Vec<WriteFlag>,
    /// The record of each entity, by index.
    records: Vec<NodeRecord>,
    /// The number of rebuilds so far.
    rebuild_count: u32,
    /// The number of inactive children of each parent, by index.
    inactive_children: Vec<u32>,
    /// Chunks that no longer exist, whose slots are free.
    free_chunks: Vec<u32>,
    changes: Changes,
    /// The number of nodes, including inactive ones.
    count: usize,
    pub(crate) has_external: bool,
    parents: Reused<Vec<u32>>,
    parent_entities: Vec<Entity>,
}

/// The matrices of all places. They are written while the rest of the cache is only read.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeMatrices {
    /// The matrix of each place.
    pub(crate) matrices: Vec<Affine3A>,
    /// For each place, true if its matrix has changed in this update.
    pub(crate) moved: Vec<bool>,
    /// The rows to write, as one bit per slot. Used if few nodes have moved.
    pub(crate) rows: Vec<u64>,
    /// The places to compute, as one bit per place. Used if few nodes have moved.
    pub(crate) due: Vec<u64>,
}

impl Hierarchy {
    /// Tests whether nodes have been added, removed or moved, or may have got other parents, since a version.
    ///
    /// Without changes, this costs a comparison of the versions of the chunks.
    pub(crate) fn is_outdated(&self, world: &World, since: Version) -> bool {
        world.query_filtered::<(), Nodes>().count_unfiltered() != self.count
            || !world.query_filtered::<(), (Nodes, MayDiffer)>().since(since).is_empty()
    }

    /// Removes the record of an entity, so that its matrix is computed as for a new entity.
    pub(crate) fn forget(&mut self, entity: Entity) {
        if let Some(record) = self.records.get_mut(entity.index() as usize) {
            *record = NodeRecord::default();
        }
    }

    /// Updates the cache, and marks nodes that are new or have another parent.
    pub(crate) fn refresh(
        &mut self,
        world: &World,
        node_matrices: &mut NodeMatrices,
        since: Version,
    ) {
        if self.patch(world, node_matrices, since).is_err() {
            self.rebuild(world, node_matrices);
        }
    }

    /// Returns the slot of a node.
    pub(crate) fn slot_of(&self, entity: Entity) -> Option<usize> {
        let slot = *self.slots.get(entity.index() as usize)? as usize;
        (self.entities.get(slot) == Some(&entity)).then_some(slot)
    }

    /// Returns the entity of a slot.
    pub(crate) fn entity_at(&self, slot: usize) -> Entity {
        self.entities[slot]
    }

    /// Returns the number of the chunk that contains a slot, and the chunk.
    pub(crate) fn chunk_at(&self, slot: usize) -> (usize, NodeChunk) {
        let number = self.chunk_of[slot / 64] as usize;
        (number, self.chunks[number])
    }

    /// Marks contiguous rows as changed. Ignores the change if the matrices of the rows do not depend on it: inputs only matter for
    /// computed matrices, and matrices only for external ones.
    pub(crate) fn mark(&mut self, entities: &[Entity], is_computed: bool) {
        // The slot is up to date, because the cache was refreshed before.
        let slot = entities.first().and_then(|first| self.slots.get(first.index() as usize));
        let Some(first) = slot.filter(|slot| **slot != NONE).map(|&slot| slot as usize) else {
            return;
        };
        let (number, chunk) = self.chunk_at(first);
        debug_assert_eq!(self.entities[first], entities[0]);
        if chunk.traits.is_computed == is_computed {
            bits::set(&mut self.dirty, &(first..first + entities.len()));
            *self.touched[number].0.get_mut() |= is_computed;
        }
    }

    /// Returns the number of marked rows, and of all rows.
    pub(crate) fn count_marked(&self) -> (usize, usize) {
        (self.dirty.iter().map(|word| word.count_ones() as usize).sum(), self.count)
    }

    /// Marks all chunks to be written.
    pub(crate) fn touch_all(&self) {
        self.touched.iter().for_each(|touched| touched.0.store(true, Ordering::Relaxed));
    }

    /// Marks the chunks of a place and of its leaves to be written.
    pub(crate) fn touch(&self, place: usize) {
        let mut last = self.rows[place].0;
        self.touch_chunk(last);
        for &child in self.order.children(place) {
            let chunk = self.chunk_of[child as usize / 64];
            // The children of a parent are usually in one chunk. Nodes with a place mark their own chunk.
            if chunk != last && self.order.place[child as usize] == NONE {
                self.touch_chunk(chunk);
                last = chunk;
            }
        }
    }

    fn touch_chunk(&self, chunk: u32) {
        self.touched[chunk as usize].0.store(true, Ordering::Relaxed);
    }

    /// Tests whether the chunk of these entities has rows to write.
    pub(crate) fn is_touched(&self, entities: &[Entity]) -> bool {
        let slot = entities.first().and_then(|&entity| self.slot_of(entity));
        slot.is_some_and(|slot| self.touched[self.chunk_at(slot).0].0.load(Ordering::Relaxed))
    }

    /// Marks the chunk of a row to be written.
    pub(crate) fn touch_row(&self, slot: u32) {
        self.touch_chunk(self.chunk_of[slot as usize / 64]);
    }

    /// Clears all marks.
    pub(crate) fn clear_marks(&mut self) {
        self.dirty.fill(0);
        self.touched.iter_mut().for_each(|touched| *touched.0.get_mut() = false);
    }
}

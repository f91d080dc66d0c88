//! Builds the cached hierarchy from all nodes.

use ancho_entities::{ChunkData, Entity, FilterWriteGroups, Parent, Query, QueryDescriptor, World};
use glam::Affine3A;

use super::order::NONE;
use super::{
    ChunkTraits, ComputedData, ComputedNodes, Hierarchy, MatrixSource, NodeChunk, NodeMatrices,
    NodeRecord, Nodes, WriteFlag,
};
use crate::components::{CustomLocalToWorld, LocalToParent, LocalToWorld};
use crate::compose::{InputData, Inputs};

impl Hierarchy {
    /// Builds the cache, and marks nodes that are new or have another parent.
    pub(super) fn rebuild(&mut self, world: &World, node_matrices: &mut NodeMatrices) {
        self.list_rows(world);
        self.find_parents();
        let Self { order, parents, sources, .. } = self;
        order.build(parents, |slot| sources[slot] != MatrixSource::INACTIVE);
        self.find_sources();
        self.count_inactive_children();
        self.read_matrices(world, node_matrices);
        self.mark_changed_nodes();
    }

    /// Assigns slots to all rows.
    fn list_rows(&mut self, world: &World) {
        let Self { chunks, chunk_of, entities, slots, parent_entities, sources, .. } = self;
        chunks.clear();
        chunk_of.clear();
        entities.clear();
        slots.fill(NONE);
        parent_entities.clear();
        // All sources are reset to the default until they are found.
        sources.clear();
        let mut count = 0;
        let computed = computed_nodes(world);
        let mut nodes = world.query_filtered::<RowData, Nodes>();
        nodes.for_each_chunk(|rows| {
            let (found, above, traits) = chunk_traits(rows, &computed);
            let (first, len) = (entities.len() as u32, found.len() as u32);
            chunk_of.extend((0..len.div_ceil(64)).map(|_| chunks.len() as u32));
            let capacity = len.next_multiple_of(64);
            chunks.push(NodeChunk {
                first,
                len,
                capacity,
                traits,
                has_places: false,
                last_pass: 0,
            });
            count += found.len();
            for (slot, entity) in (first..).zip(found) {
                let index = entity.index() as usize;
                if index >= slots.len() {
                    slots.resize((index + 1).next_power_of_two(), NONE);
                }
                slots[index] = slot;
            }
            entities.extend_from_slice(found);
            match above {
                Some(above) => {
                    parent_entities.extend(above.iter().map(|parent| parent.0));
                    sources.resize(entities.len(), MatrixSource::INACTIVE);
                }
                None => {
                    parent_entities.resize(entities.len(), Entity::NULL);
                    // Initialises rows as roots. Their places are assigned later.
                    sources.resize(entities.len(), MatrixSource(0));
                }
            }
            let end = chunk_of.len() * 64;
            entities.resize(end, Entity::NULL);
            parent_entities.resize(end, Entity::NULL);
            sources.resize(end, MatrixSource::INACTIVE);
        });
        self.count = count;
        self.has_external = self.chunks.iter().any(|chunk| !chunk.traits.is_computed);
        self.free_chunks.clear();
        self.dirty.clear();
        self.dirty.resize(self.chunk_of.len(), 0);
        self.touched.clear();
        self.touched.resize_with(self.chunks.len(), WriteFlag::default);
    }

    /// Finds the slots of parents. Inactive parents have none.
    fn find_parents(&mut self) {
        let mut parents = std::mem::take(&mut self.parents);
        parents.clear();
        // Children of one parent are usually contiguous.
        let mut last = (Entity::NULL, NONE);
        parents.extend(self.parent_entities.iter().map(|&parent| {
            if parent != last.0 {
                last = (parent, self.slot_of(parent).map_or(NONE, |slot| slot as u32));
            }
            last.1
        }));
        self.parents = parents;
    }

    /// Finds the matrix sources of rows, after places are assigned.
    fn find_sources(&mut self) {
        let Self { order, sources, parents, rows, chunks, chunk_of, .. } = self;
        for (slot, source) in sources.iter_mut().enumerate() {
            let (own, parent) = (order.place[slot], parents[slot]);
            *source = match (own, parent) {
                (NONE, NONE) => MatrixSource::INACTIVE,
                // A parent without a place is inactive, and so are its children.
                (NONE, parent) => MatrixSource(order.place[parent as usize]),
                (own, _) => MatrixSource::own(own),
            };
        }
        rows.clear();
        rows.extend(order.nodes.iter().map(|&slot| {
            let number = chunk_of[slot as usize / 64];
            let chunk = &mut chunks[number as usize];
            chunk.has_places = true;
            (number, slot - chunk.first)
        }));
    }

    /// Reads the matrices of all places from the entities, so that nodes that do not move keep their matrices.
    fn read_matrices(&self, world: &World, node_matrices: &mut NodeMatrices) {
        let NodeMatrices { matrices, moved, rows, due } = node_matrices;
        rows.clear();
        rows.resize(self.dirty.len(), 0);
        due.clear();
        due.resize(self.order.nodes.len().div_ceil(64), 0);
        matrices.resize(self.order.nodes.len(), Affine3A::IDENTITY);
        moved.clear();
        moved.resize(matrices.len(), false);
        let Self { slots, sources, .. } = self;
        type Matrices<'a> = (Entity, Option<&'a LocalToWorld>, Option<&'a CustomLocalToWorld>);
        let mut nodes = world.query_filtered::<Matrices<'_>, Nodes>();
        nodes.for_each_chunk(|(entities, written, custom)| {
            let first = slots[entities[0].index() as usize] as usize;
            for (row, source) in sources[first..][..entities.len()].iter().enumerate() {
                let (place, true) = source.place() else { continue };
                let Some(matrix) = matrices.get_mut(place) else { continue };
                *matrix = matrix_of(custom.map(|it| &it[row]), written.map(|it| &it[row]));
            }
        });
    }

    /// Counts the inactive children of each parent.
    fn count_inactive_children(&mut self) {
        self.inactive_children.fill(0);
        for slot in 0..self.sources.len() {
            let parent = self.parent_entities[slot];
            if self.sources[slot] == MatrixSource::INACTIVE && !parent.is_null() {
                self.add_inactive_child(parent);
            }
        }
    }

    /// Increments the number of inactive children of a parent.
    pub(super) fn add_inactive_child(&mut self, parent: Entity) {
        let index = parent.index() as usize;
        if index >= self.inactive_children.len() {
            self.inactive_children.resize((index + 1).next_power_of_two(), 0);
        }
        self.inactive_children[index] += 1;
    }

    /// Marks all nodes whose record has changed.
    fn mark_changed_nodes(&mut self) {
        let last = self.rebuild_count;
        self.rebuild_count = self.rebuild_count.wrapping_add(1);
        for number in 0..self.chunks.len() {
            let NodeChunk { first, len, .. } = self.chunks[number];
            for slot in first as usize..(first + len) as usize {
                self.mark_if_changed(number, slot, last);
            }
        }
    }

    /// Marks a node whose record differs from its record in the build `last`, and updates the record.
    #[inline]
    pub(super) fn mark_if_changed(&mut self, chunk: usize, slot: usize, last: u32) {
        if self.sources[slot] == MatrixSource::INACTIVE {
            return;
        }
        let (entity, parent) = (self.entities[slot], self.parent_entities[slot]);
        let index = entity.index() as usize;
        if index >= self.records.len() {
            self.records.resize((index + 1).next_power_of_two(), NodeRecord::default());
        }
        let (traits, version) = (self.chunks[chunk].traits, entity.version());
        if self.records[index] != (NodeRecord { version, rebuild_count: last, parent, traits }) {
            self.dirty[slot / 64] |= 1 << (slot % 64);
            *self.touched[chunk].0.get_mut() |= traits.is_computed;
        }
        self.records[index] =
            NodeRecord { version, rebuild_count: self.rebuild_count, parent, traits };
    }
}

/// Query data of the rows of a chunk.
pub(super) type RowData = (
    Entity,
    Option<&'static Parent>,
    InputData,
    Option<&'static LocalToParent>,
    Option<&'static CustomLocalToWorld>,
);

/// Slices of a query of [`RowData`].
pub(super) type RowSlices<'a> = <RowData as ChunkData>::Slices<'a>;

/// Returns the query of nodes whose matrices are computed.
pub(super) fn computed_nodes(world: &World) -> ComputedQuery<'_> {
    QueryDescriptor::of::<ComputedData, (ComputedNodes, FilterWriteGroups)>().query(world)
}

pub(super) type ComputedQuery<'w> = Query<'w, Entity>;

/// Returns the entities, parents and shared properties of a chunk.
pub(super) fn chunk_traits<'a>(
    (found, parents, inputs, to_parent, custom): RowSlices<'a>,
    computed: &ComputedQuery<'_>,
) -> (&'a [Entity], Option<&'a [Parent]>, ChunkTraits) {
    // The output types count as inputs, because a new output has to be written, or replaces the matrix.
    let inputs = Inputs::from(inputs).types()
        | u8::from(to_parent.is_some()) << 6
        | u8::from(custom.is_some()) << 7;
    let is_computed = computed.matches(found[0]);
    (found, parents, ChunkTraits { is_computed, is_root: parents.is_none(), inputs })
}

/// Returns the current matrix of a node. A custom matrix has precedence.
pub(super) fn matrix_of(
    custom: Option<&CustomLocalToWorld>,
    written: Option<&LocalToWorld>,
) -> Affine3A {
    match (custom, written) {
        (Some(custom), _) => Affine3A::from_mat4(custom.0),
        (None, Some(written)) => written.affine(),
        (None, None) => Affine3A::IDENTITY,
    }
}

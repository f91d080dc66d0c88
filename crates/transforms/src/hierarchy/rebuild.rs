//! All that is known is made again.

use ancho_entities::{ChunkData, Entity, FilterWriteGroups, Query, QueryDescriptor, World};
use glam::Affine3A;

use super::{
    Hierarchy, Kind, Known, NodeChunk, Nodes, Places, Source, Touched, Written, WrittenData,
};
use crate::compose::{InputData, Inputs};
use crate::order::NONE;
use crate::outputs::{CustomLocalToWorld, LocalToParent, LocalToWorld};
use crate::parent::PreviousParent;

impl Hierarchy {
    /// Looks at all nodes, and marks those that have to be placed since they have come or have another parent.
    pub(super) fn rebuild(&mut self, world: &World, places: &mut Places) {
        self.list_rows(world);
        self.find_parents();
        let Self { order, parents, sources, .. } = self;
        order.build(parents, |slot| sources[slot] != Source::REST);
        self.find_sources();
        self.count_awaited();
        self.keep_matrices(world, places);
        self.mark_news();
    }

    /// Gives slots to all rows.
    fn list_rows(&mut self, world: &World) {
        let Self { chunks, chunk_of, entities, slots, parent_entities, sources, .. } = self;
        chunks.clear();
        chunk_of.clear();
        entities.clear();
        slots.fill(NONE);
        parent_entities.clear();
        // Those of which it is not said otherwise below.
        sources.clear();
        let mut count = 0;
        let written = written(world);
        let mut nodes = world.query_filtered::<RowData, Nodes>();
        nodes.for_each_chunk(|rows| {
            let (found, previous, kind) = kind_of(rows, &written);
            let (first, len) = (entities.len() as u32, found.len() as u32);
            chunk_of.extend((0..len.div_ceil(64)).map(|_| chunks.len() as u32));
            let capacity = len.next_multiple_of(64);
            chunks.push(NodeChunk { first, len, capacity, kind, has_places: false, seen: 0 });
            count += found.len();
            for (slot, entity) in (first..).zip(found) {
                let index = entity.index() as usize;
                if index >= slots.len() {
                    slots.resize((index + 1).next_power_of_two(), NONE);
                }
                slots[index] = slot;
            }
            entities.extend_from_slice(found);
            match previous {
                Some(previous) => {
                    parent_entities.extend(previous.iter().map(|previous| previous.0));
                    sources.resize(entities.len(), Source::REST);
                }
                None => {
                    parent_entities.resize(entities.len(), Entity::NULL);
                    // Roots, whatever their places.
                    sources.resize(entities.len(), Source(0));
                }
            }
            let end = chunk_of.len() * 64;
            entities.resize(end, Entity::NULL);
            parent_entities.resize(end, Entity::NULL);
            sources.resize(end, Source::REST);
        });
        self.count = count;
        self.has_given = self.chunks.iter().any(|chunk| !chunk.kind.is_written);
        self.free_chunks.clear();
        self.dirty.clear();
        self.dirty.resize(self.chunk_of.len(), 0);
        self.touched.clear();
        self.touched.resize_with(self.chunks.len(), Touched::default);
    }

    /// Finds the slots of parents. Parents that take no part have none.
    fn find_parents(&mut self) {
        let mut parents = std::mem::take(&mut self.parents);
        parents.clear();
        // Those of one parent mostly follow each other.
        let mut last = (Entity::NULL, NONE);
        parents.extend(self.parent_entities.iter().map(|&parent| {
            if parent != last.0 {
                last = (parent, self.slot_of(parent).map_or(NONE, |slot| slot as u32));
            }
            last.1
        }));
        self.parents = parents;
    }

    /// Finds out what rows are made of, now that places are known.
    fn find_sources(&mut self) {
        let Self { order, sources, parents, rows, chunks, chunk_of, .. } = self;
        for (slot, source) in sources.iter_mut().enumerate() {
            let (own, parent) = (order.place[slot], parents[slot]);
            *source = match (own, parent) {
                (NONE, NONE) => Source::REST,
                // If the parent has no place, it rests, and so does what is below it.
                (NONE, parent) => Source(order.place[parent as usize]),
                (own, _) => Source::own(own),
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

    /// Has the matrices of all places be those that the entities have: who does not move keeps his.
    fn keep_matrices(&self, world: &World, places: &mut Places) {
        let Places { matrices, moved, rows, due } = places;
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

    /// Counts those that rest, by the parents that they wait for.
    fn count_awaited(&mut self) {
        self.awaited.fill(0);
        for slot in 0..self.sources.len() {
            let parent = self.parent_entities[slot];
            if self.sources[slot] == Source::REST && !parent.is_null() {
                self.await_parent(parent);
            }
        }
    }

    /// Notes that one more rests that has this parent.
    pub(super) fn await_parent(&mut self, parent: Entity) {
        let index = parent.index() as usize;
        if index >= self.awaited.len() {
            self.awaited.resize((index + 1).next_power_of_two(), 0);
        }
        self.awaited[index] += 1;
    }

    /// Marks all nodes of which what is known is not the same as the last time.
    fn mark_news(&mut self) {
        let last = self.round;
        self.round = self.round.wrapping_add(1);
        for number in 0..self.chunks.len() {
            let NodeChunk { first, len, .. } = self.chunks[number];
            for slot in first as usize..(first + len) as usize {
                self.mark_new(number, slot, last);
            }
        }
    }

    /// Marks a node that was not there in a round, or had another parent, or was placed by values of other types, and notes what is
    /// known of it now.
    #[inline]
    pub(super) fn mark_new(&mut self, chunk: usize, slot: usize, last: u32) {
        if self.sources[slot] == Source::REST {
            return;
        }
        let (entity, parent) = (self.entities[slot], self.parent_entities[slot]);
        let index = entity.index() as usize;
        if index >= self.known.len() {
            self.known.resize((index + 1).next_power_of_two(), Known::default());
        }
        let (kind, version) = (self.chunks[chunk].kind, entity.version());
        if self.known[index] != (Known { version, round: last, parent, kind }) {
            self.dirty[slot / 64] |= 1 << (slot % 64);
            *self.touched[chunk].0.get_mut() |= kind.is_written;
        }
        self.known[index] = Known { version, round: self.round, parent, kind };
    }
}

/// What is to be known of the rows of a chunk.
pub(super) type RowData = (
    Entity,
    Option<&'static PreviousParent>,
    InputData,
    Option<&'static LocalToParent>,
    Option<&'static CustomLocalToWorld>,
);

/// The same of some rows.
pub(super) type RowSlices<'a> = <RowData as ChunkData>::Slices<'a>;

/// The nodes whose matrices are written.
pub(super) fn written(world: &World) -> WrittenNodes<'_> {
    QueryDescriptor::of::<WrittenData, (Written, FilterWriteGroups)>().query(world)
}

pub(super) type WrittenNodes<'w> = Query<'w, Entity>;

/// What the rows of a chunk have in common, beside the entities and their parents.
pub(super) fn kind_of<'a>(
    (found, previous, inputs, to_parent, custom): RowSlices<'a>,
    written: &WrittenNodes<'_>,
) -> (&'a [Entity], Option<&'a [PreviousParent]>, Kind) {
    // Who comes to have one of the others has to be written, or is somewhere else, too.
    let inputs = Inputs::from(inputs).types()
        | u8::from(to_parent.is_some()) << 6
        | u8::from(custom.is_some()) << 7;
    let is_written = written.matches(found[0]);
    (found, previous, Kind { is_written, is_root: previous.is_none(), inputs })
}

/// The matrix that a node has: its own one goes before one that is written here.
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

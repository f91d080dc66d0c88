//! What is known of the hierarchies of a world: where their nodes are, and in which order they are placed.
//!
//! Nodes are entities that have a parent, or children. Each has a *slot*, by where it lies: the rows of a chunk have slots one after
//! the other, and those of each chunk begin at a multiple of 64, so that what is marked of rows are bits of words.
//!
//! Nodes that others are below of, and roots, have a *place* in the [`Order`], by which their matrices are kept, too. All others are
//! *leaves*, which are most of them: a leaf only has to know the place of its parent.
//!
//! All of this is made again when nodes have come, gone or moved, or have other parents. What has been placed before and has kept its
//! parent need not be placed again for that.

use std::sync::atomic::{AtomicBool, Ordering};

use ancho_entities::{Any, Buffer, Entity, OrderChanged, QueryRef, Version, Without, World};
use glam::Affine3A;

use crate::bits;
use crate::compose::{InputData, Inputs};
use crate::freeze::Frozen;
use crate::inputs::{Position, Rotation, Scale};
use crate::local_transform::LocalTransform;
use crate::order::{NONE, Order};
use crate::outputs::{CustomLocalToWorld, LocalToParent, LocalToWorld};
use crate::parent::{Child, Parent, PreviousParent};

/// Entities that have a parent, or children.
pub(crate) type Nodes = Any<(PreviousParent, Buffer<Child>)>;

/// Nodes whose matrices are written here. Those of the others are given, by whoever writes them.
pub(crate) type Written = (
    Nodes,
    Any<(Position, Rotation, Scale, LocalTransform, Parent)>,
    Without<(Frozen, CustomLocalToWorld)>,
);

/// Nodes that should have a matrix, and have lost it.
type Lost = (
    Nodes,
    Any<(Position, Rotation, Scale, LocalTransform, Parent)>,
    Without<(LocalToWorld, CustomLocalToWorld)>,
);

/// What is written of nodes, and what by.
pub(crate) type WrittenData =
    (Entity, &'static mut LocalToWorld, Option<&'static mut LocalToParent>, InputData);

/// What a row is made of.
///
/// | | |
/// |---|---|
/// | [`Source::REST`] | nothing: it is left as it is |
/// | the highest bit, and a place | the matrix at the place, which is its own |
/// | a place | the matrix at the place, which is its parent's, and what it is placed by |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source(u32);

impl Source {
    pub(crate) const REST: Self = Self(u32::MAX);
    const OWN: u32 = 1 << 31;

    /// The place, and whether it is its own. Of who rests it is no place that there is.
    #[inline(always)]
    pub(crate) fn place(self) -> (usize, bool) {
        ((self.0 & !Self::OWN) as usize, self.0 & Self::OWN != 0)
    }
}

/// A chunk with nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeChunk {
    /// The slot of its first row.
    pub(crate) first: u32,
    pub(crate) len: u32,
    /// Whether its matrices are written here.
    pub(crate) is_written: bool,
    /// What its rows are placed by, and what is made of it: a bit for each type.
    inputs: u8,
}

/// What was known of an entity when the hierarchies were last looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    version: u32,
    /// When that was.
    round: u32,
    parent: Entity,
    is_written: bool,
    inputs: u8,
}

/// What is known of the hierarchies of a world.
#[derive(Debug, Default)]
pub(crate) struct Hierarchy {
    pub(crate) chunks: Vec<NodeChunk>,
    /// Which chunk the slots of each 64 are of.
    chunk_of: Vec<u32>,
    /// Which entity has a slot, or null.
    entities: Vec<Entity>,
    /// The slot of each entity, by its index, or [`NONE`].
    slots: Vec<u32>,
    /// What each slot is made of.
    pub(crate) sources: Vec<Source>,
    pub(crate) order: Order,
    /// The chunk and row of each place.
    pub(crate) rows: Vec<(u32, u32)>,
    /// The chunks that the leaves below each place are in: from where on in the list.
    leaf_chunks: Vec<u32>,
    leaf_chunk_list: Vec<u32>,
    /// Which rows have other values than before: a bit for each slot.
    pub(crate) dirty: Vec<u64>,
    /// Which chunks have rows that are to be written.
    touched: Vec<AtomicBool>,
    /// What was known of entities, by their index.
    known: Vec<Known>,
    round: u32,
    /// How many nodes there are, whether or not they rest.
    count: usize,
    pub(crate) has_given: bool,
    /// Kept for its memory.
    parents: Vec<u32>,
    parent_entities: Vec<Entity>,
}

/// The matrices of all places, which are written while the rest of what is known is read.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The matrix of each place.
    pub(crate) matrices: Vec<Affine3A>,
    /// Whether the matrix of each place has just changed.
    pub(crate) moved: Vec<bool>,
    /// If few have moved: the rows that are to be written, a bit for each slot.
    pub(crate) rows: Vec<u64>,
    /// If few have moved: the places that are to be looked at, a bit for each.
    pub(crate) due: Vec<u64>,
}

impl Hierarchy {
    /// Whether nodes have come, gone or moved since: what is known of them has to be made again.
    pub(crate) fn is_outdated(&self, world: &World, since: Version) -> bool {
        let nodes = || world.query::<()>().filter::<Nodes>();
        nodes().count_unfiltered() != self.count
            || !nodes().filter::<OrderChanged>().since(since).is_empty()
    }

    /// Forgets what is known of nodes that have lost their matrices. They get others, which are nowhere yet, so that they have to be
    /// placed as if they had just come.
    pub(crate) fn forget_lost(&mut self, world: &World) {
        let lost = world.query::<Entity>().filter::<Lost>();
        lost.for_each(|entity| self.forget(entity));
    }

    /// Forgets what is known of an entity, so that it has to be placed as if it had just come.
    pub(crate) fn forget(&mut self, entity: Entity) {
        if let Some(known) = self.known.get_mut(entity.index() as usize) {
            *known = Known::default();
        }
    }

    /// Looks at all nodes, and marks those that have to be placed since they have come or have another parent.
    pub(crate) fn rebuild(&mut self, world: &World, places: &mut Places) {
        self.list_rows(world);
        self.find_parents();
        let Self { order, parents, sources, .. } = self;
        order.build(parents, |slot| sources[slot] != Source::REST);
        self.find_sources();
        self.list_leaf_chunks();
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
        type Data<'a> = (
            Entity,
            Option<&'a PreviousParent>,
            InputData,
            Option<&'a LocalToParent>,
            Option<&'a CustomLocalToWorld>,
        );
        let nodes = world.query::<Data<'_>>().filter::<Nodes>();
        nodes.for_each_chunk(|(found, previous, inputs, to_parent, custom)| {
            let first = entities.len() as u32;
            let is_written = written.matches(found[0]);
            chunk_of.extend((0..found.len().div_ceil(64)).map(|_| chunks.len() as u32));
            // Who comes to have one of the others has to be written, or is somewhere else, too.
            let inputs = Inputs::from(inputs).types()
                | u8::from(to_parent.is_some()) << 6
                | u8::from(custom.is_some()) << 7;
            chunks.push(NodeChunk { first, len: found.len() as u32, is_written, inputs });
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
        self.has_given = self.chunks.iter().any(|chunk| !chunk.is_written);
        self.dirty.clear();
        self.dirty.resize(self.chunk_of.len(), 0);
        self.touched.clear();
        self.touched.resize_with(self.chunks.len(), AtomicBool::default);
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
                (own, _) => Source(own | Source::OWN),
            };
        }
        rows.clear();
        rows.extend(order.nodes.iter().map(|&slot| {
            let chunk = chunk_of[slot as usize / 64];
            (chunk, slot - chunks[chunk as usize].first)
        }));
    }

    /// Lists the chunks that the leaves below each place are in.
    fn list_leaf_chunks(&mut self) {
        let Self { order, leaf_chunks, leaf_chunk_list, chunk_of, .. } = self;
        leaf_chunks.clear();
        leaf_chunk_list.clear();
        for &node in &order.nodes {
            let first = leaf_chunk_list.len();
            leaf_chunks.push(first as u32);
            for &child in order.children(node) {
                let chunk = chunk_of[child as usize / 64];
                let is_leaf = order.place[child as usize] == NONE;
                // Those of one parent are mostly in one chunk, or follow each other.
                if is_leaf && leaf_chunk_list[first..].last() != Some(&chunk) {
                    leaf_chunk_list.push(chunk);
                }
            }
        }
        leaf_chunks.push(leaf_chunk_list.len() as u32);
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
        let nodes = world.query::<Matrices<'_>>().filter::<Nodes>();
        nodes.for_each_chunk(|(entities, written, custom)| {
            let first = slots[entities[0].index() as usize] as usize;
            for (row, source) in sources[first..][..entities.len()].iter().enumerate() {
                let (place, true) = source.place() else { continue };
                let Some(matrix) = matrices.get_mut(place) else { continue };
                *matrix = match (custom, written) {
                    (Some(custom), _) => Affine3A::from_mat4(custom[row].0),
                    (None, Some(written)) => written[row].affine(),
                    (None, None) => Affine3A::IDENTITY,
                };
            }
        });
    }

    /// Marks nodes that were not there the last time, or had another parent, or were placed by values of other types.
    fn mark_news(&mut self) {
        let Self { chunks, entities, sources, parent_entities, known, dirty, touched, .. } = self;
        let last = self.round;
        self.round = self.round.wrapping_add(1);
        for (number, chunk) in chunks.iter().enumerate() {
            for slot in chunk.first as usize..(chunk.first + chunk.len) as usize {
                if sources[slot] == Source::REST {
                    continue;
                }
                let (entity, parent) = (entities[slot], parent_entities[slot]);
                let index = entity.index() as usize;
                if index >= known.len() {
                    known.resize((index + 1).next_power_of_two(), Known::default());
                }
                let NodeChunk { is_written, inputs, .. } = *chunk;
                let version = entity.version();
                if known[index] != (Known { version, round: last, parent, is_written, inputs }) {
                    dirty[slot / 64] |= 1 << (slot % 64);
                    *touched[number].get_mut() |= is_written;
                }
                known[index] = Known { version, round: self.round, parent, is_written, inputs };
            }
        }
    }

    /// The slot of an entity that is a node.
    pub(crate) fn slot_of(&self, entity: Entity) -> Option<usize> {
        let slot = *self.slots.get(entity.index() as usize)? as usize;
        (self.entities.get(slot) == Some(&entity)).then_some(slot)
    }

    /// The entity that has a slot.
    pub(crate) fn entity_at(&self, slot: usize) -> Entity {
        self.entities[slot]
    }

    /// The chunk that a slot is of, and its number.
    pub(crate) fn chunk_at(&self, slot: usize) -> (usize, NodeChunk) {
        let number = self.chunk_of[slot / 64] as usize;
        (number, self.chunks[number])
    }

    /// Marks rows that lie side by side as having other values, if those count: what they are placed by where it is written, and
    /// their matrices where those are given.
    pub(crate) fn mark(&mut self, entities: &[Entity], is_written: bool) {
        // That it is this entity and no earlier one was settled when nothing was found to have come or gone.
        let slot = entities.first().and_then(|first| self.slots.get(first.index() as usize));
        let Some(first) = slot.filter(|slot| **slot != NONE).map(|&slot| slot as usize) else {
            return;
        };
        let (number, chunk) = self.chunk_at(first);
        debug_assert_eq!(self.entities[first], entities[0]);
        if chunk.is_written == is_written {
            bits::set(&mut self.dirty, &(first..first + entities.len()));
            *self.touched[number].get_mut() |= is_written;
        }
    }

    /// How many rows are marked, of how many.
    pub(crate) fn count_marked(&self) -> (usize, usize) {
        (self.dirty.iter().map(|word| word.count_ones() as usize).sum(), self.count)
    }

    /// Notes that all matrices have changed.
    pub(crate) fn touch_all(&self) {
        self.touched.iter().for_each(|touched| touched.store(true, Ordering::Relaxed));
    }

    /// Notes that the matrix at a place has changed: rows in these chunks are to be written.
    pub(crate) fn touch(&self, place: usize) {
        let of = self.leaf_chunks[place] as usize..self.leaf_chunks[place + 1] as usize;
        self.touch_chunk(self.rows[place].0);
        self.leaf_chunk_list[of].iter().for_each(|&chunk| self.touch_chunk(chunk));
    }

    fn touch_chunk(&self, chunk: u32) {
        self.touched[chunk as usize].store(true, Ordering::Relaxed);
    }

    /// Whether rows of the chunk of these entities are to be written.
    pub(crate) fn is_touched(&self, entities: &[Entity]) -> bool {
        let slot = entities.first().and_then(|&entity| self.slot_of(entity));
        slot.is_some_and(|slot| self.touched[self.chunk_at(slot).0].load(Ordering::Relaxed))
    }

    /// Notes that a row is to be written.
    pub(crate) fn touch_row(&self, slot: u32) {
        self.touch_chunk(self.chunk_of[slot as usize / 64]);
    }

    /// Forgets what has changed: it is done.
    pub(crate) fn clear_marks(&mut self) {
        self.dirty.fill(0);
        self.touched.iter_mut().for_each(|touched| *touched.get_mut() = false);
    }
}

/// The nodes whose matrices are written.
fn written(world: &World) -> QueryRef<'_, WrittenData, ((), Written)> {
    world.query::<WrittenData>().filter::<Written>().filter_write_groups()
}

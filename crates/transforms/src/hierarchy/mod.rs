//! What is known of the hierarchies of a world: where their nodes are, and in which order they are placed.
//!
//! Nodes are entities that have a parent, or children. Each has a *slot*, by where it lies: the rows of a chunk have slots one after
//! the other, and those of each chunk begin at a multiple of 64, so that what is marked of rows are bits of words.
//!
//! Nodes that others are below of, and roots, have a *place* in the [`Order`], by which their matrices are kept, too. All others are
//! *leaves*, which are most of them: a leaf only has to know the place of its parent.
//!
//! When nodes have come, gone or moved, or have other parents, what is known follows: [`changes`] finds the rows that others are in
//! than before, and [`patch`] goes on from there, which costs what has changed. If that is much, or what is known has been patched so
//! often that it is full of holes, all of it is made again, which is [`rebuild`]. Either way, what has been placed before and has kept
//! its parent need not be placed again.

mod changes;
#[cfg(test)]
mod check;
mod patch;
mod rebuild;

use std::sync::atomic::{AtomicBool, Ordering};

use ancho_entities::{Any, Buffer, Changed, Entity, Or, OrderChanged, Version, Without, World};
use glam::Affine3A;

use crate::bits;
use crate::compose::InputData;
use crate::freeze::Frozen;
use crate::inputs::{Position, Rotation, Scale};
use crate::local_transform::LocalTransform;
use crate::order::{NONE, Order};
use crate::outputs::{CustomLocalToWorld, LocalToParent, LocalToWorld};
use crate::parent::{Child, Parent, PreviousParent};
use crate::reused::Reused;
use changes::Changes;

/// Entities that have a parent, or children.
pub(crate) type Nodes = Any<(PreviousParent, Buffer<Child>)>;

/// What is true of the chunks of all rows that others are in than before, or whose entities have other parents.
type MayDiffer = Or<(OrderChanged, Changed<PreviousParent>)>;

/// Nodes whose matrices are written here. Those of the others are given, by whoever writes them.
pub(crate) type Written = (
    Nodes,
    Any<(Position, Rotation, Scale, LocalTransform, Parent)>,
    Without<(Frozen, CustomLocalToWorld)>,
);

/// Nodes that should have a matrix, and have lost it.
pub(crate) type Lost = (
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
    /// It is not known yet, while others are found out.
    const PENDING: Self = Self(u32::MAX - 1);
    const OWN: u32 = 1 << 31;

    /// Its own matrix.
    fn own(place: u32) -> Self {
        Self(place | Self::OWN)
    }

    /// The place, and whether it is its own. Of who rests it is no place that there is.
    #[inline(always)]
    pub(crate) fn place(self) -> (usize, bool) {
        ((self.0 & !Self::OWN) as usize, self.0 & Self::OWN != 0)
    }
}

/// What the rows of a chunk have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Whether its matrices are written here.
    pub(crate) is_written: bool,
    /// Whether they have no parents.
    is_root: bool,
    /// What its rows are placed by, and what is made of it: a bit for each type.
    inputs: u8,
}

/// A chunk with nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeChunk {
    /// The slot of its first row.
    pub(crate) first: u32,
    pub(crate) len: u32,
    /// How many slots it has.
    capacity: u32,
    pub(crate) kind: Kind,
    /// Whether some of its rows may have a place in the order.
    pub(crate) has_places: bool,
    /// When changes were last looked for in it.
    seen: u32,
}

/// What was known of an entity when the hierarchies were last looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    version: u32,
    /// When that was.
    round: u32,
    parent: Entity,
    kind: Kind,
}

/// Whether a chunk has rows that are to be written.
#[derive(Debug, Default)]
struct Touched(AtomicBool);

impl Clone for Touched {
    fn clone(&self) -> Self {
        Self(AtomicBool::new(self.0.load(Ordering::Relaxed)))
    }
}

/// What is known of the hierarchies of a world.
#[derive(Clone, Debug, Default)]
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
    /// Which rows have other values than before: a bit for each slot.
    pub(crate) dirty: Vec<u64>,
    /// Which chunks have rows that are to be written.
    touched: Vec<Touched>,
    /// What was known of entities, by their index.
    known: Vec<Known>,
    /// How often all was made again.
    round: u32,
    /// How many that rest have a parent with this index.
    awaited: Vec<u32>,
    /// Chunks that are gone, whose slots are free.
    free_chunks: Vec<u32>,
    changes: Changes,
    /// How many nodes there are, whether or not they rest.
    count: usize,
    pub(crate) has_given: bool,
    parents: Reused<Vec<u32>>,
    parent_entities: Vec<Entity>,
}

/// The matrices of all places, which are written while the rest of what is known is read.
#[derive(Clone, Debug, Default)]
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
    /// Whether nodes have come, gone or moved since: what is known of them has to follow. Who has another parent is known to
    /// whoever has looked at the links.
    pub(crate) fn is_outdated(&self, world: &World, since: Version) -> bool {
        world.query_filtered::<(), Nodes>().count_unfiltered() != self.count
            || !world.query_filtered::<(), (Nodes, OrderChanged)>().since(since).is_empty()
    }

    /// Forgets what is known of an entity, so that it has to be placed as if it had just come.
    pub(crate) fn forget(&mut self, entity: Entity) {
        if let Some(known) = self.known.get_mut(entity.index() as usize) {
            *known = Known::default();
        }
    }

    /// Has what is known be what is there, and marks nodes that have to be placed since they have come or have another parent.
    pub(crate) fn refresh(&mut self, world: &World, places: &mut Places, since: Version) {
        if self.patch(world, places, since).is_err() {
            self.rebuild(world, places);
        }
    }

    /// The slot of an entity that is a node.
    pub(crate) fn slot_of(&self, entity: Entity) -> Option<usize> {
        let slot = *self.slots.get(entity.index() as usize)? as usize;
        (self.entities.get(slot) == Some(&entity)).then_some(slot)
    }

    /// The previous parent that a node had when the hierarchies were last looked at, or null.
    pub(crate) fn parent_of(&self, entity: Entity) -> Option<Entity> {
        self.slot_of(entity).map(|slot| self.parent_entities[slot])
    }

    /// The number of nodes below a node when the hierarchies were last looked at. Those that rest do not count.
    pub(crate) fn child_count(&self, entity: Entity) -> usize {
        let place = self.slot_of(entity).map(|slot| self.order.place[slot]);
        place
            .filter(|place| *place != NONE)
            .map_or(0, |place| self.order.children(place as usize).len())
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
        if chunk.kind.is_written == is_written {
            bits::set(&mut self.dirty, &(first..first + entities.len()));
            *self.touched[number].0.get_mut() |= is_written;
        }
    }

    /// How many rows are marked, of how many.
    pub(crate) fn count_marked(&self) -> (usize, usize) {
        (self.dirty.iter().map(|word| word.count_ones() as usize).sum(), self.count)
    }

    /// Notes that all matrices have changed.
    pub(crate) fn touch_all(&self) {
        self.touched.iter().for_each(|touched| touched.0.store(true, Ordering::Relaxed));
    }

    /// Notes that the matrix at a place has changed: rows in its chunk and in those of its leaves are to be written.
    pub(crate) fn touch(&self, place: usize) {
        let mut last = self.rows[place].0;
        self.touch_chunk(last);
        for &child in self.order.children(place) {
            let chunk = self.chunk_of[child as usize / 64];
            // Those of one parent are mostly in one chunk. Of others it is said at their own places.
            if chunk != last && self.order.place[child as usize] == NONE {
                self.touch_chunk(chunk);
                last = chunk;
            }
        }
    }

    fn touch_chunk(&self, chunk: u32) {
        self.touched[chunk as usize].0.store(true, Ordering::Relaxed);
    }

    /// Whether rows of the chunk of these entities are to be written.
    pub(crate) fn is_touched(&self, entities: &[Entity]) -> bool {
        let slot = entities.first().and_then(|&entity| self.slot_of(entity));
        slot.is_some_and(|slot| self.touched[self.chunk_at(slot).0].0.load(Ordering::Relaxed))
    }

    /// Notes that a row is to be written.
    pub(crate) fn touch_row(&self, slot: u32) {
        self.touch_chunk(self.chunk_of[slot as usize / 64]);
    }

    /// Forgets what has changed: it is done.
    pub(crate) fn clear_marks(&mut self) {
        self.dirty.fill(0);
        self.touched.iter_mut().for_each(|touched| *touched.0.get_mut() = false);
    }
}

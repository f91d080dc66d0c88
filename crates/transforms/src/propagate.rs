//! Places the nodes of hierarchies that have moved.
//!
//! First the matrices of all that others are below of, level by level; then, chunk by chunk, those of all rows, which are made of
//! them. Leaves, which are most, are only touched by the second, in the order of memory. All threads do both, if there is enough to
//! do.

use std::sync::Arc;

use ancho_entities::{Changed, Entity, EntityError, FilterWriteGroups, Version, World};
use glam::{Affine3A, Mat4};

use crate::compose::{AllInputs, Inputs, WithLocal, is_finite};
use crate::hierarchy::{Hierarchy, Nodes, Places, Source, Written, WrittenData};
use crate::inner::{self, Placed};
use crate::not_finite::NotFinite;
use crate::outputs::{CustomLocalToWorld, LocalToParent, LocalToWorld};
use crate::state::Placement;

/// What is kept from one update to the next for its memory.
#[derive(Default)]
pub(crate) struct Buffers {
    chunks: Vec<Placed<'static>>,
    found: Vec<&'static [Entity]>,
}

impl Clone for Buffers {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Buffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffers").finish_non_exhaustive()
    }
}

/// Places the nodes that have moved since, and those below them.
pub(crate) fn update(
    world: &mut World,
    placement: &mut Arc<Placement>,
    buffers: &mut Buffers,
    since: Version,
    bad: &NotFinite,
) -> Result<(), EntityError> {
    mark_changed(world, placement, buffers, since);
    let (marked, all) = placement.hierarchy.count_marked();
    if marked == 0 {
        return Ok(());
    }
    let Placement { hierarchy, places } = Arc::make_mut(placement);
    let are_few = marked * SPARSE < all;
    let are_few = inner::place(world, hierarchy, places, &mut buffers.chunks, are_few, bad);
    let done = place_rows(world, hierarchy, places, are_few, bad);
    hierarchy.clear_marks();
    if are_few {
        places.rows.fill(0);
    }
    done
}

/// One of how many rows must have changed at least so that all are looked at: then threads do it. If there are fewer, only those
/// are looked at that are below them.
const SPARSE: usize = 32;

/// Marks rows of which something has changed.
fn mark_changed(
    world: &World,
    placement: &mut Arc<Placement>,
    buffers: &mut Buffers,
    since: Version,
) {
    let has_given = placement.hierarchy.has_given;
    let mut mark = |found: &mut Vec<&[Entity]>, is_written| {
        // At rest, what a fork shares is not copied.
        if !found.is_empty() {
            let hierarchy = &mut Arc::make_mut(placement).hierarchy;
            found.drain(..).for_each(|entities| hierarchy.mark(entities, is_written));
        }
    };
    // They are listed before any is looked at: then several can be on their way from memory at the same time.
    let mut found: Vec<&[Entity]> = std::mem::take(&mut buffers.found);
    let moved = world.query_filtered::<Entity, (Nodes, Changed<AllInputs>)>().since(since);
    moved.for_each_chunk_inner(|entities| found.push(entities));
    mark(&mut found, true);
    if has_given {
        type Given = Changed<(LocalToWorld, CustomLocalToWorld)>;
        let given = world.query_filtered::<Entity, (Nodes, Given)>().since(since);
        given.for_each_chunk_inner(|entities| found.push(entities));
        mark(&mut found, false);
    }
    // In place: the list keeps its memory, and nothing that was in it.
    buffers.found = found.into_iter().map(|_| [].as_slice()).collect();
}

/// Writes the matrices of all rows that have moved.
fn place_rows(
    world: &mut World,
    hierarchy: &Hierarchy,
    places: &Places,
    are_few: bool,
    bad: &NotFinite,
) -> Result<(), EntityError> {
    let Places { matrices, moved, rows, .. } = places;
    let mut nodes = world.query_filtered_mut::<WrittenData, (Written, FilterWriteGroups)>();
    nodes.for_each_picked_chunk_parallel(
        |entities| hierarchy.is_touched(entities),
        #[inline(always)]
        |(entities, written, to_parent, inputs)| {
            let Some(first) = hierarchy.slot_of(entities[0]) else { return };
            let sources = &hierarchy.sources[first..][..entities.len()];
            let words = first / 64..(first + entities.len()).div_ceil(64);
            let dirty = &hierarchy.dirty[words.clone()];
            let few = are_few.then(|| &rows[words]);
            let rows =
                Rows { entities, written, to_parent, sources, dirty, few, matrices, moved, bad };
            Inputs::from(inputs).with(rows);
        },
    )
}

/// Writes the matrices of the rows of a chunk.
struct Rows<'a> {
    entities: &'a [Entity],
    written: &'a mut [LocalToWorld],
    to_parent: Option<&'a mut [LocalToParent]>,
    sources: &'a [Source],
    dirty: &'a [u64],
    /// Which rows there are to be written beside those that are dirty, if they are few.
    few: Option<&'a [u64]>,
    matrices: &'a [Affine3A],
    moved: &'a [bool],
    bad: &'a NotFinite,
}

impl WithLocal for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, local: impl Fn(usize) -> Affine3A) {
        if let Some(few) = self.few {
            for (word, (few, dirty)) in few.iter().zip(self.dirty).enumerate() {
                let mut rows = few | dirty;
                while rows != 0 {
                    self.write_few(word * 64 + rows.trailing_zeros() as usize, &local);
                    rows &= rows - 1;
                }
            }
        } else {
            // A loop, and no iterator's method, which might become a function of its own that is not compiled for the CPU at hand.
            for row in 0..self.written.len() {
                self.write(row, &local);
            }
        }
    }
}

impl Rows<'_> {
    /// Apart, so that the other loop is a short one.
    #[inline(never)]
    fn write_few(&mut self, row: usize, local: &impl Fn(usize) -> Affine3A) {
        self.write(row, local);
    }

    /// Writes the matrix of a row, if it has moved.
    #[inline(always)]
    fn write(&mut self, row: usize, local: &impl Fn(usize) -> Affine3A) {
        let (place, is_own) = self.sources[row].place();
        // Who rests has no place.
        let Some(&moved) = self.moved.get(place) else { return };
        let is_dirty = !is_own && self.dirty[row / 64] >> (row % 64) & 1 != 0;
        if !(moved | is_dirty) {
            return;
        }
        let mut matrix = self.matrices[place];
        if !is_own {
            matrix *= local(row);
            if !is_finite(&matrix) {
                return self.bad.note(self.entities[row]);
            }
        }
        self.written[row] = matrix.into();
        if let Some(to_parent) = &mut self.to_parent {
            to_parent[row] = LocalToParent(Mat4::from(local(row)));
        }
    }
}

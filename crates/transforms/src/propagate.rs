//! Places the nodes of hierarchies that have moved.
//!
//! First the matrices of all that others are below of, in their order, in batches that threads do on their own; then, chunk by
//! chunk, those of all rows, which are made of them. Leaves, which are most, are only touched by the second, in the order of memory.

use std::ops::Range;

use ancho_entities::{Changed, Entity, EntityError, Version, World};
use glam::Affine3A;

use crate::compose::{AllInputs, InputData, Inputs, WithLocal, is_finite};
use crate::hierarchy::{Hierarchy, Nodes, Places, Source, Written, WrittenData};
use crate::not_finite::NotFinite;
use crate::order::NONE;
use crate::outputs::{CustomLocalToWorld, LocalToParent, LocalToWorld};

/// What the nodes of a chunk are placed by.
#[derive(Clone, Copy)]
enum Placed<'w> {
    Written(Inputs<'w>),
    Given(&'w [LocalToWorld]),
    Custom(&'w [CustomLocalToWorld]),
    Nothing,
}

/// What is kept from one update to the next for its memory.
#[derive(Default)]
pub(crate) struct Buffers {
    chunks: Vec<Placed<'static>>,
    /// The matrices of stems, and whether they have moved.
    stems: Vec<(Affine3A, bool)>,
}

impl std::fmt::Debug for Buffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffers").finish_non_exhaustive()
    }
}

/// Places the nodes that have moved since, and those below them.
pub(crate) fn update(
    world: &mut World,
    hierarchy: &mut Hierarchy,
    places: &mut Places,
    buffers: &mut Buffers,
    since: Version,
    bad: &NotFinite,
) -> Result<(), EntityError> {
    let is_marked = mark_changed(world, hierarchy, since);
    if !is_marked && hierarchy.dirty.iter().all(|&word| word == 0) {
        return Ok(());
    }
    place_inner(world, hierarchy, places, buffers, bad);
    let done = place_rows(world, hierarchy, places, bad);
    hierarchy.clear_marks();
    done
}

/// Marks rows of which something has changed. Returns whether there are some.
fn mark_changed(world: &World, hierarchy: &mut Hierarchy, since: Version) -> bool {
    let mut is_marked = false;
    let nodes = || world.query::<Entity>().filter::<Nodes>().since(since);
    nodes().filter::<Changed<AllInputs>>().for_each_chunk(|entities| {
        is_marked |= hierarchy.mark(entities, true);
    });
    if hierarchy.has_given {
        type Given = Changed<(LocalToWorld, CustomLocalToWorld)>;
        nodes().filter::<Given>().for_each_chunk(|entities| {
            is_marked |= hierarchy.mark(entities, false);
        });
    }
    is_marked
}

/// Makes the matrices of nodes that others are below of.
fn place_inner(
    world: &World,
    hierarchy: &Hierarchy,
    places: &mut Places,
    buffers: &mut Buffers,
    bad: &NotFinite,
) {
    let mut chunks = list_chunks(world, hierarchy, std::mem::take(&mut buffers.chunks));
    let batch = hierarchy.stems.batch;
    let count = hierarchy.order.nodes.len();
    let Places { matrices, moved } = places;
    let placing = Placing { hierarchy, chunks: &chunks, bad };
    placing.place_stems(&mut buffers.stems, matrices.as_slice().expect("no job has them"));
    let stems = &buffers.stems;
    let done = world.entities().jobs().named("place parents").run_parallel(
        (matrices.write(), moved.write()),
        count,
        batch,
        |(matrices, moved), places| placing.place_batch(stems, matrices, moved, places),
    );
    if done.is_err() {
        // Where no job can be scheduled, as inside of one, this thread does it.
        let matrices = matrices.as_mut_slice().expect("no job has them");
        let moved = moved.as_mut_slice().expect("no job has them");
        for start in (0..count).step_by(batch) {
            let places = start..count.min(start + batch);
            let (matrices, moved) = (&mut matrices[places.clone()], &mut moved[places.clone()]);
            placing.place_batch(stems, matrices, moved, places);
        }
    }
    chunks.clear();
    // In place: the list keeps its memory, and nothing that was in it.
    buffers.chunks = chunks.into_iter().map(|_| Placed::Nothing).collect();
}

/// Lists what the nodes of each chunk are placed by.
fn list_chunks<'w>(
    world: &'w World,
    hierarchy: &Hierarchy,
    mut chunks: Vec<Placed<'w>>,
) -> Vec<Placed<'w>> {
    type Data<'a> = (Entity, InputData, Option<&'a LocalToWorld>, Option<&'a CustomLocalToWorld>);
    chunks.resize(hierarchy.chunks.len(), Placed::Nothing);
    let nodes = world.query::<Data<'_>>().filter::<Nodes>();
    nodes.for_each_chunk(|(entities, inputs, matrices, custom)| {
        let Some(slot) = hierarchy.slot_of(entities[0]) else { return };
        let (number, chunk) = hierarchy.chunk_at(slot);
        chunks[number] = match (chunk.is_written, custom, matrices) {
            (true, _, _) => Placed::Written(inputs.into()),
            (false, Some(custom), _) => Placed::Custom(custom),
            (false, None, Some(matrices)) => Placed::Given(matrices),
            (false, None, None) => Placed::Nothing,
        };
    });
    chunks
}

/// What is needed to make matrices of places.
struct Placing<'a, 'w> {
    hierarchy: &'a Hierarchy,
    chunks: &'a [Placed<'w>],
    bad: &'a NotFinite,
}

impl Placing<'_, '_> {
    /// The matrix of a place, if it has moved, by that of its parent and whether that has.
    #[inline(always)]
    fn place(&self, place: usize, parent: Option<(&Affine3A, bool)>) -> Option<Affine3A> {
        let (chunk, row) = self.hierarchy.rows[place];
        let slot = self.hierarchy.order.nodes[place];
        let is_dirty = self.hierarchy.dirty[slot as usize / 64] >> (slot % 64) & 1 != 0;
        let row = row as usize;
        match &self.chunks[chunk as usize] {
            Placed::Written(inputs) => match parent {
                Some((parent, moved)) if moved | is_dirty => Some(*parent * inputs.get(row)),
                None if is_dirty => Some(inputs.get(row)),
                _ => None,
            },
            // They are where they are, wherever their parents go.
            Placed::Given(matrices) if is_dirty => Some(matrices[row].affine()),
            Placed::Custom(matrices) if is_dirty => Some(Affine3A::from_mat4(matrices[row].0)),
            _ => None,
        }
    }

    /// Makes the matrices of stems. They are made again in their batches; what goes wrong is told there.
    fn place_stems(&self, stems: &mut Vec<(Affine3A, bool)>, matrices: &[Affine3A]) {
        let places = self.hierarchy.stems.places.iter().zip(&self.hierarchy.stems.parents);
        stems.clear();
        for (&place, &parent) in places {
            let parent = stems.get(parent as usize).map(|(matrix, moved)| (matrix, *moved));
            let matrix = self.place(place as usize, parent).filter(is_finite);
            stems.push((matrix.unwrap_or(matrices[place as usize]), matrix.is_some()));
        }
    }

    /// Makes the matrices of a batch.
    #[inline(always)]
    fn place_batch(
        &self,
        stems: &[(Affine3A, bool)],
        matrices: &mut [Affine3A],
        moved: &mut [bool],
        places: Range<usize>,
    ) {
        for (at, place) in places.clone().enumerate() {
            let parent = match self.hierarchy.order.parent[place] {
                NONE => None,
                parent if parent as usize >= places.start => {
                    let at = parent as usize - places.start;
                    Some((&matrices[at], moved[at]))
                }
                parent => {
                    let (matrix, moved) = &stems[self.hierarchy.stems.find(parent) as usize];
                    Some((matrix, *moved))
                }
            };
            let matrix = self.place(place, parent);
            moved[at] = match matrix {
                Some(matrix) if is_finite(&matrix) => {
                    matrices[at] = matrix;
                    self.hierarchy.touch(place);
                    true
                }
                Some(_) => {
                    let slot = self.hierarchy.order.nodes[place];
                    self.bad.note(self.hierarchy.entity_at(slot as usize));
                    false
                }
                None => false,
            };
        }
    }
}

/// Writes the matrices of all rows that have moved.
fn place_rows(
    world: &mut World,
    hierarchy: &Hierarchy,
    places: &Places,
    bad: &NotFinite,
) -> Result<(), EntityError> {
    let matrices = places.matrices.as_slice().expect("no job has them");
    let moved = places.moved.as_slice().expect("no job has them");
    let nodes = world.query_mut::<WrittenData>().filter::<Written>().filter_write_groups();
    nodes.for_each_picked_chunk_parallel(
        |entities| hierarchy.is_touched(entities),
        #[inline(always)]
        |(entities, written, to_parent, inputs)| {
            let Some(first) = hierarchy.slot_of(entities[0]) else { return };
            let sources = &hierarchy.sources[first..][..entities.len()];
            let dirty = &hierarchy.dirty[first / 64..];
            let rows = Rows { entities, written, to_parent, sources, dirty, matrices, moved, bad };
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
    matrices: &'a [Affine3A],
    moved: &'a [bool],
    bad: &'a NotFinite,
}

impl WithLocal for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, local: impl Fn(usize) -> Affine3A) {
        for (row, (written, source)) in self.written.iter_mut().zip(self.sources).enumerate() {
            let (place, is_own) = source.place();
            // Who rests has no place.
            let Some(&moved) = self.moved.get(place) else { continue };
            let is_dirty = !is_own && self.dirty[row / 64] >> (row % 64) & 1 != 0;
            if !(moved | is_dirty) {
                continue;
            }
            let of_place = &self.matrices[place];
            let matrix = if is_own { *of_place } else { *of_place * local(row) };
            if !is_finite(&matrix) {
                self.bad.note(self.entities[row]);
                continue;
            }
            *written = matrix.into();
            if let Some(to_parent) = &mut self.to_parent {
                to_parent[row] = LocalToParent(glam::Mat4::from(local(row)));
            }
        }
    }
}

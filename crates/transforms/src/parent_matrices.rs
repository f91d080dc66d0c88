//! Computes the matrices of nodes with children.
//!
//! Each level is computed from the level above. If few nodes have moved, only their places and the places below are visited. If
//! many places have to be visited, such as below a root that moves, all threads visit all places of the remaining levels.
//! Consecutive narrow levels form one stage, in which each thread computes whole branches.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use ancho_entities::{Buffer, Child, ChunkData, Entity, With, Without, World};
use ancho_jobs::JobScheduler;
use glam::Affine3A;

use crate::components::{CustomLocalToWorld, LocalToWorld};
use crate::compose::{InputData, Inputs, NonFiniteEntities, is_finite};
use crate::hierarchy::{Hierarchy, MAX_PARTS, NONE, NodeMatrices, Nodes, Shape, Stage};
use crate::scratch::bits;

/// The inputs of the nodes of a chunk.
#[derive(Clone, Copy)]
pub(crate) enum NodeInputs<'w> {
    ComputedNodes(Inputs<'w>),
    External(&'w [LocalToWorld]),
    Custom(&'w [CustomLocalToWorld]),
    Nothing,
}

/// Computes the matrices of nodes with children. Returns whether few nodes have moved. In this case, the rows to write are marked.
pub(crate) fn update(
    world: &World,
    hierarchy: &Hierarchy,
    places: &mut NodeMatrices,
    buffer: &mut Vec<NodeInputs<'static>>,
    are_few: bool,
    non_finite: &NonFiniteEntities,
) -> bool {
    if are_few && !mark_due(hierarchy, places) {
        // Only leaves have moved. Their rows are marked already.
        return true;
    }
    let mut chunks = list_chunks(world, hierarchy, std::mem::take(buffer));
    let pass = MatrixPass { hierarchy, chunks: &chunks, non_finite };
    let jobs = world.jobs();
    let many_from = if are_few { pass.compute_due(places) } else { Some(0) };
    if let Some(level) = many_from {
        pass.compute_stages(jobs, level, places);
    }
    chunks.clear();
    // Collects in place, so the vector keeps its memory, but none of its contents.
    *buffer = chunks.into_iter().map(|_| NodeInputs::Nothing).collect();
    many_from.is_none()
}

/// Marks the places of changed rows. Returns whether there are any.
fn mark_due(hierarchy: &Hierarchy, places: &mut NodeMatrices) -> bool {
    let mut is_any = false;
    places.moved.fill(false);
    bits::for_each(&hierarchy.dirty, |slot| {
        let place = hierarchy.order.place[slot];
        if place != NONE {
            places.due[place as usize / 64] |= 1 << (place % 64);
            is_any = true;
        }
    });
    is_any
}

/// Lists the inputs of each chunk that has places.
fn list_chunks<'w>(
    world: &'w World,
    hierarchy: &Hierarchy,
    mut chunks: Vec<NodeInputs<'w>>,
) -> Vec<NodeInputs<'w>> {
    type Data =
        (Entity, InputData, Option<&'static LocalToWorld>, Option<&'static CustomLocalToWorld>);
    type ChunkSlices<'a> = <Data as ChunkData>::Slices<'a>;
    chunks.resize(hierarchy.chunks.len(), NodeInputs::Nothing);
    let left = Cell::new(hierarchy.chunks.iter().filter(|chunk| chunk.has_places).count());
    let mut list = |(entities, inputs, matrices, custom): ChunkSlices<'w>| {
        let Some(slot) = hierarchy.slot_of(entities[0]) else { return };
        let (number, chunk) = hierarchy.chunk_at(slot);
        left.update(|left| left - usize::from(chunk.has_places));
        chunks[number] = match (chunk.traits.is_computed, custom, matrices) {
            (true, _, _) => NodeInputs::ComputedNodes(inputs.into()),
            (false, Some(custom), _) => NodeInputs::Custom(custom),
            (false, None, Some(matrices)) => NodeInputs::External(matrices),
            (false, None, None) => NodeInputs::Nothing,
        };
    };
    // Most nodes are leaves, whose chunks have no places.
    world.query_filtered::<Data, With<Buffer<Child>>>().for_each_chunk_inner(&mut list);
    if left.get() > 0 {
        world
            .query_filtered::<Data, (Nodes, Without<Buffer<Child>>)>()
            .for_each_chunk_inner(&mut list);
    }
    chunks
}

/// The minimum number of places of a level that is computed in parallel. For fewer places, waking threads takes longer than
/// computing.
const MIN_PARALLEL: usize = 512;

/// If at least one in this number of places is due, all remaining places are visited.
const DENSE_FRACTION: usize = 8;

/// All places of earlier stages.
struct EarlierStages<'a> {
    matrices: &'a [Affine3A],
    moved: &'a [bool],
}

/// A range of places of a stage.
struct Part<'a> {
    first: usize,
    matrices: &'a mut [Affine3A],
    moved: &'a mut [bool],
}

/// Parts of a stage. Each part is taken once, by the thread that computes it.
type Parts<'a> = [Mutex<Option<Part<'a>>>; MAX_PARTS];

impl<'a> Part<'a> {
    /// Divides the range at the given ends.
    fn divide(self, ends: [usize; MAX_PARTS]) -> Parts<'a> {
        let Part { mut first, mut matrices, mut moved } = self;
        ends.map(|end| {
            let count = (end - first).min(matrices.len());
            let (these, rest) = std::mem::take(&mut matrices).split_at_mut(count);
            let (these_moved, rest_moved) = std::mem::take(&mut moved).split_at_mut(count);
            (matrices, moved) = (rest, rest_moved);
            let part = Part { first, matrices: these, moved: these_moved };
            first += count;
            Mutex::new(Some(part))
        })
    }
}

/// Calls a function with each part, on all threads.
fn for_each_part_parallel(
    jobs: &JobScheduler,
    parts: &[Mutex<Option<Part<'_>>>],
    place: impl Fn(Part<'_>) + Sync,
) {
    let run_some = |parts: &[Mutex<Option<Part<'_>>>]| {
        for part in parts {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(part) = part {
                place(part);
            }
        }
    };
    let done = jobs.named("place parents").run_parallel(
        (),
        parts.len(),
        1,
        #[inline(always)]
        |(), numbers| run_some(&parts[numbers]),
    );
    if done.is_err() {
        // No job can be scheduled inside of a job, so this thread computes all parts.
        run_some(parts);
    }
}

/// The inputs of a computation of matrices.
struct MatrixPass<'a, 'w> {
    hierarchy: &'a Hierarchy,
    chunks: &'a [NodeInputs<'w>],
    non_finite: &'a NonFiniteEntities,
}

impl MatrixPass<'_, '_> {
    /// Computes the matrix of a place, if the place or its parent has moved.
    #[inline(always)]
    fn matrix(&self, place: usize, parent: Option<(&Affine3A, bool)>) -> Option<Affine3A> {
        let (chunk, row) = self.hierarchy.rows[place];
        let is_dirty = || {
            let slot = self.hierarchy.order.nodes[place];
            self.hierarchy.dirty[slot as usize / 64] >> (slot % 64) & 1 != 0
        };
        let row = row as usize;
        // A hole is in no chunk.
        match self.chunks.get(chunk as usize)? {
            NodeInputs::ComputedNodes(inputs) => match parent {
                Some((parent, moved)) if moved || is_dirty() => Some(*parent * inputs.get(row)),
                None if is_dirty() => Some(inputs.get(row)),
                _ => None,
            },
            // External matrices do not depend on parents.
            NodeInputs::External(matrices) if is_dirty() => Some(matrices[row].affine()),
            NodeInputs::Custom(matrices) if is_dirty() => {
                Some(Affine3A::from_mat4(matrices[row].0))
            }
            _ => None,
        }
    }

    /// Computes the places that are due and the places below, and marks the rows to write. If too many places are due, stops and
    /// returns the first stage that is not computed.
    fn compute_due(&self, places: &mut NodeMatrices) -> Option<usize> {
        let order = &self.hierarchy.order;
        for (number, Stage { places: level, shape }) in order.stages().enumerate() {
            let left = order.nodes.len() - level.start;
            let count = bits::count(&places.due, &level);
            let are_many = match shape {
                // Places below the tops are in the same stage.
                Shape::Branches { tops, .. } => count * DENSE_FRACTION >= tops,
                _ => count >= MIN_PARALLEL && count * DENSE_FRACTION >= left,
            };
            if are_many {
                places.due.fill(0);
                places.rows.fill(0);
                return Some(number);
            }
            for word in bits::words(&level) {
                let mask = bits::mask(word, &level);
                let mut due = std::mem::take(&mut places.due[word]);
                places.due[word] = due & !mask;
                due &= mask;
                while due != 0 {
                    self.compute_one(word * 64 + due.trailing_zeros() as usize, places);
                    due &= due - 1;
                    if shape != Shape::Level {
                        // Children may be due in the same word.
                        due |= places.due[word] & mask;
                        places.due[word] &= !mask;
                    }
                }
            }
        }
        None
    }

    /// Computes the matrix of a place. If it has moved, its children become due.
    fn compute_one(&self, place: usize, places: &mut NodeMatrices) {
        let NodeMatrices { matrices, moved, rows, due } = places;
        let order = &self.hierarchy.order;
        let parent = order.parent[place] as usize;
        let parent = matrices.get(parent).zip(moved.get(parent));
        let Some(made) = self.finite_matrix(place, parent.map(|(matrix, moved)| (matrix, *moved)))
        else {
            return;
        };
        (matrices[place], moved[place]) = made;
        if !moved[place] {
            return;
        }
        let mut write = |slot: u32| {
            rows[slot as usize / 64] |= 1 << (slot % 64);
            self.hierarchy.touch_row(slot);
        };
        write(order.nodes[place]);
        for &slot in order.children(place) {
            match order.place[slot as usize] {
                NONE => write(slot),
                place => due[place as usize / 64] |= 1 << (place % 64),
            }
        }
    }

    /// Computes all places from a stage on. Earlier stages are up to date.
    fn compute_stages(&self, jobs: &JobScheduler, from: usize, places: &mut NodeMatrices) {
        let NodeMatrices { matrices, moved, .. } = places;
        for Stage { places, shape } in self.hierarchy.order.stages().skip(from) {
            let (above, matrices) = matrices.split_at_mut(places.start);
            let (moved_above, moved) = moved.split_at_mut(places.start);
            let above = EarlierStages { matrices: above, moved: moved_above };
            let (first, count) = (places.start, places.len());
            let (matrices, moved) = (&mut matrices[..count], &mut moved[..count]);
            let stage = Part { first, matrices, moved };
            match shape {
                Shape::Level if count < MIN_PARALLEL => self.compute_part(&above, stage),
                Shape::Level => self.compute_level(jobs, &above, stage),
                Shape::Branches { part_ends, .. } => {
                    self.compute_branches(jobs, &above, stage, part_ends);
                }
                Shape::Tail => self.compute_branch(&above, stage),
            }
        }
        if moved.iter().filter(|moved| **moved).count() == self.hierarchy.order.live() {
            self.hierarchy.touch_all();
        } else {
            let moved = moved.iter().enumerate().filter(|(_, moved)| **moved);
            moved.for_each(|(place, _)| self.hierarchy.touch(place));
        }
    }

    /// Computes a level on all threads.
    fn compute_level(&self, jobs: &JobScheduler, above: &EarlierStages<'_>, level: Part<'_>) {
        let size = level.matrices.len().div_ceil(MAX_PARTS);
        let ends = std::array::from_fn(|number| level.first + (number + 1) * size);
        let parts = level.divide(ends);
        let place = |part: Part<'_>| self.compute_part(above, part);
        for_each_part_parallel(jobs, &parts, place);
    }

    /// Computes independent branches on all threads.
    fn compute_branches(
        &self,
        jobs: &JobScheduler,
        above: &EarlierStages<'_>,
        stage: Part<'_>,
        part_ends: &[u32],
    ) {
        let end = stage.first + stage.matrices.len();
        let parts = stage.divide(std::array::from_fn(|number| {
            part_ends.get(number).map_or(end, |end| *end as usize)
        }));
        // Empty parts are removed, because a thread might get only empty parts.
        let parts = &parts[..part_ends.len()];
        for_each_part_parallel(jobs, parts, |branch| self.compute_branch(above, branch));
    }

    /// Computes a range of places of a level.
    #[inline(always)]
    fn compute_part(&self, above: &EarlierStages<'_>, part: Part<'_>) {
        let Part { first, matrices, moved } = part;
        for (place, (matrix, moved)) in (first..).zip(matrices.iter_mut().zip(moved)) {
            let parent = self.hierarchy.order.parent[place];
            let parent = (parent != NONE)
                .then(|| (&above.matrices[parent as usize], above.moved[parent as usize]));
            *moved = false;
            if let Some(made) = self.finite_matrix(place, parent) {
                (*matrix, *moved) = made;
            }
        }
    }

    /// Computes a range of places. The parents of these places may be in the same range, before them.
    #[inline(always)]
    fn compute_branch(&self, above: &EarlierStages<'_>, branch: Part<'_>) {
        let Part { first, matrices, moved } = branch;
        for at in 0..matrices.len() {
            let (matrices_before, matrices) = matrices.split_at_mut(at);
            let (moved_before, moved) = moved.split_at_mut(at);
            let parent = self.hierarchy.order.parent[first + at];
            let parent = (parent != NONE).then(|| match (parent as usize).checked_sub(first) {
                Some(before) => (&matrices_before[before], moved_before[before]),
                None => (&above.matrices[parent as usize], above.moved[parent as usize]),
            });
            moved[0] = false;
            if let Some(made) = self.finite_matrix(first + at, parent) {
                (matrices[0], moved[0]) = made;
            }
        }
    }

    /// Returns the matrix of a place if it has changed, and whether the children have to be computed too.
    #[inline(always)]
    fn finite_matrix(
        &self,
        place: usize,
        parent: Option<(&Affine3A, bool)>,
    ) -> Option<(Affine3A, bool)> {
        let made = self.matrix(place, parent)?;
        if is_finite(&made) { Some((made, true)) } else { self.not_finite(place, made) }
    }

    /// Handles a matrix that is not finite. A computed matrix is discarded, and the place keeps its last matrix. An external
    /// matrix is stored, because a rebuild would store it too. In both cases the children are not computed: even a child that has
    /// moved keeps its matrix.
    #[cold]
    fn not_finite(&self, place: usize, made: Affine3A) -> Option<(Affine3A, bool)> {
        let slot = self.hierarchy.order.nodes[place];
        self.non_finite.report(self.hierarchy.entity_at(slot as usize));
        let is_given = !matches!(
            self.chunks[self.hierarchy.rows[place].0 as usize],
            NodeInputs::ComputedNodes(_)
        );
        is_given.then_some((made, false))
    }
}

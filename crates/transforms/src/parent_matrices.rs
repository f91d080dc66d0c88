//! Makes the matrices of nodes that others are below of, which have moved.
//!
//! Level by level: those of one are made of those of the level above. If few have moved, only the places of these are looked at, and of
//! those below them. If those become many, as below a root that moves, the rest is done as if many had moved: all places of a level
//! are looked at, by all threads. Where many levels are narrow, those are one stage, of which threads have whole branches.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use ancho_entities::{Buffer, ChunkData, Entity, With, Without, World};
use ancho_jobs::JobScheduler;
use glam::Affine3A;

use crate::components::{Child, CustomLocalToWorld, LocalToWorld};
use crate::compose::{InputData, Inputs, NonFiniteEntities, is_finite};
use crate::hierarchy::{Hierarchy, MAX_PARTS, NONE, NodeMatrices, Nodes, Shape, Stage};
use crate::scratch::bits;

/// What the nodes of a chunk are placed by.
#[derive(Clone, Copy)]
pub(crate) enum NodeInputs<'w> {
    ComputedNodes(Inputs<'w>),
    External(&'w [LocalToWorld]),
    Custom(&'w [CustomLocalToWorld]),
    Nothing,
}

/// Makes the matrices of nodes that others are below of. Returns whether those that have moved are few, so that the rows that are to
/// be written are marked.
pub(crate) fn update(
    world: &World,
    hierarchy: &Hierarchy,
    places: &mut NodeMatrices,
    buffer: &mut Vec<NodeInputs<'static>>,
    are_few: bool,
    non_finite: &NonFiniteEntities,
) -> bool {
    if are_few && !mark_due(hierarchy, places) {
        // All that have moved are leaves, whose rows are marked already.
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
    // In place: the list keeps its memory, and nothing that was in it.
    *buffer = chunks.into_iter().map(|_| NodeInputs::Nothing).collect();
    many_from.is_none()
}

/// Marks the places of rows that have changed. Returns whether there are any.
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

/// Lists what the nodes of each chunk are placed by, if others are below some of them.
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
    // Who has children has a buffer of them, unless somebody else has taken it.
    world.query::<Data>().filter::<With<Buffer<Child>>>().for_each_chunk(&mut list);
    if left.get() > 0 {
        world.query::<Data>().filter::<(Nodes, Without<Buffer<Child>>)>().for_each_chunk(&mut list);
    }
    chunks
}

/// How many places of a level one thread does: to wake others would take longer.
const MIN_PARALLEL: usize = 512;

/// One of how many places that are left must be due at least so that all of them are looked at.
const DENSE_FRACTION: usize = 8;

/// All places of the levels above.
struct EarlierStages<'a> {
    matrices: &'a [Affine3A],
    moved: &'a [bool],
}

/// Some places of a level, from the first on.
struct Part<'a> {
    first: usize,
    matrices: &'a mut [Affine3A],
    moved: &'a mut [bool],
}

/// Parts that are each taken once, by the thread that does it.
type Parts<'a> = [Mutex<Option<Part<'a>>>; MAX_PARTS];

impl<'a> Part<'a> {
    /// Divides it into parts that end at these places.
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

/// Has all threads do something with parts.
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
        // Where no job can be scheduled, as inside of one, this thread does it.
        run_some(parts);
    }
}

/// What is needed to make matrices of places.
struct MatrixPass<'a, 'w> {
    hierarchy: &'a Hierarchy,
    chunks: &'a [NodeInputs<'w>],
    non_finite: &'a NonFiniteEntities,
}

impl MatrixPass<'_, '_> {
    /// The matrix of a place, if it has moved, by that of its parent and whether that has.
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
            // They are where they are, wherever their parents go.
            NodeInputs::External(matrices) if is_dirty() => Some(matrices[row].affine()),
            NodeInputs::Custom(matrices) if is_dirty() => {
                Some(Affine3A::from_mat4(matrices[row].0))
            }
            _ => None,
        }
    }

    /// Makes the matrices of those places that have moved, and of those below them, and marks the rows that are to be written for
    /// them. If they become many, it leaves off, and returns the level from which on nothing is done.
    fn compute_due(&self, places: &mut NodeMatrices) -> Option<usize> {
        let order = &self.hierarchy.order;
        for (number, Stage { places: level, shape }) in order.stages().enumerate() {
            let left = order.nodes.len() - level.start;
            let count = bits::count(&places.due, &level);
            let are_many = match shape {
                // Those below them are of the same stage.
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
                        // What is below a place may be due in the same word.
                        due |= places.due[word] & mask;
                        places.due[word] &= !mask;
                    }
                }
            }
        }
        None
    }

    /// Makes the matrix of a place. If it has moved, all that is right below it is due.
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

    /// Makes the matrices of all places from a level on. Those above have been made.
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

    /// Makes the matrices of a level, on all threads.
    fn compute_level(&self, jobs: &JobScheduler, above: &EarlierStages<'_>, level: Part<'_>) {
        let size = level.matrices.len().div_ceil(MAX_PARTS);
        let ends = std::array::from_fn(|number| level.first + (number + 1) * size);
        let parts = level.divide(ends);
        let place = |part: Part<'_>| self.compute_part(above, part);
        for_each_part_parallel(jobs, &parts, place);
    }

    /// Makes the matrices of branches that have nothing to do with each other, on all threads.
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
        // Not the empty ones, too: those of one thread might be all that there are.
        let parts = &parts[..part_ends.len()];
        for_each_part_parallel(jobs, parts, |branch| self.compute_branch(above, branch));
    }

    /// Makes the matrices of some places of a level.
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

    /// Makes the matrices of some places, of which some may have their parents among them: those come first.
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

    /// The matrix of a place, if it is another one, and whether what is below it follows.
    #[inline(always)]
    fn finite_matrix(
        &self,
        place: usize,
        parent: Option<(&Affine3A, bool)>,
    ) -> Option<(Affine3A, bool)> {
        let made = self.matrix(place, parent)?;
        if is_finite(&made) { Some((made, true)) } else { self.not_finite(place, made) }
    }

    /// What becomes of a place whose matrix is not finite: one that is made here is not, and the last one stays. One that is given
    /// counts as it is, as when all places are found anew: nobody follows, and who is placed by it meanwhile stays.
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

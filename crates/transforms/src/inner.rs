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

use crate::bits;
use crate::compose::{InputData, Inputs, is_finite};
use crate::hierarchy::{Hierarchy, Nodes, Places};
use crate::not_finite::NotFinite;
use crate::order::{NONE, PARTS, Shape, Stage};
use crate::outputs::{CustomLocalToWorld, LocalToWorld};
use crate::parent::Child;

/// What the nodes of a chunk are placed by.
#[derive(Clone, Copy)]
pub(crate) enum Placed<'w> {
    Written(Inputs<'w>),
    Given(&'w [LocalToWorld]),
    Custom(&'w [CustomLocalToWorld]),
    Nothing,
}

/// Makes the matrices of nodes that others are below of. Returns whether those that have moved are few, so that the rows that are to
/// be written are marked.
pub(crate) fn place(
    world: &World,
    hierarchy: &Hierarchy,
    places: &mut Places,
    buffer: &mut Vec<Placed<'static>>,
    are_few: bool,
    bad: &NotFinite,
) -> bool {
    if are_few && !mark_due(hierarchy, places) {
        // All that have moved are leaves, whose rows are marked already.
        return true;
    }
    let mut chunks = list_chunks(world, hierarchy, std::mem::take(buffer));
    let placing = Placing { hierarchy, chunks: &chunks, bad };
    let jobs = world.jobs();
    let many_from = if are_few { placing.place_due(places) } else { Some(0) };
    if let Some(level) = many_from {
        placing.place_levels(jobs, level, places);
    }
    chunks.clear();
    // In place: the list keeps its memory, and nothing that was in it.
    *buffer = chunks.into_iter().map(|_| Placed::Nothing).collect();
    many_from.is_none()
}

/// Marks the places of rows that have changed. Returns whether there are any.
fn mark_due(hierarchy: &Hierarchy, places: &mut Places) -> bool {
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
    mut chunks: Vec<Placed<'w>>,
) -> Vec<Placed<'w>> {
    type Data =
        (Entity, InputData, Option<&'static LocalToWorld>, Option<&'static CustomLocalToWorld>);
    type ChunkSlices<'a> = <Data as ChunkData>::Slices<'a>;
    chunks.resize(hierarchy.chunks.len(), Placed::Nothing);
    let left = Cell::new(hierarchy.chunks.iter().filter(|chunk| chunk.has_places).count());
    let mut list = |(entities, inputs, matrices, custom): ChunkSlices<'w>| {
        let Some(slot) = hierarchy.slot_of(entities[0]) else { return };
        let (number, chunk) = hierarchy.chunk_at(slot);
        left.update(|left| left - usize::from(chunk.has_places));
        chunks[number] = match (chunk.kind.is_written, custom, matrices) {
            (true, _, _) => Placed::Written(inputs.into()),
            (false, Some(custom), _) => Placed::Custom(custom),
            (false, None, Some(matrices)) => Placed::Given(matrices),
            (false, None, None) => Placed::Nothing,
        };
    };
    // Who has children has a buffer of them, unless somebody else has taken it.
    world.query_filtered::<Data, With<Buffer<Child>>>().for_each_chunk_inner(&mut list);
    if left.get() > 0 {
        world
            .query_filtered::<Data, (Nodes, Without<Buffer<Child>>)>()
            .for_each_chunk_inner(&mut list);
    }
    chunks
}

/// How many places of a level one thread does: to wake others would take longer.
const FEW: usize = 512;

/// One of how many places that are left must be due at least so that all of them are looked at.
const SPREAD: usize = 8;

/// All places of the levels above.
struct Above<'a> {
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
type Parts<'a> = [Mutex<Option<Part<'a>>>; PARTS];

impl<'a> Part<'a> {
    /// Divides it into parts that end at these places.
    fn divide(self, ends: [usize; PARTS]) -> Parts<'a> {
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
fn place_on_all_threads(
    jobs: &JobScheduler,
    parts: &[Mutex<Option<Part<'_>>>],
    place: impl Fn(Part<'_>) + Sync,
) {
    let place_some = |parts: &[Mutex<Option<Part<'_>>>]| {
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
        |(), numbers| place_some(&parts[numbers]),
    );
    if done.is_err() {
        // Where no job can be scheduled, as inside of one, this thread does it.
        place_some(parts);
    }
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
        let is_dirty = || {
            let slot = self.hierarchy.order.nodes[place];
            self.hierarchy.dirty[slot as usize / 64] >> (slot % 64) & 1 != 0
        };
        let row = row as usize;
        // A hole is in no chunk.
        match self.chunks.get(chunk as usize)? {
            Placed::Written(inputs) => match parent {
                Some((parent, moved)) if moved || is_dirty() => Some(*parent * inputs.get(row)),
                None if is_dirty() => Some(inputs.get(row)),
                _ => None,
            },
            // They are where they are, wherever their parents go.
            Placed::Given(matrices) if is_dirty() => Some(matrices[row].affine()),
            Placed::Custom(matrices) if is_dirty() => Some(Affine3A::from_mat4(matrices[row].0)),
            _ => None,
        }
    }

    /// Makes the matrices of those places that have moved, and of those below them, and marks the rows that are to be written for
    /// them. If they become many, it leaves off, and returns the level from which on nothing is done.
    fn place_due(&self, places: &mut Places) -> Option<usize> {
        let order = &self.hierarchy.order;
        for (number, Stage { places: level, shape }) in order.stages().enumerate() {
            let left = order.nodes.len() - level.start;
            let count = bits::count(&places.due, &level);
            let are_many = match shape {
                // Those below them are of the same stage.
                Shape::Branches { tops, .. } => count * SPREAD >= tops,
                _ => count >= FEW && count * SPREAD >= left,
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
                    self.place_one(word * 64 + due.trailing_zeros() as usize, places);
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
    fn place_one(&self, place: usize, places: &mut Places) {
        let Places { matrices, moved, rows, due } = places;
        let order = &self.hierarchy.order;
        let parent = order.parent[place] as usize;
        let parent = matrices.get(parent).zip(moved.get(parent));
        let Some(made) = self.made(place, parent.map(|(matrix, moved)| (matrix, *moved))) else {
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
    fn place_levels(&self, jobs: &JobScheduler, from: usize, places: &mut Places) {
        let Places { matrices, moved, .. } = places;
        for Stage { places, shape } in self.hierarchy.order.stages().skip(from) {
            let (above, matrices) = matrices.split_at_mut(places.start);
            let (moved_above, moved) = moved.split_at_mut(places.start);
            let above = Above { matrices: above, moved: moved_above };
            let (first, count) = (places.start, places.len());
            let (matrices, moved) = (&mut matrices[..count], &mut moved[..count]);
            let stage = Part { first, matrices, moved };
            match shape {
                Shape::Level if count < FEW => self.place_part(&above, stage),
                Shape::Level => self.place_level(jobs, &above, stage),
                Shape::Branches { part_ends, .. } => {
                    self.place_branches(jobs, &above, stage, part_ends);
                }
                Shape::Tail => self.place_branch(&above, stage),
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
    fn place_level(&self, jobs: &JobScheduler, above: &Above<'_>, level: Part<'_>) {
        let size = level.matrices.len().div_ceil(PARTS);
        let ends = std::array::from_fn(|number| level.first + (number + 1) * size);
        let parts = level.divide(ends);
        let place = |part: Part<'_>| self.place_part(above, part);
        place_on_all_threads(jobs, &parts, place);
    }

    /// Makes the matrices of branches that have nothing to do with each other, on all threads.
    fn place_branches(
        &self,
        jobs: &JobScheduler,
        above: &Above<'_>,
        stage: Part<'_>,
        part_ends: &[u32],
    ) {
        let end = stage.first + stage.matrices.len();
        let parts = stage.divide(std::array::from_fn(|number| {
            part_ends.get(number).map_or(end, |end| *end as usize)
        }));
        // Not the empty ones, too: those of one thread might be all that there are.
        let parts = &parts[..part_ends.len()];
        place_on_all_threads(jobs, parts, |branch| self.place_branch(above, branch));
    }

    /// Makes the matrices of some places of a level.
    #[inline(always)]
    fn place_part(&self, above: &Above<'_>, part: Part<'_>) {
        let Part { first, matrices, moved } = part;
        for (place, (matrix, moved)) in (first..).zip(matrices.iter_mut().zip(moved)) {
            let parent = self.hierarchy.order.parent[place];
            let parent = (parent != NONE)
                .then(|| (&above.matrices[parent as usize], above.moved[parent as usize]));
            *moved = false;
            if let Some(made) = self.made(place, parent) {
                (*matrix, *moved) = made;
            }
        }
    }

    /// Makes the matrices of some places, of which some may have their parents among them: those come first.
    #[inline(always)]
    fn place_branch(&self, above: &Above<'_>, branch: Part<'_>) {
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
            if let Some(made) = self.made(first + at, parent) {
                (matrices[0], moved[0]) = made;
            }
        }
    }

    /// The matrix of a place, if it is another one, and whether what is below it follows.
    #[inline(always)]
    fn made(&self, place: usize, parent: Option<(&Affine3A, bool)>) -> Option<(Affine3A, bool)> {
        let made = self.place(place, parent)?;
        if is_finite(&made) { Some((made, true)) } else { self.not_finite(place, made) }
    }

    /// What becomes of a place whose matrix is not finite: one that is made here is not, and the last one stays. One that is given
    /// counts as it is, as when all places are found anew: nobody follows, and who is placed by it meanwhile stays.
    #[cold]
    fn not_finite(&self, place: usize, made: Affine3A) -> Option<(Affine3A, bool)> {
        let slot = self.hierarchy.order.nodes[place];
        self.bad.note(self.hierarchy.entity_at(slot as usize));
        let is_given =
            !matches!(self.chunks[self.hierarchy.rows[place].0 as usize], Placed::Written(_));
        is_given.then_some((made, false))
    }
}

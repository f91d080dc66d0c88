//! Makes the matrices of nodes that others are below of, which have moved.
//!
//! Level by level: those of one are made of those of the level above. If few have moved, only the places of these are looked at, and of
//! those below them. If those become many, as below a root that moves, the rest is done as if many had moved: all places of a level
//! are looked at, by all threads.

use std::sync::{Mutex, PoisonError};

use ancho_entities::{Entity, World};
use ancho_jobs::JobScheduler;
use glam::Affine3A;

use crate::bits;
use crate::compose::{InputData, Inputs, is_finite};
use crate::hierarchy::{Hierarchy, Nodes, Places};
use crate::not_finite::NotFinite;
use crate::order::NONE;
use crate::outputs::{CustomLocalToWorld, LocalToWorld};

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
    let mut chunks = list_chunks(world, hierarchy, std::mem::take(buffer));
    let placing = Placing { hierarchy, chunks: &chunks, bad };
    let jobs = world.entities().jobs();
    let many_from = if are_few { placing.place_due(places) } else { Some(0) };
    if let Some(level) = many_from {
        placing.place_levels(jobs, level, places);
    }
    chunks.clear();
    // In place: the list keeps its memory, and nothing that was in it.
    *buffer = chunks.into_iter().map(|_| Placed::Nothing).collect();
    many_from.is_none()
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

/// How many places of a level one thread does: to wake others would take longer.
const FEW: usize = 512;

/// One of how many places that are left must be due at least so that all of them are looked at.
const SPREAD: usize = 8;

/// In how many parts a level is divided for all threads.
const PARTS: usize = 32;

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
        match &self.chunks[chunk as usize] {
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
        places.moved.fill(false);
        bits::for_each(&self.hierarchy.dirty, |slot| {
            let place = order.place[slot];
            if place != NONE {
                places.due[place as usize / 64] |= 1 << (place % 64);
            }
        });
        for (number, level) in order.levels().enumerate() {
            let left = order.nodes.len() - level.start;
            let count = bits::count(&places.due, &level);
            if count >= FEW && count * SPREAD >= left {
                places.due.fill(0);
                places.rows.fill(0);
                return Some(number);
            }
            for word in bits::words(&level) {
                let mask = bits::mask(word, &level);
                let mut due = places.due[word] & mask;
                places.due[word] &= !mask;
                while due != 0 {
                    self.place_one(word * 64 + due.trailing_zeros() as usize, places);
                    due &= due - 1;
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
        let node = order.nodes[place];
        for &slot in order.children(node).iter().chain([&node]) {
            rows[slot as usize / 64] |= 1 << (slot % 64);
            self.hierarchy.touch_row(slot);
            let place = order.place[slot as usize];
            if place != NONE && slot != node {
                due[place as usize / 64] |= 1 << (place % 64);
            }
        }
    }

    /// Makes the matrices of all places from a level on. Those above have been made.
    fn place_levels(&self, jobs: &JobScheduler, from: usize, places: &mut Places) {
        let Places { matrices, moved, .. } = places;
        for level in self.hierarchy.order.levels().skip(from) {
            let (above, matrices) = matrices.split_at_mut(level.start);
            let (moved_above, moved) = moved.split_at_mut(level.start);
            let above = Above { matrices: above, moved: moved_above };
            let (first, count) = (level.start, level.len());
            let (matrices, moved) = (&mut matrices[..count], &mut moved[..count]);
            let level = Part { first, matrices, moved };
            if count < FEW {
                self.place_part(&above, level);
            } else {
                self.place_level(jobs, &above, level);
            }
        }
        if moved.iter().all(|&moved| moved) {
            self.hierarchy.touch_all();
        } else {
            let moved = moved.iter().enumerate().filter(|(_, moved)| **moved);
            moved.for_each(|(place, _)| self.hierarchy.touch(place));
        }
    }

    /// Makes the matrices of a level, on all threads.
    fn place_level(&self, jobs: &JobScheduler, above: &Above<'_>, level: Part<'_>) {
        let Part { first, matrices, moved } = level;
        let size = matrices.len().div_ceil(PARTS);
        let mut parts = matrices.chunks_mut(size).zip(moved.chunks_mut(size)).enumerate();
        // Each is taken once, by the thread that does it.
        let parts: [_; PARTS] = std::array::from_fn(|_| {
            Mutex::new(parts.next().map(|(number, (matrices, moved))| Part {
                first: first + number * size,
                matrices,
                moved,
            }))
        });
        let done = jobs.named("place parents").run_parallel(
            (),
            PARTS,
            1,
            #[inline(always)]
            |(), numbers| self.place_parts(above, &parts[numbers]),
        );
        if done.is_err() {
            // Where no job can be scheduled, as inside of one, this thread does it.
            self.place_parts(above, &parts);
        }
    }

    /// Makes the matrices of those parts that nobody has taken.
    #[inline(always)]
    fn place_parts(&self, above: &Above<'_>, parts: &[Mutex<Option<Part<'_>>>]) {
        for part in parts {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(part) = part {
                self.place_part(above, part);
            }
        }
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

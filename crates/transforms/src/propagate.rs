//! Places the nodes of hierarchies that have moved.
//!
//! First the matrices of all that others are below of, level by level; then, chunk by chunk, those of all rows, which are made of
//! them. Leaves, which are most, are only touched by the second, in the order of memory. All threads do both, if there is enough to
//! do.

use std::sync::{Mutex, PoisonError};

use ancho_entities::{Changed, Entity, EntityError, Version, World};
use ancho_jobs::JobScheduler;
use glam::{Affine3A, Mat4};

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
    found: Vec<&'static [Entity]>,
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
    mark_changed(world, hierarchy, buffers, since);
    let (marked, all) = hierarchy.count_marked();
    if marked == 0 {
        return Ok(());
    }
    let are_few = marked * SPARSE < all;
    place_inner(world, hierarchy, places, buffers, are_few, bad);
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
fn mark_changed(world: &World, hierarchy: &mut Hierarchy, buffers: &mut Buffers, since: Version) {
    let nodes = || world.query::<Entity>().filter::<Nodes>().since(since);
    // They are listed before any is looked at: then several can be on their way from memory at the same time.
    let mut found: Vec<&[Entity]> = std::mem::take(&mut buffers.found);
    nodes().filter::<Changed<AllInputs>>().for_each_chunk(|entities| found.push(entities));
    found.drain(..).for_each(|entities| hierarchy.mark(entities, true));
    if hierarchy.has_given {
        type Given = Changed<(LocalToWorld, CustomLocalToWorld)>;
        nodes().filter::<Given>().for_each_chunk(|entities| found.push(entities));
        found.drain(..).for_each(|entities| hierarchy.mark(entities, false));
    }
    // In place: the list keeps its memory, and nothing that was in it.
    buffers.found = found.into_iter().map(|_| [].as_slice()).collect();
}

/// Makes the matrices of nodes that others are below of.
fn place_inner(
    world: &World,
    hierarchy: &Hierarchy,
    places: &mut Places,
    buffers: &mut Buffers,
    are_few: bool,
    bad: &NotFinite,
) {
    let mut chunks = list_chunks(world, hierarchy, std::mem::take(&mut buffers.chunks));
    let placing = Placing { hierarchy, chunks: &chunks, bad };
    if are_few {
        placing.place_due(places);
    } else {
        placing.place_levels(world.entities().jobs(), places);
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

/// How many places a level has that one thread does: to wake others would take longer.
const FEW: usize = 512;

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

    /// Makes the matrices of those places that have moved, and of those below them.
    fn place_due(&self, places: &mut Places) {
        let Places { matrices, moved, rows, due } = places;
        let order = &self.hierarchy.order;
        moved.fill(false);
        for_each_bit(&self.hierarchy.dirty, |slot| {
            let place = order.place[slot];
            if place != NONE {
                due[place as usize / 64] |= 1 << (place % 64);
            }
        });
        // Those below come later.
        for word in 0..due.len() {
            while due[word] != 0 {
                let place = word * 64 + due[word].trailing_zeros() as usize;
                due[word] &= due[word] - 1;
                let parent = order.parent[place] as usize;
                let parent = matrices.get(parent).zip(moved.get(parent));
                let Some(made) = self.made(place, parent.map(|(matrix, moved)| (matrix, *moved)))
                else {
                    continue;
                };
                (matrices[place], moved[place]) = (made, true);
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
        }
    }

    /// Makes the matrices of all places, level by level.
    fn place_levels(&self, jobs: &JobScheduler, places: &mut Places) {
        let Places { matrices, moved, .. } = places;
        for level in self.hierarchy.order.levels() {
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
            let made = self.made(place, parent);
            *moved = made.is_some();
            if let Some(made) = made {
                *matrix = made;
            }
        }
    }

    /// The matrix of a place, if it has moved, and is finite.
    #[inline(always)]
    fn made(&self, place: usize, parent: Option<(&Affine3A, bool)>) -> Option<Affine3A> {
        let made = self.place(place, parent)?;
        if !is_finite(&made) {
            let slot = self.hierarchy.order.nodes[place];
            self.bad.note(self.hierarchy.entity_at(slot as usize));
            return None;
        }
        Some(made)
    }
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
    let nodes = world.query_mut::<WrittenData>().filter::<Written>().filter_write_groups();
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

/// Calls a function for each bit that is set.
fn for_each_bit(words: &[u64], mut function: impl FnMut(usize)) {
    for (number, &word) in words.iter().enumerate() {
        let mut word = word;
        while word != 0 {
            function(number * 64 + word.trailing_zeros() as usize);
            word &= word - 1;
        }
    }
}

//! Walks the chunks that a query has found one by one, and the rows in them.

#![expect(
    unsafe_code,
    reason = "chunks of a world that is borrowed, while others have values of it"
)]

use std::slice;

use super::batch::{ChunkMarks, ChunkView};
use super::data::QueryData;
use super::matched::{Masks, Match, Place};
use super::runs::Runs;
use super::walk::Walk;
use crate::component::ComponentType;
use crate::storage::{Chunk, OutOfMemory};

/// Where a walk over all that a query has found has got to, if it is done step by step.
pub(crate) struct Cursor<'w> {
    walk: Walk<'w>,
    /// The matches that are left.
    matches: slice::Iter<'w, Match>,
    /// The one whose chunks are being walked.
    found: Option<&'w Match>,
    /// Its chunks that are left.
    list: slice::Iter<'w, u32>,
    /// What is made the world's alone, and marked.
    writes: Writes,
    marks: bool,
    /// What went wrong, if the walk ended before its end.
    failure: Option<OutOfMemory>,
    /// The chunk that was found last.
    chunk: *const Chunk,
    places: &'w [Place],
    /// Which rows of it have changed, if that is asked for row by row.
    changed: Vec<u64>,
    /// The rows of it that match: of that chunk and no other, or none.
    runs: Runs<'w>,
}

/// What a walk is going to write.
#[derive(Clone, Copy)]
pub(crate) enum Writes {
    Nothing,
    /// What a query gives to be changed.
    Data {
        /// Whether that are values in chunks, and not only their bits.
        values: bool,
        /// Marks it in a chunk, as [`QueryData::mark`].
        mark: unsafe fn(&mut ChunkMarks<'_>, &[Place]),
    },
    /// This component, which all entities have.
    Only(ComponentType),
}

impl Writes {
    /// What a query of this data gives to be changed.
    pub(crate) fn of<D: QueryData>() -> Self {
        if D::MARKS { Self::Data { values: D::WRITES, mark: D::mark } } else { Self::Nothing }
    }
}

impl<'w> Cursor<'w> {
    /// The beginning of a walk, which is one that writes, unless nothing is written.
    #[inline]
    pub(crate) fn new(walk: Walk<'w>, writes: Writes) -> Self {
        Self {
            matches: walk.matches.iter(),
            walk,
            found: None,
            list: [].iter(),
            writes,
            marks: true,
            failure: None,
            chunk: std::ptr::null(),
            places: &[],
            changed: Vec::new(),
            runs: Runs::NONE,
        }
    }

    /// Goes to the next chunk with rows that match. Returns whether there is one; if not, [`end`](Self::end) says why.
    #[inline(never)]
    pub(crate) fn next_chunk(&mut self) -> bool {
        loop {
            let (Some(&number), Some(found)) = (self.list.next(), self.found) else {
                let Some(found) = self.matches.next() else { return false };
                self.found = Some(found);
                self.list = self.walk.archetypes[found.archetype].chunks.iter();
                continue;
            };
            // SAFETY: archetypes list chunks that are there. What is borrowed here is what the world knows of the chunk.
            let chunk = unsafe { (*self.walk.chunks).get_unchecked(number) };
            // Its rows are given only once it is entered. That may panic or find no memory, and who has caught it may ask for
            // more: of the chunk before, everything was given.
            self.runs = Runs::NONE;
            if !self.walk.is_simple(found) && !self.walk.choose(chunk, found, &mut self.changed) {
                continue;
            }
            let runs = Runs::new(&found.bits, chunk);
            if !self.enter(found, number) {
                return false;
            }
            self.runs = runs;
            return true;
        }
    }

    /// Goes to a chunk of a match, of which nobody has anything yet: makes it the world's alone if it is written, and marks
    /// what is. Returns whether there was memory for that.
    #[inline]
    pub(crate) fn enter(&mut self, found: &'w Match, number: u32) -> bool {
        if let Err(failure) = self.prepare(number, found) {
            self.failure = Some(failure);
            self.matches = [].iter();
            self.list = [].iter();
            return false;
        }
        // It is made of no reference: where several walks are used in turns, others mark the chunk in between.
        // SAFETY: archetypes list chunks that are there. The address stays: no chunk comes or goes meanwhile.
        self.chunk = unsafe { (*self.walk.chunks).as_ptr().add(number as usize) };
        self.places = &found.places;
        true
    }

    /// The next rows side by side that match in the chunk: the first, and the one after the last.
    #[inline(always)]
    pub(crate) fn next_run(&mut self) -> Option<(u32, u32)> {
        let run;
        if self.runs.is_whole() {
            (run, self.runs) = self.runs.whole();
        } else {
            // SAFETY: there is a chunk, since there are runs of it. Others may have set bits since, on this thread, and have no
            // reference to them.
            let enabled = unsafe { &(*self.chunk).enabled };
            let masks = Masks { enabled, changed: &self.changed };
            (run, self.runs) = self.runs.next(&masks);
        }
        (run.start < run.end).then_some((run.start, run.end))
    }

    /// How many rows of the chunk match that no run had.
    pub(crate) fn count(&mut self) -> usize {
        if self.runs.is_whole() {
            return self.runs.whole().0.len();
        }
        // SAFETY: as in `next_run`.
        let enabled = unsafe { &(*self.chunk).enabled };
        self.runs.count(&Masks { enabled, changed: &self.changed })
    }

    /// What data is fetched from: the chunk that was found last.
    #[inline(always)]
    pub(crate) fn view(&self) -> ChunkView<'_> {
        debug_assert!(!self.chunk.is_null());
        // SAFETY: there is a chunk, and what the world knows of it does not change while this is borrowed.
        let chunk = unsafe { &*self.chunk };
        ChunkView { chunk, shared: self.walk.shared_of() }
    }

    /// Where the parts of the data are in the chunk that was found last.
    #[inline(always)]
    pub(crate) fn places(&self) -> &'w [Place] {
        self.places
    }

    /// Whether the walk went to its end.
    #[inline]
    pub(crate) fn end(&mut self) -> Result<(), OutOfMemory> {
        match self.failure.take() {
            None => Ok(()),
            Some(failure) => Err(failure),
        }
    }

    /// Makes a chunk the world's alone, and marks what is written.
    #[inline(always)]
    fn prepare(&mut self, number: u32, found: &Match) -> Result<(), OutOfMemory> {
        let (chunks, version) = (self.walk.chunks, self.walk.version);
        let is_written = match self.writes {
            Writes::Nothing => return Ok(()),
            Writes::Data { values, .. } => values,
            Writes::Only(_) => true,
        };
        // SAFETY: archetypes list chunks that are there. Nobody has anything in the memory of this one yet, if it may be shared.
        if is_written && unsafe { (*chunks).get_unchecked(number) }.may_be_shared() {
            self.walk.unshare(number)?;
        }
        if !self.marks {
            return Ok(());
        }
        // SAFETY: as above.
        let chunk = unsafe { (*chunks).get_unchecked(number) };
        match self.writes {
            Writes::Nothing => {}
            // SAFETY: these are the places of the data in the archetype of the chunk, which matches. Whoever used what is noted of
            // them was waited for, and for jobs that use something else versions were written out.
            Writes::Data { mark, .. } => unsafe {
                mark(&mut ChunkMarks { chunk, version }, &found.places);
            },
            Writes::Only(ty) => {
                let column = chunk.find(ty).expect("all entities have it").column;
                // SAFETY: as above.
                unsafe { chunk.begin_writing(column, version) };
            }
        }
        Ok(())
    }

    /// Makes everything that is written the world's alone, and marks nothing.
    pub(crate) fn make_unique(mut self) -> Result<(), OutOfMemory> {
        self.marks = false;
        while self.next_chunk() {}
        self.end()
    }
}

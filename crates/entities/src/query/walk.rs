//! A walk over all that a query has found.

#![expect(
    unsafe_code,
    reason = "chunks of a world that is borrowed, while others have values of it"
)]

use std::hint::assert_unchecked;
use std::marker::PhantomData;
use std::slice;

use super::batch::{ChunkMarks, ChunkView, SharedSource};
use super::changed_rows::has_changed_row;
use super::choice::Choice;
use super::chunk_rows::{Soon, expect_marks, rows_of_chunk, track};
use super::data::QueryData;
use super::matched::{Bit, Masks, Match, Matched, Place, matching_rows};
use super::runs::Runs;
use super::settings::Settings;
use crate::component::{ComponentType, SharedValue};
use crate::manager::EntityManager;
use crate::storage::{
    Archetypes, Chunk, Chunks, OutOfMemory, SharedValues, Storage, StorageSettings, unshare,
};
use crate::version::Version;

/// What has to be known to walk over all that a query has found.
///
/// It borrows a world for its lifetime. Values of chunks may be in use as long, so that it never borrows those, only what the
/// world knows about chunks.
pub(crate) struct Walk<'w> {
    /// Changed only if something is to be written: then the world is borrowed mutably.
    pub(super) chunks: *mut Chunks,
    pub(super) archetypes: &'w Archetypes,
    pub(super) values: &'w SharedValues,
    settings: &'w StorageSettings,
    pub(super) matched: &'w Matched,
    /// None if a value is asked for that nobody has.
    pub(super) matches: &'w [Match],
    pub(super) version: Version,
    since: Version,
    /// Whether chunks have to be looked at before they are taken.
    is_choosy: bool,
    /// The values that chunks must have, by table and index.
    shared: Vec<(u32, u32)>,
    world: PhantomData<&'w mut Chunks>,
}

/// Whether these are so many chunks that the memory of one is fetched while another is walked: more than the caches hold that
/// are close to a core.
#[inline(always)]
fn is_long<D: QueryData>(list: &[u32]) -> bool {
    D::ROW_BYTES > 0 && list.len() >= LONG
}

/// How many chunks, or pieces of them, there must be so that memory is fetched ahead.
pub(super) const LONG: usize = 128;

impl<'w> Walk<'w> {
    /// A walk that changes nothing.
    #[inline]
    pub(crate) fn reading(
        entities: &'w EntityManager,
        matched: &'w Matched,
        settings: &Settings,
    ) -> Self {
        let storage = &entities.storage;
        let chunks = (&raw const storage.chunks).cast_mut();
        let shared = asked_values(&storage.shared, settings);
        Self::new(storage, chunks, matched, settings, shared)
    }

    /// A walk that may make chunks the world's alone, and mark them as changed.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed mutably for the lifetime
    /// - until then only this uses its chunks, and what is fetched from them; or several such walks do, in turns on one
    ///   thread, which read and write different things, and no memory of chunks that one of them may write is shared
    /// - the state is the manager's
    #[inline]
    pub(crate) unsafe fn writing(
        entities: *mut EntityManager,
        matched: &'w Matched,
        settings: &Settings,
    ) -> Self {
        // SAFETY: nobody changes the values meanwhile. Comparing them is code of the user, which runs before anything is given.
        // It may use other views of a split, so that nothing is borrowed but values.
        let shared = asked_values(unsafe { &(*entities).storage.shared }, settings);
        // SAFETY: the manager is there.
        let chunks = unsafe { &raw mut (*entities).storage.chunks };
        // SAFETY: nobody changes the rest of the storage meanwhile. The chunks are not read through this reference after
        // the first change: only its other fields are kept.
        let storage = unsafe { &(*entities).storage };
        Self::new(storage, chunks, matched, settings, shared)
    }

    /// A walk for these values of shared components, which are `None` if nobody has one of them.
    #[inline(always)]
    fn new(
        storage: &'w Storage,
        chunks: *mut Chunks,
        matched: &'w Matched,
        settings: &Settings,
        shared: Option<Vec<(u32, u32)>>,
    ) -> Self {
        let matches: &[Match] = if shared.is_some() { &matched.matches } else { &[] };
        // It is put together in one go. To change it afterwards has it copied, from memory that was just written in other pieces,
        // which a CPU waits for as long as for some chunks.
        Self {
            chunks,
            archetypes: &storage.archetypes,
            values: &storage.shared,
            settings: &storage.settings,
            matched,
            matches,
            version: storage.version,
            since: settings.since.0,
            is_choosy: matched.asks_for_changes || !settings.shared().is_empty(),
            shared: shared.unwrap_or_default(),
            world: PhantomData,
        }
    }

    /// Calls a function for each row that matches, with what was fetched from its chunk.
    ///
    /// Before that, a chunk that is written is made the world's alone, and what is written is marked. It all becomes a part of
    /// the function that calls this, so that what has to be known from chunk to chunk is in registers. Whether a row matches
    /// is found out for 64 of them at a time, or more if all of those do, before the function is called for any of them.
    ///
    /// # Safety
    ///
    /// - the walk is that of a query of this data, and writes, unless it cannot be changed
    #[inline(always)]
    pub(crate) unsafe fn for_each_row<D: QueryData>(
        &self,
        mut function: impl FnMut(D::Fetch, usize),
    ) -> Result<(), OutOfMemory> {
        // SAFETY: the caller's promise.
        let matches = unsafe {
            self.for_each_plain_chunk::<D, true>(
                #[inline(always)]
                |fetch, rows| {
                    track::<D, false>(fetch, 0..rows);
                    (0..rows as usize).for_each(|row| function(fetch, row));
                },
            )
        };
        let mut changed = Vec::new();
        for found in matches {
            let list = &*self.archetypes[found.archetype].chunks;
            // Which rows of a chunk have changed is known only of one chunk at a time.
            let looks_ahead = is_long::<D>(list) && !found.asks_for_rows;
            let mut list = list.iter();
            // Whether a chunk is found is settled when its turn comes: other views of a split may have switched rows of it
            // since it was seen ahead.
            let mut ahead = list.clone();
            if looks_ahead {
                (0..2).for_each(|_| _ = self.next_chosen(&mut ahead, found, &mut changed));
            }
            let mut next = None;
            loop {
                let soon = match looks_ahead {
                    true => self.next_chosen(&mut ahead, found, &mut changed),
                    false => None,
                };
                let soon = soon.map(|soon| self.soon(soon));
                // SAFETY: both are there.
                unsafe { expect_marks::<D>(std::mem::replace(&mut next, soon), soon) };
                let number = self.next_chosen(&mut list, found, &mut changed);
                let Some(number) = number else { break };
                self.prepare::<D>(number)?;
                // SAFETY: archetypes list chunks that are there.
                let place = unsafe { self.all_chunks().add(number as usize) };
                // SAFETY: it is the world's alone by now.
                let (fetch, chunk) = unsafe { self.open::<D>(found, place) };
                let rows = 0..chunk.len;
                // SAFETY: the chunk is there, and these are its rows.
                unsafe {
                    rows_of_chunk::<D, true>(
                        found,
                        (place, fetch, rows),
                        &changed,
                        soon,
                        #[inline(always)]
                        |row| function(fetch, row),
                    );
                }
            }
        }
        Ok(())
    }

    /// Calls a function for all rows that match, those together that lie side by side: with what was fetched from their
    /// chunk, the first of them, and the one after the last. They are given as slices, or one by one: then what is off is not.
    ///
    /// # Safety
    ///
    /// - as for [`for_each_row`](Self::for_each_row)
    #[inline(always)]
    pub(crate) unsafe fn for_each_run<D: QueryData, const AS_SLICES: bool>(
        &self,
        mut function: impl FnMut(D::Fetch, usize, usize),
    ) -> Result<(), OutOfMemory> {
        // SAFETY: the caller's promise.
        let matches = unsafe {
            self.for_each_plain_chunk::<D, false>(
                #[inline(always)]
                |fetch, rows| {
                    track::<D, AS_SLICES>(fetch, 0..rows);
                    function(fetch, 0, rows as usize);
                },
            )
        };
        let mut changed = Vec::new();
        for found in matches {
            let mut list = self.archetypes[found.archetype].chunks.iter();
            while let Some(number) = self.next_chosen(&mut list, found, &mut changed) {
                self.prepare::<D>(number)?;
                // SAFETY: the chunk is there.
                let place = unsafe { self.all_chunks().add(number as usize) };
                // SAFETY: as in `for_each_row`.
                let (fetch, chunk) = unsafe { self.open::<D>(found, place) };
                let masks = Masks { enabled: &chunk.enabled, changed: &changed };
                let (mut run, mut runs) = Runs::new(&found.bits, chunk).next(&masks);
                while run.start < run.end {
                    // SAFETY: these are rows of the chunk, which are given now.
                    unsafe { track::<D, AS_SLICES>(fetch, run.clone()) };
                    function(fetch, run.start as usize, run.end as usize);
                    // SAFETY: as in `for_each_row`.
                    let masks = Masks { enabled: unsafe { &(*place).enabled }, changed: &changed };
                    (run, runs) = runs.next(&masks);
                }
            }
        }
        Ok(())
    }

    /// Calls a function for the chunks of the first matches, as long as there is nothing to think of, with what was fetched
    /// from them and how many rows they have. Returns the matches from the first on where there is.
    ///
    /// It takes a few instructions for a chunk, and is what there is mostly. The function gets no reference to a chunk: another
    /// walk may mark the chunk meanwhile.
    ///
    /// # Safety
    ///
    /// - as for [`for_each_row`](Self::for_each_row)
    #[inline(always)]
    unsafe fn for_each_plain_chunk<D: QueryData, const SHORT: bool>(
        &self,
        mut function: impl FnMut(D::Fetch, u32),
    ) -> slice::Iter<'w, Match> {
        let mut matches = self.matches.iter();
        // SAFETY: only what the world knows of chunks is borrowed.
        let may_be_shared = D::WRITES && unsafe { (*self.chunks).may_be_shared() };
        if self.is_choosy || self.matched.asks_for_bits || may_be_shared {
            return matches;
        }
        let (archetypes, chunks) = (self.archetypes.as_slice(), self.all_chunks());
        let mut kept = self.matched.chunks.get(self.archetypes);
        debug_assert!(kept.is_none_or(|kept| kept.is_of(self.archetypes, self.matches)));
        debug_assert_eq!(self.matched.plan.parts.len(), D::PARTS);
        loop {
            // The chunks of all matches, with the places for each, or those of the next match, which has the same for all.
            let (list, mut places, step) = if let Some(kept) = kept.take() {
                matches = [].iter();
                (&*kept.numbers, kept.places.as_ptr(), D::PARTS * size_of::<Place>())
            } else {
                let Some(found) = matches.as_slice().first() else { return matches };
                // SAFETY: matches are archetypes of the world.
                let list = unsafe { &*archetypes.get_unchecked(found.archetype as usize).chunks };
                if SHORT && is_long::<D>(list) {
                    return matches;
                }
                matches.next();
                (list, found.places.as_ptr(), 0)
            };
            for &number in list {
                let chunk = chunks.wrapping_add(number as usize);
                // SAFETY: there are as many places as the data has parts: in the match, or for each chunk of the list that is
                // kept, which is of a query of this data. It is right for the archetypes, so that it has the same chunks.
                let here = unsafe { slice::from_raw_parts(places, D::PARTS) };
                // SAFETY: archetypes list chunks that are there, which are the world's alone. The places are theirs.
                let (fetch, chunk) = unsafe { self.open_at::<D>(here, chunk) };
                places = places.wrapping_byte_add(step);
                let rows = chunk.len;
                // SAFETY: a chunk without rows is in no list.
                unsafe { assert_unchecked(rows > 0) };
                function(fetch, rows);
            }
        }
    }

    /// Makes a chunk the world's alone, if it is written.
    #[inline(always)]
    pub(super) fn prepare<D: QueryData>(&self, number: u32) -> Result<(), OutOfMemory> {
        // SAFETY: archetypes list chunks that are there. What is borrowed here is what the world knows of the chunk.
        if D::WRITES && unsafe { (*self.chunks).get_unchecked(number) }.may_be_shared() {
            self.unshare(number)?;
        }
        Ok(())
    }

    /// Where the chunks are, each at the place of its number. No chunk comes or goes while the world is borrowed.
    #[inline(always)]
    pub(super) fn all_chunks(&self) -> *const Chunk {
        // SAFETY: only what the world knows of chunks is borrowed.
        unsafe { (*self.chunks).as_ptr() }
    }

    /// Marks what is written of a chunk, and fetches from it.
    ///
    /// # Safety
    ///
    /// - the match is one of a query of this data, and the chunk one of its archetype, which is there for the lifetime
    /// - unless the data cannot be changed: the memory of the chunk is the world's alone, and nobody else uses what is noted of what
    ///   can be; nor of other columns, unless their versions were written out
    #[inline(always)]
    unsafe fn open<'c, D: QueryData>(
        &self,
        found: &Match,
        chunk: *const Chunk,
    ) -> (D::Fetch, &'c Chunk) {
        // SAFETY: the caller's promises.
        unsafe { self.open_at::<D>(&found.places, chunk) }
    }

    /// As [`open`](Self::open), with the places of the match.
    ///
    /// # Safety
    ///
    /// - as for [`open`](Self::open)
    #[inline(always)]
    unsafe fn open_at<'c, D: QueryData>(
        &self,
        places: &[Place],
        chunk: *const Chunk,
    ) -> (D::Fetch, &'c Chunk) {
        // SAFETY: the caller's promises.
        unsafe {
            self.mark::<D>(places, chunk);
            (self.fetch::<D>(places, chunk), &*chunk)
        }
    }

    /// Marks what is written of a chunk, whose archetype has these places.
    ///
    /// # Safety
    ///
    /// - as for [`open`](Self::open)
    #[inline(always)]
    unsafe fn mark<D: QueryData>(&self, places: &[Place], chunk: *const Chunk) {
        if D::MARKS {
            // SAFETY: the chunk is there.
            let chunk = unsafe { &*chunk };
            let mut marks = ChunkMarks { chunk, version: self.version };
            // SAFETY: these are the places in the archetype of the chunk. Whoever used what is noted of them was waited for, and
            // for jobs that use something else versions were written out.
            unsafe { D::mark(&mut marks, places) };
        }
    }

    /// Fetches from a chunk.
    ///
    /// # Safety
    ///
    /// - these are the places of a match of a query of this data, and the chunk is one of its archetype
    #[inline(always)]
    unsafe fn fetch<D: QueryData>(&self, places: &[Place], chunk: *const Chunk) -> D::Fetch {
        // SAFETY: the chunk is there, and does not change while this is borrowed.
        let chunk = unsafe { &*chunk };
        let view = ChunkView { chunk, shared: self.shared_of() };
        // SAFETY: these are the places of the data in the archetype of the chunk, which matches.
        unsafe { D::fetch(view, places) }
    }

    /// Where the values of shared components are.
    #[inline(always)]
    pub(super) fn shared_of(&self) -> SharedSource<'w> {
        SharedSource::World { archetypes: self.archetypes, values: self.values }
    }

    /// A chunk that comes soon.
    #[inline(always)]
    fn soon(&self, number: u32) -> Soon {
        // SAFETY: archetypes list chunks that are there.
        unsafe {
            let chunk = (*self.chunks).as_ptr().add(number as usize);
            Soon { memory: (*self.chunks).address(number).addr(), chunk }
        }
    }

    /// Which chunks are asked for, by what has changed in them.
    #[inline(always)]
    pub(super) fn choice(&self) -> Choice {
        Choice { since: self.since, asks_for_changes: self.matched.asks_for_changes }
    }

    /// Whether chunks have to have values of shared components.
    pub(super) fn asks_for_values(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Whether a chunk has the values of shared components that are asked for.
    pub(super) fn has_values(&self, chunk: &Chunk) -> bool {
        let has = |&value: &(u32, u32)| self.archetypes.values_of(chunk).any(|has| has == value);
        self.shared.iter().all(has)
    }

    /// The next of these chunks of a match that has something that is found, and which of its rows have changed, if that is asked
    /// for row by row.
    #[inline(always)]
    pub(super) fn next_chosen(
        &self,
        list: &mut slice::Iter<'_, u32>,
        found: &Match,
        changed: &mut Vec<u64>,
    ) -> Option<u32> {
        if self.is_simple(found) {
            return list.next().copied();
        }
        // SAFETY: archetypes list chunks that are there.
        let chunk = |number: u32| unsafe { (*self.chunks).get_unchecked(number) };
        if let (false, [Bit::On(mask)]) = (self.is_choosy, &*found.bits) {
            // Mostly one component can be switched off, and bits of rows that are not there are zero.
            let is_on =
                |number: u32| chunk(number).enabled.words(*mask).iter().any(|&word| word != 0);
            return list.copied().find(|&number| is_on(number));
        }
        list.copied().find(|&number| self.choose(chunk(number), found, changed))
    }

    /// Whether all chunks of a match are found, and all rows of them.
    #[inline(always)]
    pub(super) fn is_simple(&self, found: &Match) -> bool {
        !self.is_choosy && found.bits.is_empty()
    }

    /// Whether a chunk of a match is one of those that are asked for, and has rows that are. Finds out which of them have
    /// changed, if that is asked for row by row: before they are given, since that may count as a change.
    #[inline(never)]
    pub(super) fn choose(&self, chunk: &Chunk, found: &Match, changed: &mut Vec<u64>) -> bool {
        (self.shared.is_empty() || self.has_values(chunk))
            && self.choice().choose(chunk, found, changed)
    }

    /// Whether a row of a chunk of this match is one of those that the query finds.
    pub(crate) fn has_row(&self, found: &Match, number: u32, row: u32) -> bool {
        // SAFETY: archetypes list chunks that are there.
        let chunk = unsafe { (*self.chunks).get_unchecked(number) };
        let masks = Masks { enabled: &chunk.enabled, changed: &[] };
        let rows = || matching_rows(&found.bits, &masks, row / u64::BITS, chunk.len);
        !self.matches.is_empty()
            && self.has_values(chunk)
            && self.choice().wants(chunk, found)
            && match found.asks_for_rows {
                true => has_changed_row(chunk, found, self.since, row),
                false => rows() >> (row % u64::BITS) & 1 != 0,
            }
    }

    /// Makes a chunk the world's alone. Something is written, and nobody has anything in the memory of the chunk yet, if it is
    /// shared.
    #[cold]
    pub(super) fn unshare(&self, number: u32) -> Result<(), OutOfMemory> {
        // SAFETY: the world is borrowed mutably.
        unshare(unsafe { &mut *self.chunks }, number, self.settings)
    }
}

/// Where the values of shared components are that a query asks for.
#[inline(always)]
fn asked_values(all: &SharedValues, settings: &Settings) -> Option<Vec<(u32, u32)>> {
    if settings.shared().is_empty() {
        Some(Vec::new())
    } else {
        find_values(all, settings.shared())
    }
}

/// Where values of shared components are, by table and index. `None` if one of them is not there.
#[cold]
fn find_values(
    all: &SharedValues,
    values: &[(ComponentType, SharedValue)],
) -> Option<Vec<(u32, u32)>> {
    let find = |(ty, value): &(ComponentType, SharedValue)| {
        let table = all.table(*ty)?;
        Some((table, all.find(table, &**value).ok()?))
    };
    values.iter().map(find).collect()
}

//! Loops over the matching rows: the closures of `for_each`, `for_each_chunk` and `for_each_pair`.

#![expect(unsafe_code, reason = "chunks of a borrowed world, while items of it are alive")]

use std::fmt;
use std::hint::assert_unchecked;
use std::marker::PhantomData;
use std::num::NonZero;
use std::ops::Range;
use std::{ptr, slice};

use ancho_burst::{CpuLevel, dispatch_as};

use super::access::{Asked, sync_for_query};
use super::batch::{ChunkMarks, ChunkView, SharedSource};
pub(super) use super::cache::PREFETCH_MIN_CHUNKS;
use super::chunk_filter::{ChunkFilter, Runs, each_run, has_changed_row};
use super::data::{ChunkData, QueryData};
use super::descriptor::QueryDescriptor;
use super::state::{Bit, Masks, Match, Place, QueryState, matching_rows, rows_there};
use super::terms::Settings;
use crate::component::{ComponentType, SharedValue};
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::storage::{
    Archetypes, Chunk, Chunks, Location, OutOfMemory, SharedValues, StorageSettings, unshare,
};
use crate::version::Version;

/// A walk over the matching chunks and rows of a query.
///
/// It borrows a world for its lifetime. Values in chunks may be in use as long, so it never borrows those, only the headers of
/// chunks.
pub(super) struct Walk<'w> {
    /// Written only by walks that write: then the world is borrowed mutably.
    pub(super) chunks: *mut Chunks,
    pub(super) archetypes: &'w Archetypes,
    pub(super) values: &'w SharedValues,
    settings: &'w StorageSettings,
    pub(super) matched: &'w QueryState,
    /// Empty if a required value does not exist.
    pub(super) matches: &'w [Match],
    pub(super) version: Version,
    since: Version,
    /// Chunks are selected by changes or shared values.
    is_choosy: bool,
    /// The required shared values, by table and index.
    pub(super) shared: Vec<(u32, u32)>,
    world: PhantomData<&'w mut Chunks>,
}

/// Returns `true` if there are enough chunks that prefetching pays: more than fit in the caches close to a core.
#[inline(always)]
fn is_long<D: QueryData>(list: &[u32]) -> bool {
    D::ROW_BYTES > 0 && list.len() >= PREFETCH_MIN_CHUNKS
}

impl<'w> Walk<'w> {
    /// Creates a walk that writes nothing.
    #[inline]
    pub(super) fn reading(
        entities: &'w EntityManager,
        matched: &'w QueryState,
        settings: &Settings,
    ) -> Self {
        // SAFETY: the manager is borrowed for the lifetime, and nothing is written.
        unsafe { Self::writing(ptr::from_ref(entities).cast_mut(), matched, settings) }
    }

    /// Creates a walk that may unshare chunks, and mark them as changed.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed for the lifetime: mutably, unless nothing is written
    /// - until then only this walk uses its chunks and the data fetched from them; or several such walks take turns on one thread;
    ///   or nothing is written
    /// - walks that take turns read and write different data, and the memory of chunks that one of them may write is unshared
    /// - the state belongs to the manager
    #[inline]
    pub(super) unsafe fn writing(
        entities: *mut EntityManager,
        matched: &'w QueryState,
        settings: &Settings,
    ) -> Self {
        let shared = match settings.shared() {
            [] => Some(Vec::new()),
            // SAFETY: the shared values do not change meanwhile. Comparing them is user code, which runs before anything is yielded.
            // It may use other views of a split, so only the values are borrowed.
            asked => find_values(unsafe { &(*entities).storage.shared }, asked),
        };
        // SAFETY: the manager is borrowed for the lifetime.
        let chunks = unsafe { &raw mut (*entities).storage.chunks };
        // SAFETY: the rest of the storage does not change meanwhile. The chunks are not read through this reference after the first
        // change: only its other fields are kept.
        let storage = unsafe { &(*entities).storage };
        let matches: &[Match] = if shared.is_some() { &matched.matches } else { &[] };
        // Constructed in one expression: changing it afterwards would copy it from memory that was just written in other pieces,
        // and the CPU stalls on that for as long as for some chunks.
        Self {
            chunks,
            archetypes: &storage.archetypes,
            values: &storage.shared,
            settings: &storage.settings,
            matched,
            matches,
            version: storage.version,
            since: settings.since,
            is_choosy: matched.asks_for_changes || !settings.shared().is_empty(),
            shared: shared.unwrap_or_default(),
            world: PhantomData,
        }
    }

    /// Calls a function with the items of all matching rows, compiled for several CPU levels.
    ///
    /// # Safety
    ///
    /// - the walk is that of a query of this data, and was made by `writing` unless the data is read-only
    /// - the walk is used once
    #[inline(always)]
    pub(super) unsafe fn each_row<D: QueryData, C: FnMut(D::Item<'w>)>(
        &self,
        mut function: C,
    ) -> Result<(), OutOfMemory> {
        // The loop over chunks is inside, so the CPU level is chosen once.
        dispatch_as::<C, _, _>(
            CpuLevel::V4,
            #[inline(always)]
            move || {
                // SAFETY: the walk is that of a query of this data, and was made by `writing` unless the data is read-only. The rows
                // exist. Each is yielded once, so no other code uses its data that can be written, and the walk has unshared it.
                unsafe {
                    self.for_each_row::<D>(
                        #[inline(always)]
                        |fetch, row| function(D::get(fetch, row)),
                    )
                }
            },
        )
    }

    /// Calls a function for each matching row, with the data fetched from its chunk.
    ///
    /// Before that, it unshares a chunk that is written, and marks the written columns. It is inlined into the caller, so that
    /// state carried from chunk to chunk stays in registers. It tests 64 rows at a time, or more if all of them match, before it
    /// calls the function for any of them.
    ///
    /// # Safety
    ///
    /// - the walk is that of a query of this data, and was made by `writing` unless the data is read-only
    #[inline(always)]
    pub(super) unsafe fn for_each_row<D: QueryData>(
        &self,
        mut function: impl FnMut(D::Fetch, usize),
    ) -> Result<(), OutOfMemory> {
        // SAFETY: the walk is that of a query of this data, and was made by `writing` unless the data is read-only.
        let matches = unsafe {
            self.for_each_plain_chunk::<D, true>(
                #[inline(always)]
                |fetch, rows| {
                    track::<D>(fetch, 0..rows, false);
                    (0..rows as usize).for_each(|row| function(fetch, row));
                },
            )
        };
        let mut changed = Vec::new();
        for found in matches {
            let list = &*self.archetypes[found.archetype].chunks;
            // The changed rows are stored for one chunk at a time.
            let looks_ahead = is_long::<D>(list) && !found.asks_for_rows;
            let mut list = list.iter();
            // A chunk is selected when it is entered: other views of a split may have enabled or disabled rows since it was seen
            // ahead.
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
                // SAFETY: archetypes list existing chunks.
                unsafe { prefetch_marks::<D>(std::mem::replace(&mut next, soon), soon) };
                let number = self.next_chosen(&mut list, found, &mut changed);
                let Some(number) = number else { break };
                // SAFETY: archetypes list existing chunks, and the match is that of the chunk's archetype.
                let (fetch, place, rows) = unsafe { self.enter::<D>(found, number)? };
                // SAFETY: the chunk exists and was fetched from, these are its rows, and no other thread writes its enabled bits.
                unsafe {
                    rows_of_chunk::<D, true>(
                        found,
                        (place, fetch, 0..rows),
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

    /// Calls a function for each run of contiguous matching rows, with the data fetched from their chunk, the first row and the
    /// end. They are yielded as slices, or one by one without disabled optional data.
    ///
    /// # Safety
    ///
    /// - the walk is that of a query of this data, and was made by `writing` unless the data is read-only
    #[inline(always)]
    pub(super) unsafe fn for_each_run<D: QueryData, const AS_SLICES: bool>(
        &self,
        mut function: impl FnMut(D::Fetch, usize, usize),
    ) -> Result<(), OutOfMemory> {
        // SAFETY: the walk is that of a query of this data, and was made by `writing` unless the data is read-only.
        let matches = unsafe {
            self.for_each_plain_chunk::<D, false>(
                #[inline(always)]
                |fetch, rows| {
                    track::<D>(fetch, 0..rows, AS_SLICES);
                    function(fetch, 0, rows as usize);
                },
            )
        };
        let mut changed = Vec::new();
        for found in matches {
            let mut list = self.archetypes[found.archetype].chunks.iter();
            while let Some(number) = self.next_chosen(&mut list, found, &mut changed) {
                // SAFETY: archetypes list existing chunks, and the match is that of the chunk's archetype.
                let (fetch, place, _) = unsafe { self.enter::<D>(found, number)? };
                // SAFETY: the chunk exists.
                let mut runs = Runs::new(&found.bits, unsafe { &*place });
                loop {
                    // SAFETY: the chunk exists, and no other thread writes its enabled bits.
                    let masks = Masks { enabled: unsafe { &(*place).enabled }, changed: &changed };
                    let run;
                    (run, runs) = runs.next(&masks);
                    if run.is_empty() {
                        break;
                    }
                    // SAFETY: these are rows of the fetched chunk, which are yielded now.
                    unsafe { track::<D>(fetch, run.clone(), AS_SLICES) };
                    function(fetch, run.start as usize, run.end as usize);
                }
            }
        }
        Ok(())
    }

    /// Calls a function for the chunks of the first matches, up to the first match whose rows have to be tested. Returns the
    /// remaining matches.
    ///
    /// The function receives the fetched data and the number of rows. This is the common case, and takes a few instructions per
    /// chunk. The function gets no reference to a chunk: another walk may mark the chunk meanwhile.
    ///
    /// # Safety
    ///
    /// - the walk is that of a query of this data, and was made by `writing` unless the data is read-only
    #[inline(always)]
    unsafe fn for_each_plain_chunk<D: QueryData, const SHORT: bool>(
        &self,
        mut function: impl FnMut(D::Fetch, u32),
    ) -> slice::Iter<'w, Match> {
        let mut matches = self.matches.iter();
        // SAFETY: only the headers of chunks are borrowed.
        let may_be_shared = D::WRITES && unsafe { (*self.chunks).may_be_shared() };
        if self.is_choosy || self.matched.asks_for_bits || may_be_shared {
            return matches;
        }
        let (archetypes, chunks) = (self.archetypes.as_slice(), self.all_chunks());
        let mut kept = self.matched.chunks.get(self.archetypes);
        debug_assert!(kept.is_none_or(|kept| kept.is_of(self.archetypes, self.matches)));
        // Entities, which have no parts, are fetched with the state of any query.
        debug_assert!(D::PARTS == 0 || self.matched.plan.parts.len() == D::PARTS);
        loop {
            // The chunks of all matches with places per chunk, or those of the next match with the same places for all.
            let (list, mut places, step) = if let Some(kept) = kept.take() {
                matches = [].iter();
                (&*kept.numbers, kept.places.as_ptr(), D::PARTS * size_of::<Place>())
            } else {
                let Some(found) = matches.as_slice().first() else { return matches };
                // SAFETY: matches refer to archetypes of the world.
                let list = unsafe { &*archetypes.get_unchecked(found.archetype as usize).chunks };
                if SHORT && is_long::<D>(list) {
                    return matches;
                }
                matches.next();
                (list, found.places.as_ptr(), 0)
            };
            for &number in list {
                let chunk = chunks.at(number);
                // SAFETY: there are as many places as the data has parts: in the match, or per chunk of the cached list, which
                // belongs to a query of this data. The list is current for the archetypes, so it has the same chunks.
                let here = unsafe { slice::from_raw_parts(places, D::PARTS) };
                // SAFETY: archetypes list existing chunks, which are unshared, and the places are those of the chunk's archetype.
                let (fetch, chunk) = unsafe { self.open::<D>(here, chunk) };
                places = places.wrapping_byte_add(step);
                let rows = chunk.len;
                // SAFETY: archetypes list no chunks without rows.
                unsafe { assert_unchecked(rows > 0) };
                function(fetch, rows);
            }
        }
    }

    /// Unshares a chunk, if it is written.
    ///
    /// # Safety
    ///
    /// - the walk was made by `writing` if the data can be written
    /// - the chunk exists, and no reference to a chunk is alive; nothing was fetched from its memory if it is shared
    #[inline(always)]
    pub(super) unsafe fn prepare<D: QueryData>(&self, number: u32) -> Result<(), OutOfMemory> {
        // SAFETY: the chunk exists, the walk writes, and no reference to a chunk is alive.
        unsafe {
            if D::WRITES && (*self.chunks).get_unchecked(number).may_be_shared() {
                self.unshare(number)?;
            }
        }
        Ok(())
    }

    /// Unshares a chunk if it is written, marks its written columns, and fetches from it. Also returns its address, and the number
    /// of its rows.
    ///
    /// # Safety
    ///
    /// - the walk is that of a query of this data, and was made by `writing` unless the data is read-only
    /// - the match is one of the query, and the chunk is one of its archetype
    #[inline(always)]
    unsafe fn enter<D: QueryData>(
        &self,
        found: &Match,
        number: u32,
    ) -> Result<(D::Fetch, *const Chunk, u32), OutOfMemory> {
        // SAFETY: the chunk exists, and the walk writes what the data does. No reference to a chunk is alive, and nothing was
        // fetched from this one if it is shared: each is entered once, or is unshared by then.
        unsafe { self.prepare::<D>(number)? };
        let place = self.all_chunks().at(number);
        // SAFETY: the places are those of the chunk's archetype, and the chunk is unshared by now.
        let (fetch, chunk) = unsafe { self.open::<D>(&found.places, place) };
        Ok((fetch, place, chunk.len))
    }

    /// Returns the addresses of the chunks. No chunk is added or freed while the world is borrowed.
    #[inline(always)]
    pub(super) fn all_chunks(&self) -> ChunkTable {
        // SAFETY: only the headers of chunks are borrowed.
        ChunkTable::of(unsafe { &*self.chunks })
    }

    /// Marks the written columns of a chunk whose archetype has these places, and fetches from it.
    ///
    /// # Safety
    ///
    /// - the places are those of a match of a query of this data, and the chunk is one of its archetype, which exists for the
    ///   lifetime
    /// - unless the data is read-only: the memory of the chunk is unshared, and no other code uses the versions of columns that can
    ///   be written; nor of other columns, unless their versions were written out
    #[inline(always)]
    unsafe fn open<'c, D: QueryData>(
        &self,
        places: &[Place],
        chunk: *const Chunk,
    ) -> (D::Fetch, &'c Chunk) {
        // SAFETY: the chunk exists, and its header does not change while this is borrowed.
        let chunk = unsafe { &*chunk };
        if D::MARKS {
            let mut marks = ChunkMarks { chunk, version: self.version };
            // SAFETY: these are the places in the archetype of the chunk. Jobs that use the versions of its columns have completed,
            // and for jobs that use other columns the versions were written out.
            unsafe { D::mark(&mut marks, places) };
        }
        let view = ChunkView { chunk, shared: self.shared_of() };
        // SAFETY: these are the places of the data in the archetype of the chunk, which has the required components.
        (unsafe { D::fetch(view, places) }, chunk)
    }

    /// Returns the source of shared values.
    #[inline(always)]
    pub(super) fn shared_of(&self) -> SharedSource<'w> {
        SharedSource::World { archetypes: self.archetypes, values: self.values }
    }

    /// Returns a chunk to prefetch.
    #[inline(always)]
    fn soon(&self, number: u32) -> Prefetch {
        // SAFETY: archetypes list existing chunks.
        unsafe {
            let memory = (*self.chunks).address(number).addr();
            Prefetch { memory, chunk: self.all_chunks().at(number) }
        }
    }

    /// Returns the filter of chunks by changes.
    #[inline(always)]
    pub(super) fn choice(&self) -> ChunkFilter {
        ChunkFilter { since: self.since, asks_for_changes: self.matched.asks_for_changes }
    }

    /// Returns `true` if a chunk has the required shared values.
    pub(super) fn has_values(&self, chunk: &Chunk) -> bool {
        let has = |&value: &(u32, u32)| self.archetypes.values_of(chunk).any(|has| has == value);
        self.shared.iter().all(has)
    }

    /// Returns the next selected chunk of a match, and writes its changed rows if a change condition depends on rows.
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
        // SAFETY: archetypes list existing chunks.
        let chunk = |number: u32| unsafe { (*self.chunks).get_unchecked(number) };
        if let (false, [Bit::On(mask)]) = (self.is_choosy, &*found.bits) {
            // Mostly one component is enableable, and bits beyond the last row are zero.
            let is_on =
                |number: u32| chunk(number).enabled.words(*mask).iter().any(|&word| word != 0);
            return list.copied().find(|&number| is_on(number));
        }
        list.copied().find(|&number| self.choose(chunk(number), found, changed))
    }

    /// Returns `true` if all rows of all chunks of a match are selected.
    #[inline(always)]
    pub(super) fn is_simple(&self, found: &Match) -> bool {
        !self.is_choosy && found.bits.is_empty()
    }

    /// Returns `true` if a chunk of a match is selected and has matching rows.
    ///
    /// Writes the changed rows if a change condition depends on rows. This happens before rows are yielded, which may count as a
    /// change.
    #[inline(never)]
    pub(super) fn choose(&self, chunk: &Chunk, found: &Match, changed: &mut Vec<u64>) -> bool {
        (self.shared.is_empty() || self.has_values(chunk))
            && self.choice().choose(chunk, found, changed)
    }

    /// Returns `true` if a row of a chunk of this match matches.
    pub(super) fn has_row(&self, found: &Match, number: u32, row: u32) -> bool {
        // SAFETY: archetypes list existing chunks.
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

    /// Unshares a chunk.
    ///
    /// # Safety
    ///
    /// - the walk was made by `writing`
    /// - the chunk exists, and no reference to a chunk is alive; nothing was fetched from its memory if it is shared
    #[cold]
    pub(super) unsafe fn unshare(&self, number: u32) -> Result<(), OutOfMemory> {
        // SAFETY: the world is borrowed mutably, and no reference to the chunks is alive.
        unshare(unsafe { &mut *self.chunks }, number, self.settings)
    }

    /// Returns the item of a row, if the row matches.
    ///
    /// # Safety
    ///
    /// - the walk is that of a query of this data, and was made by `writing` unless the data is read-only
    /// - the walk is used once, and the chunk, one of this archetype, has such a row
    #[track_caller]
    pub(super) unsafe fn get<D: QueryData>(
        self,
        archetype: u32,
        Location { chunk, row }: Location,
    ) -> Option<D::Item<'w>> {
        let found = self.matched.find(archetype)?;
        if !self.has_row(found, chunk, row) {
            return None;
        }
        // SAFETY: the chunk is of the match and has this row. No other code uses it, and it is unshared when it is entered.
        unsafe {
            let (fetch, ..) = succeed(self.enter::<D>(found, chunk));
            track::<D>(fetch, row..row + 1, false);
            Some(D::get(fetch, row as usize))
        }
    }
}

/// Enables or disables a component of all entities that match a query. Returns their number.
pub(super) fn set_enabled(
    entities: &mut EntityManager,
    query: &QueryDescriptor,
    component: ComponentType,
    enabled: bool,
) -> usize {
    let (entities, mut switched) = (&*entities, 0);
    let matched = query.matched_in(entities);
    entities.sync_for_set_enabled(component);
    sync_for_query(entities, matched, Asked::Data);
    let mut chunks = SelectedChunks::new(Walk::reading(entities, matched, &query.settings));
    while let Some((found, number)) = chunks.next() {
        let chunk = &entities.storage.chunks[number];
        let place = chunk.find(component).and_then(|at| Some((at.column, at.mask()?)));
        let Some((column, mask)) = place else { continue };
        if found.bits.is_empty() {
            // SAFETY: the manager is borrowed mutably, and no item of it is alive. Jobs that use the component, or read whether it
            // is enabled, have completed, and other jobs do not see its versions.
            unsafe {
                chunk.enabled.set_rows(mask, 0, chunk.len, enabled);
                chunk.note_written_beside(column, 0, chunk.len, entities.storage.version);
            }
            switched += chunk.len as usize;
            continue;
        }
        // Matching depends on the bits of one word at a time, so earlier writes do not matter.
        for word in 0..chunk.len.div_ceil(u64::BITS) {
            let masks = Masks { enabled: &chunk.enabled, changed: &chunks.changed };
            let rows = matching_rows(&found.bits, &masks, word, chunk.len);
            if rows != 0 {
                // SAFETY: the manager is borrowed mutably, and no item of it is alive. Jobs that use the component, or read whether
                // it is enabled, have completed, and other jobs do not see its versions. The borrow for matching has ended.
                unsafe {
                    chunk.enabled.set_bits(mask, word, rows, enabled);
                    chunk.note_written_bits(column, word, rows, entities.storage.version);
                }
                switched += rows.count_ones() as usize;
            }
        }
    }
    switched
}

/// The address of the chunks of a world, by number.
#[derive(Clone, Copy)]
pub(super) struct ChunkTable(*const Chunk);

impl Default for ChunkTable {
    fn default() -> Self {
        Self(ptr::null())
    }
}

impl ChunkTable {
    #[inline(always)]
    pub(super) fn of(chunks: &Chunks) -> Self {
        Self(chunks.as_ptr())
    }

    /// Returns the address of a chunk.
    #[inline(always)]
    pub(super) fn at(self, number: u32) -> *const Chunk {
        self.0.wrapping_add(number as usize)
    }
}

/// The chunks of a walk that have matching rows, one after the other.
pub(super) struct SelectedChunks<'w> {
    pub(super) walk: Walk<'w>,
    /// The remaining matches.
    matches: slice::Iter<'w, Match>,
    /// The current match, and its remaining chunks.
    found: Option<&'w Match>,
    list: slice::Iter<'w, u32>,
    /// Changed rows of the last chunk, for conditions per row.
    pub(super) changed: Vec<u64>,
}

impl<'w> SelectedChunks<'w> {
    #[inline]
    pub(super) fn new(walk: Walk<'w>) -> Self {
        let matches = walk.matches.iter();
        Self { walk, matches, found: None, list: [].iter(), changed: Vec::new() }
    }

    /// Returns the next chunk with matching rows, and its match.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(&'w Match, u32)> {
        loop {
            if let Some(found) = self.found
                && let Some(number) =
                    self.walk.next_chosen(&mut self.list, found, &mut self.changed)
            {
                return Some((found, number));
            }
            let found = self.matches.next()?;
            self.found = Some(found);
            self.list = self.walk.archetypes[found.archetype].chunks.iter();
        }
    }

    /// Calls a function with each run of contiguous matching rows of the chunk that was found last. The chunk that is `ahead` of it
    /// in its list is prefetched: other work may have evicted the chunks from the cache.
    pub(super) fn each_run(
        &self,
        (found, number): (&Match, u32),
        ahead: usize,
        function: impl FnMut(Range<u32>),
    ) {
        // SAFETY: the headers of chunks do not change while the walk is borrowed.
        let chunks = unsafe { &*self.walk.chunks };
        if let Some(&later) = self.list.as_slice().get(ahead - 1) {
            chunks.prefetch(later);
        }
        each_run(&found.bits, &chunks[number], &self.changed, function);
    }

    /// Yields no more chunks.
    pub(super) fn stop(&mut self) {
        (self.matches, self.list) = ([].iter(), [].iter());
    }
}

/// Returns the table and index of shared values, or `None` if one of them does not exist.
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

/// Maximum number of runs among 64 rows for which a loop goes run by run.
const FEW: u32 = 4;

/// Rows per mask word.
const WORD: usize = u64::BITS as usize;

/// Returns the number of rows that are prefetched at a time.
#[inline(always)]
fn piece_rows<D: QueryData>() -> usize {
    // Mostly a multiple of the vector width, so that no single row remains.
    match 384 / D::ROW_BYTES.max(1) {
        few @ 0..8 => few.max(1),
        some @ 8..32 => some & !7,
        // Loops over small values take several vectors at a time.
        many => many.next_multiple_of(64),
    }
}

/// Records that rows are yielded for writing, one by one or as slices.
///
/// # Safety
///
/// - they are rows of the fetched chunk, in a walk that writes, unless the data is read-only
#[inline(always)]
pub(super) unsafe fn track<D: QueryData>(fetch: D::Fetch, rows: Range<u32>, as_slices: bool) {
    if D::TRACKS {
        // SAFETY: the chunk has these rows, which no other code uses.
        unsafe { D::track(fetch, rows.start as usize, rows.len(), as_slices) };
    }
}

/// Calls a function for the matching rows of a chunk, and prefetches the same rows of a later chunk. With `TRACK` it records that
/// they are yielded.
///
/// # Safety
///
/// - the chunk is one of the archetype of the match, which is that of a query of this data, and was fetched from
/// - the chunk has these rows, of which the first is a multiple of 64
/// - `changed` has the changed rows, if a change condition depends on rows
/// - no other thread writes enabled bits of these rows, nor of the prefetched chunk, unless the match has no conditions
#[inline(always)]
pub(super) unsafe fn rows_of_chunk<D: QueryData, const TRACK: bool>(
    found: &Match,
    (chunk, fetch, rows): (*const Chunk, D::Fetch, Range<u32>),
    changed: &[u64],
    soon: Option<Prefetch>,
    mut function: impl FnMut(usize),
) {
    let (mut first, end) = (rows.start as usize, rows.end as usize);
    // SAFETY: both chunks exist, and no other thread writes their enabled bits unless the match has no conditions.
    let (own, soon) = unsafe {
        let soon = soon.map(|soon| (soon, soon.words_with_rows(found)));
        (only_mask(&found.bits, chunk), soon)
    };
    let matching = |word: u32| {
        if own.is_null() {
            // An earlier reference would be invalid: the function may have marked the chunk.
            // SAFETY: the chunk exists, and its header does not change now.
            let chunk = unsafe { &*chunk };
            let masks = Masks { enabled: &chunk.enabled, changed };
            matching_rows(&found.bits, &masks, word, chunk.len) & rows_there(word, end as u32)
        } else {
            // SAFETY: the mask has a word for each 64 rows. Bits beyond the last row are zero, and a batch of a chunk has whole
            // words.
            unsafe { *own.add(word as usize) }
        }
    };
    let note = |rows: Range<usize>| {
        if TRACK {
            // SAFETY: these are rows of the fetched chunk, which are yielded now.
            unsafe { track::<D>(fetch, rows.start as u32..rows.end as u32, false) };
        }
    };
    while first < end {
        let (mut word, mut stop) = (0, end);
        if !found.bits.is_empty() {
            // Skips words in which all rows match. It does not read words of other rows, since another thread may be writing them.
            stop = first;
            while stop < end {
                let at = stop as u32 / u64::BITS;
                word = matching(at);
                if word != rows_there(at, end as u32) {
                    break;
                }
                stop = end.min(stop + WORD);
            }
        }
        if first < stop {
            note(first..stop);
            while first < stop {
                let mut next = stop;
                if let Some((soon, words)) = soon {
                    next = stop.min(first + piece_rows::<D>());
                    if has_word(words, first) {
                        match next - first {
                            // Another thread may be writing behind the last row.
                            rows if rows < piece_rows::<D>() => {
                                D::expect(soon.memory, &found.places, first, rows);
                            }
                            _ => D::expect(soon.memory, &found.places, first, piece_rows::<D>()),
                        }
                    }
                }
                (first..next).for_each(&mut function);
                first = next;
            }
            continue;
        }
        if let Some((soon, words)) = soon
            && has_word(words, first)
        {
            D::expect(soon.memory, &found.places, first, WORD);
        }
        // Contiguous rows are processed as runs, so that loops vectorise. With many runs, predicting the end of each takes longer
        // than visiting one row after the other.
        if (word & !(word << 1)).count_ones() > FEW {
            while word != 0 {
                let row = first + word.trailing_zeros() as usize;
                note(row..row + 1);
                function(row);
                word &= word - 1;
            }
        }
        while word != 0 {
            let low = word.trailing_zeros();
            let ones = (word >> low).trailing_ones();
            let run = first + low as usize..first + (low + ones) as usize;
            note(run.clone());
            run.for_each(&mut function);
            word &= u64::MAX.unbounded_shl(low + ones);
        }
        first += WORD;
    }
}

/// Returns the words of the only mask that matters, or null if there are several conditions.
///
/// # Safety
///
/// - the chunk exists, and the conditions refer to its masks
#[inline(always)]
unsafe fn only_mask(bits: &[Bit], chunk: *const Chunk) -> *const u64 {
    match bits {
        // SAFETY: the chunk exists, and it has this mask.
        [Bit::On(mask)] => unsafe { (*chunk).enabled.address(*mask) },
        _ => ptr::null(),
    }
}

/// Prefetches the versions that opening a chunk writes, for the next chunk and a later one.
///
/// Row versions are reached through a pointer, so the pointer of the later chunk is prefetched first.
///
/// # Safety
///
/// - both chunks exist
#[inline(always)]
pub(super) unsafe fn prefetch_marks<D: QueryData>(next: Option<Prefetch>, soon: Option<Prefetch>) {
    // SAFETY: both chunks exist.
    unsafe {
        if D::TRACKS
            && let Some(next) = next
        {
            (*next.chunk).versions.prefetch_rows();
        }
        if D::MARKS
            && let Some(soon) = soon
        {
            (*soon.chunk).versions.prefetch();
        }
    }
}

/// A chunk whose memory is prefetched.
///
/// Hardware prefetching works for long sequential reads. A column of a chunk ends after a few KiB, so the CPU mispredicts the end of
/// each one. Prefetching the next chunk replaces it, in small steps: a core can only have a limited number of loads in flight.
#[derive(Clone, Copy)]
pub(super) struct Prefetch {
    pub(super) memory: NonZero<usize>,
    pub(super) chunk: *const Chunk,
}

impl Prefetch {
    /// Returns the mask words with matching rows: one bit for each of the first words, and the last bit for all others.
    ///
    /// # Safety
    ///
    /// - the chunk exists, and no other thread writes its enabled bits, unless the match has no conditions
    #[inline(always)]
    unsafe fn words_with_rows(self, found: &Match) -> u64 {
        if found.bits.is_empty() {
            return u64::MAX;
        }
        // SAFETY: the chunk exists, and no other thread writes its enabled bits unless the match has no conditions.
        let chunk = unsafe { &*self.chunk };
        let masks = Masks { enabled: &chunk.enabled, changed: &[] };
        (0..chunk.len.div_ceil(u64::BITS)).fold(0, |all, word| {
            let has_rows = matching_rows(&found.bits, &masks, word, chunk.len) != 0;
            all | u64::from(has_rows) << word.min(LAST)
        })
    }
}

/// The last bit of a word.
const LAST: u32 = u64::BITS - 1;

/// Returns `true` if there are matching rows in the word of this row, by [`words_with_rows`](Prefetch::words_with_rows).
#[inline(always)]
fn has_word(words: u64, row: usize) -> bool {
    words >> (row / WORD).min(LAST as usize) & 1 != 0
}

/// Panics with the message of an error, which begins with its code.
#[cold]
#[track_caller]
pub(super) fn refuse(error: impl fmt::Display) -> ! {
    panic!("{error}")
}

/// Returns a result, or panics with the message of its error.
#[inline]
#[track_caller]
pub(super) fn succeed<T>(result: Result<T, OutOfMemory>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => refuse(EntityError::from(error)),
    }
}

/// Calls a function for the slices of all matching rows of a walk, compiled for several CPU levels.
///
/// # Safety
///
/// - the walk is that of a query of this data, and was made by `writing` unless the data is read-only
/// - the walk is used once
#[inline(always)]
pub(super) unsafe fn each_slices<'w, D: ChunkData, C: FnMut(D::Slices<'w>)>(
    walk: &Walk<'w>,
    mut function: C,
) -> Result<(), OutOfMemory> {
    dispatch_as::<C, _, _>(
        CpuLevel::V4,
        #[inline(always)]
        move || {
            // SAFETY: the walk is that of a query of this data, and was made by `writing` unless the data is read-only. The rows of
            // a run exist, each is yielded once, and the walk has unshared them.
            unsafe {
                walk.for_each_run::<D, true>(
                    #[inline(always)]
                    |fetch, first, end| function(D::slices(fetch, first, end - first)),
                )
            }
        },
    )
}

/// Calls a function with the items of each pair of rows, compiled for several CPU levels.
///
/// # Safety
///
/// - the walk is that of a query of this data, and was made by `writing` unless the data is read-only
/// - the walk is used once
#[inline(always)]
pub(super) unsafe fn each_pair<D, C>(walk: &Walk<'_>, mut function: C) -> Result<(), OutOfMemory>
where
    D: QueryData,
    C: for<'p> FnMut(D::Item<'p>, D::Item<'p>),
{
    // All rows are collected before the first is yielded.
    let mut runs = Vec::new();
    // SAFETY: the walk is that of a query of this data, and was made by `writing` unless the data is read-only.
    unsafe {
        walk.for_each_run::<D, false>(|fetch, first, end| runs.push((fetch, first, end)))?;
    }
    let runs = &*runs;
    dispatch_as::<C, _, _>(
        CpuLevel::V4,
        #[inline(always)]
        move || {
            for (at, &(fetch, first, end)) in runs.iter().enumerate() {
                for row in first..end {
                    let mut begin = row + 1;
                    for &(other_fetch, other_first, other_end) in &runs[at..] {
                        for other in begin.max(other_first)..other_end {
                            // SAFETY: both rows exist, in chunks that the walk has unshared. They differ, since no row is in two
                            // runs, and within a run the second comes after the first. No other code uses their data that can be
                            // written: earlier items are gone, since the function accepts items of any lifetime, however short.
                            unsafe { function(D::get(fetch, row), D::get(other_fetch, other)) };
                        }
                        begin = 0;
                    }
                }
            }
        },
    );
    Ok(())
}

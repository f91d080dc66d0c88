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
use super::chunk_filter::{ChunkFilter, Runs, has_changed_row};
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
/// A walk borrows a world for its lifetime. Values in chunks may be in use meanwhile, so a walk borrows only the headers of chunks,
/// and never the values.
pub(super) struct Walk<'w> {
    /// The chunks of the world. Only walks that write change them, and those borrow the world mutably.
    pub(super) chunks: *mut Chunks,
    pub(super) archetypes: &'w Archetypes,
    pub(super) values: &'w SharedValues,
    settings: &'w StorageSettings,
    pub(super) matched: &'w QueryState,
    /// The matches of the query. Empty if a required shared value does not exist in the world.
    pub(super) matches: &'w [Match],
    pub(super) version: Version,
    pub(super) since: Version,
    /// True if chunks are selected by changes or by shared values.
    is_choosy: bool,
    /// The required shared values, by table and index.
    pub(super) shared: Vec<(u32, u32)>,
    world: PhantomData<&'w mut Chunks>,
}

/// Returns `true` if prefetching pays off: the data has bytes, and there are more chunks than fit in the caches close to a core.
#[inline(always)]
fn is_long<D: QueryData>(list: &[u32]) -> bool {
    D::ROW_BYTES > 0 && list.len() >= PREFETCH_MIN_CHUNKS
}

impl<'w> Walk<'w> {
    /// Creates a walk that does not unshare or mark chunks.
    #[inline]
    pub(super) fn reading(
        entities: &'w EntityManager,
        matched: &'w QueryState,
        settings: &Settings,
    ) -> Self {
        // SAFETY: the manager is borrowed for the lifetime, nothing is written, and the state belongs to the manager.
        unsafe { Self::writing(ptr::from_ref(entities).cast_mut(), matched, settings) }
    }

    /// Creates a walk that may unshare chunks, and mark them as changed.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed for the lifetime: mutably, unless nothing is written
    /// - for the lifetime, only this walk uses the manager's chunks and the data fetched from them; or several walks made by
    ///   `writing` take turns on one thread; or nothing is written
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
            // SAFETY: the shared values do not change during the borrow. Comparing them calls user code, which may use other views
            // of a split, so only the shared values are borrowed here.
            asked => find_values(unsafe { &(*entities).storage.shared }, asked),
        };
        // SAFETY: the manager is borrowed for the lifetime.
        let chunks = unsafe { &raw mut (*entities).storage.chunks };
        // SAFETY: the other fields of the storage do not change for the lifetime. Only references to those fields are kept. The
        // chunks are accessed through the pointer instead.
        let storage = unsafe { &(*entities).storage };
        let matches: &[Match] = if shared.is_some() { &matched.matches } else { &[] };
        // The walk is constructed in one expression. Changing a field afterwards would copy the walk from memory that was just
        // written in smaller pieces. Such a copy stalls the CPU for as long as the work on several chunks takes.
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

    /// Calls a function with the items of all matching rows, in a loop compiled for several CPU levels.
    ///
    /// # Safety
    ///
    /// - the walk belongs to a query of this data, and was made by `writing` unless the data is read-only
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
                // SAFETY: the walk belongs to a query of this data, and was made by `writing` unless the data is read-only. The
                // rows exist. Each row is yielded once, so that no other code uses data of it that can be written. The walk has
                // unshared the chunks that can be written.
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
    /// Before the first row of a chunk, the chunk is unshared if it is written, and the written columns are marked. The loop is
    /// inlined into the caller, so that state carried from chunk to chunk stays in registers. It tests 64 rows at a time, or more
    /// if all of them match, before it calls the function for any of them.
    ///
    /// # Safety
    ///
    /// - the walk belongs to a query of this data, and was made by `writing` unless the data is read-only
    #[inline(always)]
    pub(super) unsafe fn for_each_row<D: QueryData>(
        &self,
        mut function: impl FnMut(D::Fetch, usize),
    ) -> Result<(), OutOfMemory> {
        // SAFETY: the walk belongs to a query of this data, and was made by `writing` unless the data is read-only.
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
            // `changed` has the changed rows of one chunk, so a filter by changed rows cannot look ahead.
            let looks_ahead = is_long::<D>(list) && !found.asks_for_rows;
            let mut list = list.iter();
            // Each chunk is selected again when it is entered, because other views of a split may have enabled or disabled rows
            // since the look-ahead.
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
                // SAFETY: archetypes list existing chunks, and the chunk belongs to the archetype of the match.
                let (fetch, place, rows) = unsafe { self.enter::<D>(found, number)? };
                // SAFETY: the chunk belongs to the archetype of the match, and `enter` has fetched from it. It has these rows, and
                // the first is zero. `changed` has its changed rows. No other thread writes enabled bits.
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
    /// end. `AS_SLICES` is true if the function yields the rows as slices, which include disabled optional data.
    ///
    /// # Safety
    ///
    /// - the walk belongs to a query of this data, and was made by `writing` unless the data is read-only
    #[inline(always)]
    pub(super) unsafe fn for_each_run<D: QueryData, const AS_SLICES: bool>(
        &self,
        mut function: impl FnMut(D::Fetch, usize, usize),
    ) -> Result<(), OutOfMemory> {
        // SAFETY: the walk belongs to a query of this data, and was made by `writing` unless the data is read-only.
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
                // SAFETY: archetypes list existing chunks, and the chunk belongs to the archetype of the match.
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
                    // SAFETY: these are rows of the fetched chunk, and the walk is one that writes unless the data is read-only.
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
    /// The function receives the fetched data and the number of rows. It receives no reference to the chunk, because another walk
    /// may mark the chunk meanwhile. This is the common case, and takes a few instructions per chunk.
    ///
    /// # Safety
    ///
    /// - the walk belongs to a query of this data, and was made by `writing` unless the data is read-only
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
        // Data without parts, such as `Entity`, is fetched with the state of any query.
        debug_assert!(D::PARTS == 0 || self.matched.plan.parts.len() == D::PARTS);
        loop {
            // Either the cached list, with the chunks of all matches and places for each chunk; or the chunks of the next match,
            // which all have the same places.
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
                // SAFETY: a match has as many places as the data has parts, and the cached list, which belongs to a query of this
                // data, has as many for each chunk. The list is up to date, so that it has these chunks.
                let here = unsafe { slice::from_raw_parts(places, D::PARTS) };
                // SAFETY: archetypes list existing chunks, no chunk is shared if the data can be written, and the places are those
                // of the chunk's archetype.
                let (fetch, chunk) = unsafe { self.open::<D>(here, chunk) };
                places = places.wrapping_byte_add(step);
                let rows = chunk.len;
                // SAFETY: archetypes list no chunks without rows.
                unsafe { assert_unchecked(rows > 0) };
                function(fetch, rows);
            }
        }
    }

    /// Unshares a chunk if the data can be written.
    ///
    /// # Safety
    ///
    /// - the walk was made by `writing` if the data can be written
    /// - the chunk exists, and no reference to a chunk is alive
    /// - if the chunk is shared, no data was fetched from its memory
    #[inline(always)]
    pub(super) unsafe fn prepare<D: QueryData>(&self, number: u32) -> Result<(), OutOfMemory> {
        // SAFETY: the chunk exists. If the data can be written, the walk was made by `writing`. No reference to a chunk is alive,
        // and no data was fetched from the chunk if it is shared.
        unsafe {
            if D::WRITES && (*self.chunks).get_unchecked(number).may_be_shared() {
                self.unshare(number)?;
            }
        }
        Ok(())
    }

    /// Unshares a chunk if the data can be written, marks its written columns, and fetches from it. Returns the fetch, the address
    /// of the chunk, and the number of its rows.
    ///
    /// # Safety
    ///
    /// - the walk belongs to a query of this data, and was made by `writing` unless the data is read-only
    /// - the match belongs to the query, and the chunk to the archetype of the match
    #[inline(always)]
    unsafe fn enter<D: QueryData>(
        &self,
        found: &Match,
        number: u32,
    ) -> Result<(D::Fetch, *const Chunk, u32), OutOfMemory> {
        // SAFETY: the chunk exists, and the walk was made by `writing` if the data can be written. No reference to a chunk is
        // alive. If the chunk is shared, no data was fetched from it: a chunk that was entered before is unshared.
        unsafe { self.prepare::<D>(number)? };
        let place = self.all_chunks().at(number);
        // SAFETY: the places are those of the match, which belongs to a query of this data. The chunk belongs to the archetype of
        // the match, and exists while the world is borrowed. `prepare` has unshared it if the data can be written. Jobs that use
        // the versions of the written columns have completed, and the versions of other columns are written out before a job uses
        // them.
        let (fetch, chunk) = unsafe { self.open::<D>(&found.places, place) };
        Ok((fetch, place, chunk.len))
    }

    /// Returns the table of chunk addresses. It stays valid while the world is borrowed, because no chunk is added or freed
    /// meanwhile.
    #[inline(always)]
    pub(super) fn all_chunks(&self) -> ChunkTable {
        // SAFETY: only the headers of chunks are borrowed.
        ChunkTable::of(unsafe { &*self.chunks })
    }

    /// Marks the written columns of a chunk whose archetype has these places, and fetches from it.
    ///
    /// # Safety
    ///
    /// - the places are those of a match of a query of this data
    /// - the chunk belongs to the archetype of the match, and exists for the lifetime
    /// - unless the data is read-only, the memory of the chunk is unshared
    /// - unless the data is read-only, no other code uses the versions of columns that can be written, nor the versions of other
    ///   columns unless they were written out
    #[inline(always)]
    unsafe fn open<'c, D: QueryData>(
        &self,
        places: &[Place],
        chunk: *const Chunk,
    ) -> (D::Fetch, &'c Chunk) {
        // SAFETY: the chunk exists, and its header does not change during the borrow.
        let chunk = unsafe { &*chunk };
        if D::MARKS {
            let mut marks = ChunkMarks { chunk, version: self.version };
            // SAFETY: these are the places of the data in the chunk's archetype. Jobs that use the versions of the written columns
            // have completed. Before a job uses the versions of other columns, they are written out.
            unsafe { D::mark(&mut marks, places) };
        }
        let view = ChunkView { chunk, shared: self.shared_of(), since: self.since };
        // SAFETY: these are the places of the data in the archetype of the chunk, which has the required components.
        (unsafe { D::fetch(view, places) }, chunk)
    }

    /// Returns the source of the chunks' shared values: the tables of the world.
    #[inline(always)]
    pub(super) fn shared_of(&self) -> SharedSource<'w> {
        SharedSource::World { archetypes: self.archetypes, values: self.values }
    }

    /// Returns the addresses for prefetching a chunk.
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

    /// Returns the next selected chunk of a match. If a change condition depends on rows, writes the chunk's changed rows to
    /// `changed`.
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
            // The most common filter: one enableable component. The bits beyond the last row are zero.
            let is_on =
                |number: u32| chunk(number).enabled.words(*mask).iter().any(|&word| word != 0);
            return list.copied().find(|&number| is_on(number));
        }
        list.copied().find(|&number| self.choose(chunk(number), found, changed))
    }

    /// Calls a function with each selected chunk: its match, its number, its metadata and its changed rows, for which `changed` is
    /// the memory.
    ///
    /// Prefetches the metadata of a later chunk, because other work may have evicted it from the cache.
    #[inline(always)]
    pub(super) fn for_each_chunk(
        &self,
        changed: &mut Vec<u64>,
        mut function: impl FnMut(&'w Match, u32, &Chunk, &[u64]),
    ) {
        // SAFETY: nothing writes the metadata of chunks during the call, because the walk has borrowed the world.
        let chunks = unsafe { &*self.chunks };
        for found in self.matches {
            let mut list = self.archetypes[found.archetype].chunks.iter();
            while let Some(number) = self.next_chosen(&mut list, found, changed) {
                if let Some(&later) = list.as_slice().get(AHEAD - 1) {
                    chunks.prefetch(later);
                }
                function(found, number, &chunks[number], changed);
            }
        }
    }

    /// Returns `true` if all rows of all chunks of a match are selected.
    #[inline(always)]
    pub(super) fn is_simple(&self, found: &Match) -> bool {
        !self.is_choosy && found.bits.is_empty()
    }

    /// Returns `true` if a chunk of a match is selected and has matching rows.
    ///
    /// If a change condition depends on rows, writes the changed rows to `changed`. This happens before rows are yielded, because
    /// yielding a row for writing counts as a change.
    #[inline(never)]
    pub(super) fn choose(&self, chunk: &Chunk, found: &Match, changed: &mut Vec<u64>) -> bool {
        (self.shared.is_empty() || self.has_values(chunk))
            && self.choice().choose(chunk, found, changed)
    }

    /// Returns `true` if a row of a chunk matches. The chunk must belong to the archetype of the match.
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
    /// - the chunk exists, and no reference to a chunk is alive
    /// - if the chunk is shared, no data was fetched from its memory
    #[cold]
    pub(super) unsafe fn unshare(&self, number: u32) -> Result<(), OutOfMemory> {
        // SAFETY: the world is borrowed mutably, and no reference to the chunks is alive.
        unshare(unsafe { &mut *self.chunks }, number, self.settings)
    }

    /// Returns the item of a row, if the row matches.
    ///
    /// # Safety
    ///
    /// - the walk belongs to a query of this data, and was made by `writing` unless the data is read-only
    /// - the walk is used once
    /// - the chunk belongs to the archetype and has the row
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
        // SAFETY: the chunk belongs to the archetype of the match and has this row. The walk is used once, so that no other code
        // uses data of the row that can be written. `enter` unshares the chunk.
        unsafe {
            let (fetch, ..) = succeed(self.enter::<D>(found, chunk));
            track::<D>(fetch, row..row + 1, false);
            Some(D::get(fetch, row as usize))
        }
    }
}

/// Enables or disables a component of all entities that match a query. Returns the number of these entities.
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
    let walk = Walk::reading(entities, matched, &query.settings);
    let mut changed = Vec::new();
    for found in walk.matches {
        let archetype = &walk.archetypes[found.archetype];
        let place = archetype.shape.index.find(component);
        let Some((column, mask)) = place.and_then(|at| Some((at.column, at.mask()?))) else {
            continue;
        };
        let version = entities.storage.version;
        let set_chunk = |chunk: &Chunk, switched: &mut usize| {
            // SAFETY: the manager is borrowed mutably, and no item of a query is alive. Jobs that use the component or its enabled
            // bits have completed, and other jobs do not use its versions.
            unsafe {
                chunk.enabled.set_every_row(mask, chunk.len, enabled);
                chunk.note_written_beside(column, 0, chunk.len, version);
            }
            *switched += chunk.len as usize;
        };
        if walk.is_simple(found) {
            for &number in &archetype.chunks {
                set_chunk(&entities.storage.chunks[number], &mut switched);
            }
            continue;
        }
        let mut list = archetype.chunks.iter();
        while let Some(number) = walk.next_chosen(&mut list, found, &mut changed) {
            let chunk = &entities.storage.chunks[number];
            if found.bits.is_empty() {
                set_chunk(chunk, &mut switched);
                continue;
            }
            // The conditions for the rows of a word read only bits of the same word, so writes to earlier words do not matter.
            for word in 0..chunk.len.div_ceil(u64::BITS) {
                let masks = Masks { enabled: &chunk.enabled, changed: &changed };
                let rows = matching_rows(&found.bits, &masks, word, chunk.len);
                if rows != 0 {
                    // SAFETY: the manager is borrowed mutably, and no item of a query is alive. Jobs that use the component or
                    // its enabled bits have completed, and other jobs do not use its versions. `masks` is not used anymore.
                    unsafe {
                        chunk.enabled.set_bits(mask, word, rows, enabled);
                        chunk.note_written_bits(column, word, rows, version);
                    }
                    switched += rows.count_ones() as usize;
                }
            }
        }
    }
    switched
}

/// The address of a world's chunk headers, indexed by chunk number.
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

/// An iterator over the chunks of a walk that have matching rows.
pub(super) struct SelectedChunks<'w> {
    pub(super) walk: Walk<'w>,
    /// The remaining matches.
    matches: slice::Iter<'w, Match>,
    /// The current match. `list` has its remaining chunks.
    found: Option<&'w Match>,
    list: slice::Iter<'w, u32>,
    /// The changed rows of the chunk that was returned last, if a change condition depends on rows.
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

    /// Ends the iteration: later calls of [`next`](Self::next) return only `None`.
    pub(super) fn stop(&mut self) {
        (self.matches, self.list) = ([].iter(), [].iter());
    }
}

/// Returns the table and the index of each of the shared values, or `None` if one of them does not exist in the world.
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

/// Number of chunks between the current chunk and the chunk that [`Walk::for_each_chunk`] prefetches.
const AHEAD: usize = 16;

/// Maximum number of runs in 64 rows that are iterated run by run. Above it, rows are iterated one by one.
const FEW: u32 = 4;

/// Number of rows per mask word.
const WORD: usize = u64::BITS as usize;

/// Returns the number of rows that are prefetched at a time.
#[inline(always)]
fn piece_rows<D: QueryData>() -> usize {
    // Usually a multiple of the vector width, so that no rows remain for a scalar loop.
    match 384 / D::ROW_BYTES.max(1) {
        few @ 0..8 => few.max(1),
        some @ 8..32 => some & !7,
        // Loops over small values process several vectors at a time.
        many => many.next_multiple_of(64),
    }
}

/// Records that rows are yielded for writing, as slices or one by one.
///
/// # Safety
///
/// - unless the data is read-only, the fetched chunk has these rows, and no other code uses them
#[inline(always)]
pub(super) unsafe fn track<D: QueryData>(fetch: D::Fetch, rows: Range<u32>, as_slices: bool) {
    if D::TRACKS {
        // SAFETY: the fetched chunk has these rows, and no other code uses them.
        unsafe { D::track(fetch, rows.start as usize, rows.len(), as_slices) };
    }
}

/// Calls a function for the matching rows of a chunk, and prefetches the same rows of a later chunk. With `TRACK`, records that the
/// rows are yielded for writing.
///
/// # Safety
///
/// - the match belongs to a query of this data, the chunk belongs to the archetype of the match, and `fetch` was fetched from the
///   chunk
/// - the chunk has these rows, and the first is a multiple of 64
/// - if a change condition depends on rows, `changed` has the changed rows of the chunk
/// - unless the match has no conditions on rows, no other thread writes enabled bits of these rows, nor of the prefetched chunk
#[inline(always)]
pub(super) unsafe fn rows_of_chunk<D: QueryData, const TRACK: bool>(
    found: &Match,
    (chunk, fetch, rows): (*const Chunk, D::Fetch, Range<u32>),
    changed: &[u64],
    soon: Option<Prefetch>,
    mut function: impl FnMut(usize),
) {
    let (mut first, end) = (rows.start as usize, rows.end as usize);
    // SAFETY: both chunks exist, and unless the match has no conditions on rows, no other thread writes their enabled bits.
    let (own, soon) = unsafe {
        let soon = soon.map(|soon| (soon, soon.words_with_rows(found)));
        (only_mask(&found.bits, chunk), soon)
    };
    let matching = |word: u32| {
        if own.is_null() {
            // The reference is created for each word, because the function may mark the chunk, which invalidates references to it.
            // SAFETY: the chunk exists, and its header does not change during the borrow.
            let chunk = unsafe { &*chunk };
            let masks = Masks { enabled: &chunk.enabled, changed };
            matching_rows(&found.bits, &masks, word, chunk.len) & rows_there(word, end as u32)
        } else {
            // SAFETY: the mask has a word for each 64 rows. Its bits need no limit at the end: bits beyond the chunk's last row are
            // zero, and batches end at whole words.
            unsafe { *own.add(word as usize) }
        }
    };
    let note = |rows: Range<usize>| {
        if TRACK {
            // SAFETY: these are rows of the fetched chunk, and no other code uses them.
            unsafe { track::<D>(fetch, rows.start as u32..rows.end as u32, false) };
        }
    };
    while first < end {
        let (mut word, mut stop) = (0, end);
        if !found.bits.is_empty() {
            // Finds the end of the words in which all rows match. Words of rows outside of the range are not read, because another
            // thread may be writing them.
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
                            // Rows behind the last one are not prefetched, because another thread may be writing them.
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
        // Contiguous rows are processed as runs, so that the compiler can vectorise the loop. With many runs, mispredicted run ends
        // cost more than processing the rows one by one.
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

/// Returns the words of a mask if the only condition is that its bit is set, and null otherwise.
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

/// Prefetches the versions that are written when a chunk is opened: the row versions of `next`, and the column versions of `soon`.
///
/// The row versions are behind a pointer, which is stored with the column versions. So the column versions are prefetched one chunk
/// earlier.
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
/// Hardware prefetching works for long sequential reads. A column of a chunk ends after a few KiB, so the hardware prefetches the
/// wrong memory at the end of each column. Loops prefetch a later chunk themselves, in small steps, because a core can have only a
/// limited number of loads in flight.
#[derive(Clone, Copy)]
pub(super) struct Prefetch {
    pub(super) memory: NonZero<usize>,
    pub(super) chunk: *const Chunk,
}

impl Prefetch {
    /// Returns one bit for each mask word, set if the word has matching rows. The last bit stands for all words from the 64th on.
    ///
    /// # Safety
    ///
    /// - the chunk exists
    /// - no other thread writes its enabled bits, unless the match has no conditions on rows
    #[inline(always)]
    unsafe fn words_with_rows(self, found: &Match) -> u64 {
        if found.bits.is_empty() {
            return u64::MAX;
        }
        // SAFETY: the chunk exists. The match has conditions on rows, so that no other thread writes the enabled bits.
        let chunk = unsafe { &*self.chunk };
        let masks = Masks { enabled: &chunk.enabled, changed: &[] };
        (0..chunk.len.div_ceil(u64::BITS)).fold(0, |all, word| {
            let has_rows = matching_rows(&found.bits, &masks, word, chunk.len) != 0;
            all | u64::from(has_rows) << word.min(LAST)
        })
    }
}

/// Index of the last bit of a word.
const LAST: u32 = u64::BITS - 1;

/// Returns `true` if the mask word of a row has matching rows. `words` is a result of
/// [`words_with_rows`](Prefetch::words_with_rows).
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

/// Returns the value of a result, or panics with the message of its error.
#[inline]
#[track_caller]
pub(super) fn succeed<T>(result: Result<T, OutOfMemory>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => refuse(EntityError::from(error)),
    }
}

/// Calls a function for the slices of all matching rows of a walk, in a loop compiled for several CPU levels.
///
/// # Safety
///
/// - the walk belongs to a query of this data, and was made by `writing` unless the data is read-only
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
            // SAFETY: the walk belongs to a query of this data, and was made by `writing` unless the data is read-only. The rows of
            // a run exist, and each row is yielded once. The walk has unshared the chunks that can be written.
            unsafe {
                walk.for_each_run::<D, true>(
                    #[inline(always)]
                    |fetch, first, end| function(D::slices(fetch, first, end - first)),
                )
            }
        },
    )
}

/// Calls a function with the items of each pair of rows, in a loop compiled for several CPU levels.
///
/// # Safety
///
/// - the walk belongs to a query of this data, and was made by `writing` unless the data is read-only
/// - the walk is used once
#[inline(always)]
pub(super) unsafe fn each_pair<D, C>(walk: &Walk<'_>, mut function: C) -> Result<(), OutOfMemory>
where
    D: QueryData,
    C: for<'p> FnMut(D::Item<'p>, D::Item<'p>),
{
    // All rows are collected before the first is yielded.
    let mut runs = Vec::new();
    // SAFETY: the walk belongs to a query of this data, and was made by `writing` unless the data is read-only.
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
                            // SAFETY: both rows exist, in chunks that the walk has unshared if they can be written. The rows
                            // differ: no row is in two runs, and within a run the second row comes after the first. No other code
                            // uses data of the rows that can be written: the function accepts items of any lifetime, however short,
                            // so it cannot have kept earlier items.
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

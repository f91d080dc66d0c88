//! A walk over all that a query has found.

#![expect(
    unsafe_code,
    reason = "chunks of a world that is borrowed, while others have values of it"
)]

use std::marker::PhantomData;

use super::data::QueryData;
use super::matched::{Match, Matched, matching_rows};
use super::runs::Runs;
use super::settings::Settings;
use crate::component::{ComponentType, SharedValue};
use crate::manager::EntityManager;
use crate::storage::{
    Archetypes, Chunk, ChunkState, Chunks, OutOfMemory, SharedValues, Storage, StorageSettings,
    unshare,
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

/// How many chunks the one that is fetched comes after the one at hand,
const SOON: usize = 2;
/// and how many chunks there must be: more than the caches hold that are close to a core.
const LONG: usize = 128;

/// What data is fetched from.
///
/// **Invariant:** the chunk is that of the places.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "nobody outside can have one")]
pub struct PieceView<'a> {
    pub(crate) chunk: &'a Chunk,
    pub(crate) archetypes: &'a Archetypes,
    pub(crate) values: &'a SharedValues,
}

/// Where it is noted that something of a chunk can have been changed.
#[expect(missing_debug_implementations, reason = "nobody outside can have one")]
pub struct PieceMarks<'a> {
    state: &'a mut ChunkState,
    version: Version,
}

impl PieceMarks<'_> {
    /// Notes that values of a column can have been changed.
    ///
    /// # Safety
    ///
    /// - the chunk has such a column
    #[inline(always)]
    pub(crate) unsafe fn mark(&mut self, column: u32) {
        // SAFETY: the caller's promise.
        unsafe { self.state.set_version_of(column, self.version) };
    }
}

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
        Self::new(storage, chunks, matched, settings)
    }

    /// A walk that may make chunks the world's alone, and mark them as changed.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed mutably for the lifetime, and until then only this uses its chunks, and what is fetched
    ///   from them
    /// - the state is the manager's
    #[inline]
    pub(crate) unsafe fn writing(
        entities: *mut EntityManager,
        matched: &'w Matched,
        settings: &Settings,
    ) -> Self {
        // SAFETY: nobody else uses the chunks.
        let chunks = unsafe { &raw mut (*entities).storage.chunks };
        // SAFETY: nobody changes the rest of the storage meanwhile. The chunks are not read through this reference after
        // the first change: only its other fields are kept.
        let storage = unsafe { &(*entities).storage };
        Self::new(storage, chunks, matched, settings)
    }

    #[inline(always)]
    fn new(
        storage: &'w Storage,
        chunks: *mut Chunks,
        matched: &'w Matched,
        settings: &Settings,
    ) -> Self {
        let mut walk = Self {
            chunks,
            archetypes: &storage.archetypes,
            values: &storage.shared,
            settings: &storage.settings,
            matched,
            matches: &matched.matches,
            version: storage.version,
            since: settings.since.0,
            is_choosy: matched.asks_for_changes,
            shared: Vec::new(),
            world: PhantomData,
        };
        if !settings.shared().is_empty() {
            walk.ask_for_values(storage, settings.shared());
        }
        walk
    }

    /// Asks for values of shared components.
    #[cold]
    fn ask_for_values(&mut self, storage: &Storage, values: &[(ComponentType, SharedValue)]) {
        // Comparing values is code of the user, which runs before anything is given.
        match find_values(storage, values) {
            Some(found) => (self.shared, self.is_choosy) = (found, true),
            None => self.matches = &[],
        }
    }

    /// Calls a function for all rows that match, those together that lie side by side: with what was fetched from their
    /// chunk, the first of them, and the one after the last.
    ///
    /// Before that, a chunk that is written is made the world's alone, and what is written is marked. It all becomes a part of
    /// the function that calls this, so that what has to be known from chunk to chunk is in registers.
    ///
    /// With `PIECEMEAL`, runs may come in pieces, each of which takes the memory with it that is used soon.
    ///
    /// # Safety
    ///
    /// - the walk is that of a query of this data, and writes, unless it cannot be changed
    #[inline(always)]
    pub(crate) unsafe fn for_each_run<D: QueryData, const PIECEMEAL: bool>(
        &self,
        mut function: impl FnMut(D::Fetch, usize, usize),
    ) -> Result<(), OutOfMemory> {
        let mut matches = self.matches.iter();
        // SAFETY: only what the world knows of chunks is borrowed.
        let may_be_shared = D::WRITES && unsafe { (*self.chunks).may_be_shared() };
        if !self.is_choosy && !self.matched.asks_for_bits && !may_be_shared {
            // Mostly there is nothing to think of. Then it takes a few instructions for a chunk.
            let (archetypes, chunks) = (self.archetypes.as_slice(), self.all_chunks::<D>());
            while let [found, rest @ ..] = matches.as_slice() {
                // SAFETY: matches are archetypes of the world.
                let list =
                    unsafe { archetypes.get_unchecked(found.archetype as usize) }.chunks.as_slice();
                if PIECEMEAL && D::ROW_BYTES > 0 && list.len() >= LONG {
                    break;
                }
                matches = rest.iter();
                for &number in list {
                    // SAFETY: archetypes list chunks that are there, which are the world's alone. The match is theirs.
                    let (fetch, chunk) =
                        unsafe { self.open::<D>(found, chunks.wrapping_add(number as usize)) };
                    function(fetch, 0, chunk.len as usize);
                }
            }
        }
        for found in matches {
            let list = self.archetypes[found.archetype].chunks.as_slice();
            let is_long = PIECEMEAL && D::ROW_BYTES > 0 && list.len() >= LONG;
            let is_simple = self.is_simple(found);
            for (at, &number) in list.iter().enumerate() {
                // SAFETY: archetypes list chunks that are there. What is borrowed here is what the world knows of the chunk,
                // which nobody else uses if it can be changed.
                let chunk = unsafe { (*self.chunks).at(number) };
                if !is_simple && !self.choose(chunk, found) {
                    continue;
                }
                if D::WRITES && chunk.may_be_shared() {
                    self.unshare(number)?;
                }
                // SAFETY: as above, and it is the world's alone by now.
                let (fetch, chunk) =
                    unsafe { self.open::<D>(found, self.all_chunks::<D>().add(number as usize)) };
                let (mut run, mut runs) = Runs::new(&found.bits, chunk).next(&chunk.enabled);
                while run.start < run.end {
                    let (first, mut end) = (run.start as usize, run.end as usize);
                    if is_long {
                        end = self.expect_rows::<D>(list.get(at + SOON), found, first, end);
                    }
                    run.start = end as u32;
                    function(fetch, first, end);
                    if run.is_empty() {
                        (run, runs) = runs.next(&chunk.enabled);
                    }
                }
            }
        }
        Ok(())
    }

    /// Where the chunks are, each at the place of its number, to be changed if something of the data is marked. No chunk comes
    /// or goes while the world is borrowed.
    #[inline(always)]
    fn all_chunks<D: QueryData>(&self) -> *mut Chunk {
        // SAFETY: only what the world knows of chunks is borrowed: mutably if something is marked, since the walk is one that
        // writes then, and nobody has a reference to it while no code of the user runs.
        unsafe {
            if D::MARKS { (*self.chunks).as_mut_ptr() } else { (*self.chunks).as_ptr().cast_mut() }
        }
    }

    /// Marks what is written of a chunk, and fetches from it.
    ///
    /// # Safety
    ///
    /// - the match is one of a query of this data, and the chunk one of its archetype, which is there for the lifetime
    /// - nobody has anything of the chunk yet, and it is the world's alone, unless the data cannot be changed
    #[inline(always)]
    unsafe fn open<'c, D: QueryData>(
        &self,
        found: &Match,
        chunk: *mut Chunk,
    ) -> (D::Fetch, &'c Chunk) {
        let Self { archetypes, values, version, .. } = *self;
        if D::MARKS {
            // SAFETY: the chunk is there. Something is written, so the world is borrowed mutably, and nobody has anything of
            // this chunk yet.
            let state = unsafe { &mut (*chunk).state };
            // SAFETY: these are the places in the archetype of the chunk.
            unsafe { D::mark(&mut PieceMarks { state, version }, &found.places) };
        }
        // SAFETY: the chunk is there, and does not change while this is borrowed.
        let chunk = unsafe { &*chunk };
        let view = PieceView { chunk, archetypes, values };
        // SAFETY: these are the places of the data in the archetype of the chunk, which matches.
        (unsafe { D::fetch(view, &found.places) }, chunk)
    }

    /// Has memory that comes soon on its way to the cache. Returns up to which row to go before the next of it is asked for.
    ///
    /// Memory is quick where a program walks through it in one line for long. A column of a chunk is over after a few KiB, so
    /// that a CPU guesses wrong at the end of each of them. It is told what comes instead. That has to be done bit by bit: it
    /// can only wait for so much at a time.
    #[inline(always)]
    fn expect_rows<D: QueryData>(
        &self,
        soon: Option<&u32>,
        found: &Match,
        first: usize,
        end: usize,
    ) -> usize {
        /// How many bytes are asked for at a time.
        const BYTES: usize = 384;
        let Some(&number) = soon else { return end };
        let end = end.min(first + BYTES / D::ROW_BYTES.max(1) + 1);
        // SAFETY: archetypes list chunks that are there.
        let memory = unsafe { (*self.chunks).address(number) }.addr();
        D::expect(memory, &found.places, &(first..end));
        end
    }

    /// Whether all chunks of a match are found, and all rows of them.
    #[inline(always)]
    pub(super) fn is_simple(&self, found: &Match) -> bool {
        !self.is_choosy && found.bits.is_empty()
    }

    /// Whether a chunk of a match is one of those that are asked for, and has rows that are.
    #[inline(never)]
    pub(super) fn choose(&self, chunk: &Chunk, found: &Match) -> bool {
        let runs = Runs::new(&found.bits, chunk);
        (!self.is_choosy || self.is_wanted(chunk, found))
            && (runs.is_whole() || runs.find_word(&chunk.enabled).is_some())
    }

    /// Whether a chunk has the values that are asked for, and what should have changed did.
    fn is_wanted(&self, chunk: &Chunk, found: &Match) -> bool {
        let has = |&value: &(u32, u32)| self.archetypes.values_of(chunk).any(|has| has == value);
        let is_new = |&column: &u32| chunk.state.version(column).is_newer_than(self.since);
        self.shared.iter().all(has)
            && found.changed.iter().all(|columns| columns.iter().any(is_new))
            && (!self.matched.order_changed || chunk.order_version.is_newer_than(self.since))
    }

    /// Whether a row of a chunk of this match is one of those that the query finds.
    pub(crate) fn has_row(&self, found: &Match, number: u32, row: u32) -> bool {
        // SAFETY: archetypes list chunks that are there.
        let chunk = unsafe { (*self.chunks).at(number) };
        let rows = || matching_rows(&found.bits, &chunk.enabled, row / u64::BITS, chunk.len);
        !self.matches.is_empty()
            && self.is_wanted(chunk, found)
            && rows() >> (row % u64::BITS) & 1 != 0
    }

    /// Makes a chunk the world's alone. Something is written, and nobody has anything of the chunk yet.
    #[cold]
    pub(super) fn unshare(&self, number: u32) -> Result<(), OutOfMemory> {
        // SAFETY: the world is borrowed mutably.
        unshare(unsafe { &mut *self.chunks }, number, self.settings)
    }
}

/// Where values of shared components are, by table and index. `None` if one of them is not there.
fn find_values(
    storage: &Storage,
    values: &[(ComponentType, SharedValue)],
) -> Option<Vec<(u32, u32)>> {
    let find = |(ty, value): &(ComponentType, SharedValue)| {
        let table = storage.shared.table(*ty)?;
        Some((table, storage.shared.find(table, &**value).ok()?))
    };
    values.iter().map(find).collect()
}

//! Walks the chunks that a query has found, and the rows in them.

#![expect(
    unsafe_code,
    reason = "chunks of a world that is borrowed, while others have values of it"
)]

use std::marker::PhantomData;
use std::slice;

use super::matched::{Bit, Match, Matched, Place, matching_rows};
use super::settings::Settings;
use crate::component::{ComponentType, SharedValue};
use crate::manager::EntityManager;
use crate::storage::{
    Archetypes, Chunk, Chunks, EnabledMasks, OutOfMemory, SharedValues, Storage, StorageSettings,
    unshare,
};
use crate::version::Version;

/// Where a walk over all that a query has found has got to.
///
/// It borrows a world for its lifetime. Values of chunks that it has passed may be in use as long, so that it never borrows
/// those, only what the world knows about chunks.
pub(crate) struct Cursor<'w> {
    /// Changed only if something is to be written: then the world is borrowed mutably.
    chunks: *mut Chunks,
    archetypes: &'w Archetypes,
    values: &'w SharedValues,
    settings: &'w StorageSettings,
    matched: &'w Matched,
    /// The matches that are left.
    matches: slice::Iter<'w, Match>,
    /// The one whose chunks are being walked.
    found: Option<&'w Match>,
    /// Its chunks that are left.
    list: slice::Iter<'w, u32>,
    version: Version,
    since: Version,
    /// The values that chunks must have, by table and index. `None` if there is no chunk with one of them.
    shared: Option<Vec<(u32, u32)>>,
    /// Whether chunks have to be looked at before they are taken.
    is_choosy: bool,
    /// What is made the world's alone, and marked.
    writes: Writes,
    marks: bool,
    /// What went wrong, if the walk ended before its end.
    failure: Option<OutOfMemory>,
    /// The chunk that was found last.
    chunk: *const Chunk,
    places: &'w [Place],
    /// The rows of it that match: of that chunk and no other, or none.
    runs: Runs<'w>,
    world: PhantomData<&'w mut Chunks>,
}

/// What a walk is going to write.
#[derive(Clone, Copy)]
pub(crate) enum Writes {
    Nothing,
    /// What the query gives to be changed.
    Data,
    /// This component, which all entities have.
    Only(ComponentType),
}

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

/// Rows side by side that match, one run after another.
struct Runs<'w> {
    /// None if all rows match.
    bits: &'w [Bit],
    rows: u32,
    /// Which word of the masks it has got to.
    at: u32,
    /// The rows of that word which match and are left.
    word: u64,
}

impl<'w> Cursor<'w> {
    /// A walk that changes nothing.
    pub(crate) fn reading(
        entities: &'w EntityManager,
        matched: &'w Matched,
        settings: &Settings,
    ) -> Self {
        let storage = &entities.storage;
        let chunks = (&raw const storage.chunks).cast_mut();
        Self::new(storage, chunks, matched, settings, Writes::Nothing)
    }

    /// A walk that makes what is written the world's alone, and marks it as changed.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed mutably for the lifetime, and until then only this uses its chunks, and what is fetched
    ///   from them
    /// - the state is the manager's
    pub(crate) unsafe fn writing(
        entities: *mut EntityManager,
        matched: &'w Matched,
        settings: &Settings,
        writes: Writes,
    ) -> Self {
        // SAFETY: nobody else uses the chunks.
        let chunks = unsafe { &raw mut (*entities).storage.chunks };
        // SAFETY: nobody changes the rest of the storage meanwhile. The chunks are not read through this reference after
        // the first change: only its other fields are kept.
        let storage = unsafe { &(*entities).storage };
        Self::new(storage, chunks, matched, settings, writes)
    }

    #[inline]
    fn new(
        storage: &'w Storage,
        chunks: *mut Chunks,
        matched: &'w Matched,
        settings: &Settings,
        writes: Writes,
    ) -> Self {
        // Comparing values is code of the user, which runs before anything is given.
        let shared = match settings.shared() {
            [] => Some(Vec::new()),
            values => find_values(storage, values),
        };
        let asks_for_values = shared.as_ref().is_none_or(|shared| !shared.is_empty());
        Self {
            chunks,
            archetypes: &storage.archetypes,
            values: &storage.shared,
            settings: &storage.settings,
            matched,
            matches: if shared.is_some() { matched.matches.iter() } else { [].iter() },
            found: None,
            list: [].iter(),
            version: storage.version,
            since: settings.since.0,
            shared,
            is_choosy: asks_for_values || matched.asks_for_changes,
            writes,
            marks: true,
            failure: None,
            chunk: std::ptr::null(),
            places: &[],
            runs: Runs::NONE,
            world: PhantomData,
        }
    }

    /// Goes to the next chunk with rows that match. Returns whether there is one; if not, [`end`](Self::end) says why.
    #[inline(never)]
    pub(crate) fn next_chunk(&mut self) -> bool {
        loop {
            let (Some(&number), Some(found)) = (self.list.next(), self.found) else {
                let Some(found) = self.matches.next() else { return false };
                self.found = Some(found);
                self.list = self.archetypes[found.archetype].chunks.iter();
                continue;
            };
            // SAFETY: archetypes list chunks that are there. What is borrowed here is what the world knows of the chunk, which
            // nobody else uses if it can be changed.
            let chunk = unsafe { (*self.chunks).at(number) };
            if self.is_choosy && !self.is_wanted(chunk, found) {
                continue;
            }
            let mut runs = Runs { bits: &found.bits, rows: chunk.len, at: u32::MAX, word: 0 };
            if !found.bits.is_empty() && !runs.find_word(&chunk.enabled) {
                continue;
            }
            // Its rows are given only once it is entered. That may panic or find no memory, and who has caught it may ask for
            // more: of the chunk before, everything was given.
            self.runs = Runs::NONE;
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
        match self.writes {
            Writes::Nothing => {}
            Writes::Data if found.writes.is_empty() => {}
            _ => {
                if let Err(failure) = self.prepare(number, found) {
                    self.failure = Some(failure);
                    self.matches = [].iter();
                    self.list = [].iter();
                    return false;
                }
            }
        }
        // SAFETY: archetypes list chunks that are there. The address stays: no chunk comes or goes meanwhile.
        self.chunk = unsafe { (*self.chunks).at(number) };
        self.places = self.matched.places(found.number);
        true
    }

    /// The next rows side by side that match in the chunk: the first, and the one after the last.
    #[inline(always)]
    pub(crate) fn next_run(&mut self) -> Option<(u32, u32)> {
        if self.runs.bits.is_empty() {
            let rows = std::mem::take(&mut self.runs.rows);
            return (rows > 0).then_some((0, rows));
        }
        // SAFETY: there is a chunk, since there are runs of it. Others may have set bits since, on this thread, and have no
        // reference to them.
        self.runs.next(unsafe { &(*self.chunk).enabled })
    }

    /// How many rows of the chunk match that no run had.
    pub(crate) fn count(&mut self) -> usize {
        if self.runs.bits.is_empty() {
            return self.runs.rows as usize;
        }
        // SAFETY: as in `next_run`.
        self.runs.count(unsafe { &(*self.chunk).enabled })
    }

    /// What data is fetched from: the chunk that was found last.
    #[inline(always)]
    pub(crate) fn view(&self) -> PieceView<'_> {
        debug_assert!(!self.chunk.is_null());
        // SAFETY: there is a chunk, and what the world knows of it does not change while this is borrowed.
        let chunk = unsafe { &*self.chunk };
        PieceView { chunk, archetypes: self.archetypes, values: self.values }
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
        // SAFETY: the world is borrowed mutably, and nobody has anything of this chunk yet.
        let chunks = unsafe { &mut *self.chunks };
        // SAFETY: archetypes list chunks that are there.
        if unsafe { chunks.at(number) }.may_be_shared() {
            unshare(chunks, number, self.settings)?;
        }
        if !self.marks {
            return Ok(());
        }
        // SAFETY: as above.
        let chunk = unsafe { chunks.at_mut(number) };
        if let Writes::Only(ty) = self.writes {
            let column = chunk.find(ty).expect("all entities have it").column;
            chunk.state.set_version(column, self.version);
            return Ok(());
        }
        for &column in &found.writes {
            chunk.state.set_version(column, self.version);
        }
        Ok(())
    }

    /// Makes everything that is written the world's alone, and marks nothing.
    pub(crate) fn make_unique(mut self) -> Result<(), OutOfMemory> {
        self.marks = false;
        while self.next_chunk() {}
        self.end()
    }

    /// Whether a chunk has the values that are asked for, and what should have changed did.
    #[inline(never)]
    fn is_wanted(&self, chunk: &Chunk, found: &Match) -> bool {
        let shared = self.shared.as_deref().unwrap_or_default();
        let has_values =
            shared.iter().all(|&value| self.archetypes.values_of(chunk).any(|has| has == value));
        let is_new = |&column: &u32| chunk.state.version(column).is_newer_than(self.since);
        has_values
            && found.changed.iter().all(|columns| columns.iter().any(is_new))
            && (!self.matched.order_changed || chunk.order_version.is_newer_than(self.since))
    }

    /// Whether a row of a chunk of this match is one of those that the query finds.
    pub(crate) fn has_row(&self, found: &Match, number: u32, row: u32) -> bool {
        // SAFETY: as in `next_chunk`.
        let chunk = unsafe { (*self.chunks).at(number) };
        self.shared.is_some()
            && self.is_wanted(chunk, found)
            && matching_rows(&found.bits, &chunk.enabled, row / u64::BITS, chunk.len)
                >> (row % u64::BITS)
                & 1
                != 0
    }
}

/// Where values of shared components are, by table and index. `None` if one of them is not there.
#[inline(never)]
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

impl Runs<'_> {
    const NONE: Self = Self { bits: &[], rows: 0, at: 0, word: 0 };

    /// Finds the next word of the masks with rows that match. Returns whether there is one.
    #[inline(never)]
    fn find_word(&mut self, masks: &EnabledMasks) -> bool {
        let words = self.rows.div_ceil(u64::BITS);
        let (mut at, mut word) = (self.at, self.word);
        while word == 0 {
            at = at.wrapping_add(1);
            if at >= words {
                self.at = words;
                return false;
            }
            word = matching_rows(self.bits, masks, at, self.rows);
        }
        (self.at, self.word) = (at, word);
        true
    }

    /// The next run: its first row, and the one after its last.
    #[inline(always)]
    fn next(&mut self, masks: &EnabledMasks) -> Option<(u32, u32)> {
        // Mostly it ends in the word at hand, if there is one at all: then nothing is called.
        let low = self.word.trailing_zeros();
        let ones = (self.word | self.word.wrapping_sub(1)).trailing_ones();
        if self.word == 0 || ones == u64::BITS {
            return self.next_across_words(masks);
        }
        self.word &= u64::MAX << ones;
        Some((self.at * u64::BITS + low, self.at * u64::BITS + ones))
    }

    #[inline(never)]
    fn next_across_words(&mut self, masks: &EnabledMasks) -> Option<(u32, u32)> {
        if !self.find_word(masks) {
            return None;
        }
        let low = self.word.trailing_zeros();
        let first = self.at * u64::BITS + low;
        // Rows below the first count as matching, so that the run ends at the first that does not.
        let ones = (self.word | ((1 << low) - 1)).trailing_ones();
        if ones < u64::BITS {
            self.word &= u64::MAX << ones;
            return Some((first, self.at * u64::BITS + ones));
        }
        self.word = 0;
        let words = self.rows.div_ceil(u64::BITS);
        let mut at = self.at + 1;
        // Whole words are passed at one look each.
        while at < words {
            let word = matching_rows(self.bits, masks, at, self.rows);
            if word != u64::MAX {
                let ones = word.trailing_ones();
                self.word = word & (u64::MAX << ones);
                self.at = at;
                return Some((first, at * u64::BITS + ones));
            }
            at += 1;
        }
        self.at = words;
        Some((first, words * u64::BITS))
    }

    /// How many rows are left.
    fn count(&mut self, masks: &EnabledMasks) -> usize {
        let mut count = 0;
        while self.find_word(masks) {
            count += self.word.count_ones() as usize;
            self.word = 0;
        }
        count
    }
}

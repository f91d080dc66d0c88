//! Chunk filter, which selects chunks by change versions, and the runs of matching rows in a chunk.

use std::ops::Range;

use super::state::{Bit, Change, Masks, Match, matching_rows};
use crate::storage::Chunk;
use crate::version::Version;

/// Selects chunks of a match by change versions and enabled bits. The default selects all chunks.
#[derive(Clone, Copy, Default)]
pub(super) struct ChunkFilter {
    pub(super) since: Version,
    pub(super) asks_for_changes: bool,
}

impl ChunkFilter {
    /// Returns `true` if all rows of all chunks of a match are selected.
    #[inline(always)]
    pub(super) fn is_simple(&self, found: &Match) -> bool {
        !self.asks_for_changes && found.bits.is_empty()
    }

    /// Returns `true` if the versions of a chunk fulfil the change conditions.
    #[inline(always)]
    pub(super) fn wants(&self, chunk: &Chunk, found: &Match) -> bool {
        !self.asks_for_changes || may_have_changed(chunk, found, self.since)
    }

    /// Returns `true` if a chunk of a match is selected and has matching rows.
    ///
    /// If a change condition depends on rows, writes the changed rows to `changed`. This happens before rows are yielded, because
    /// yielding a row for writing counts as a change.
    #[inline(always)]
    pub(super) fn choose(&self, chunk: &Chunk, found: &Match, changed: &mut Vec<u64>) -> bool {
        // Most chunks have not changed. `wants` detects that without a function call.
        self.wants(chunk, found) && self.has_rows(chunk, found, changed)
    }

    /// Returns `true` if a chunk that fulfils the change conditions has matching rows.
    #[inline(never)]
    fn has_rows(&self, chunk: &Chunk, found: &Match, changed: &mut Vec<u64>) -> bool {
        if found.asks_for_rows {
            find_changed(chunk, found, self.since, changed);
        }
        let runs = Runs::new(&found.bits, chunk);
        let masks = Masks { enabled: &chunk.enabled, changed };
        runs.is_whole() || runs.find_word(&masks).is_some()
    }
}

/// Returns `true` if a chunk can fulfil the change conditions of a match. Conditions that depend on rows count as fulfilled.
// Most chunks have not changed. That is detected without a function call, unless there are `Or` alternatives. The compiler does not
// inline iterators here, so the function has loops.
#[inline(always)]
pub(super) fn may_have_changed(chunk: &Chunk, found: &Match, since: Version) -> bool {
    for bit in &found.changed {
        let may_be = match bit {
            Bit::Changed(which) => may_have_happened(chunk, &found.changes[*which as usize], since),
            _ => may_fulfil(std::slice::from_ref(bit), chunk, found, since),
        };
        if !may_be {
            return false;
        }
    }
    true
}

#[inline(never)]
fn may_fulfil(bits: &[Bit], chunk: &Chunk, found: &Match, since: Version) -> bool {
    bits.iter().all(|bit| match bit {
        Bit::Changed(which) => may_have_happened(chunk, &found.changes[*which as usize], since),
        Bit::Or(lists) => lists.iter().any(|bits| may_fulfil(bits, chunk, found, since)),
        Bit::On(_) | Bit::Off(_) | Bit::Any(_) => true,
    })
}

/// Returns `true` if the versions of a chunk show that a change may have happened to some of its rows.
#[inline(always)]
fn may_have_happened(chunk: &Chunk, change: &Change, since: Version) -> bool {
    match change {
        Change::Columns(columns) => {
            for column in columns {
                if chunk.versions.version(column.column).is_newer_than(since) {
                    return true;
                }
            }
            false
        }
        Change::Order => chunk.order_version.is_newer_than(since),
    }
}

/// Returns `true` if a change has happened that applies to all rows of a chunk.
fn is_whole(chunk: &Chunk, change: &Change, since: Version) -> bool {
    match change {
        Change::Columns(columns) => columns.iter().any(|column| {
            column.tracked().is_none() && chunk.versions.version(column.column).is_newer_than(since)
        }),
        Change::Order => chunk.order_version.is_newer_than(since),
    }
}

/// Writes the changed rows of a chunk to `into`: for each change of the match, one bit per row. Bits beyond the last row are zero.
pub(super) fn find_changed(chunk: &Chunk, found: &Match, since: Version, into: &mut Vec<u64>) {
    let words = chunk.len.div_ceil(u64::BITS) as usize;
    into.clear();
    into.resize(words * found.changes.len(), 0);
    let rest = chunk.len % u64::BITS;
    for (change, rows) in found.changes.iter().zip(into.chunks_exact_mut(words.max(1))) {
        match (change, chunk.versions.tracking()) {
            (Change::Columns(columns), Some(tracking)) if !is_whole(chunk, change, since) => {
                for at in columns.iter().filter_map(|column| column.tracked()) {
                    tracking.add_newer(at, since, rows);
                }
            }
            _ if is_whole(chunk, change, since) => rows.fill(u64::MAX),
            _ => {}
        }
        if let Some(last) = rows.last_mut()
            && rest > 0
        {
            *last &= (1 << rest) - 1;
        }
    }
}

/// Returns `true` if a row fulfils all conditions of a match that has change conditions on rows.
pub(super) fn has_changed_row(chunk: &Chunk, found: &Match, since: Version, row: u32) -> bool {
    fulfils(&found.bits, chunk, found, since, row)
}

fn fulfils(bits: &[Bit], chunk: &Chunk, found: &Match, since: Version, row: u32) -> bool {
    let (word, bit) = ((row / u64::BITS) as usize, row % u64::BITS);
    let is_on = |mask: u32| chunk.enabled.word(mask, word) >> bit & 1 != 0;
    bits.iter().all(|bit| match bit {
        Bit::On(mask) => is_on(*mask),
        Bit::Off(mask) => !is_on(*mask),
        Bit::Any(masks) => masks.iter().any(|&mask| is_on(mask)),
        Bit::Or(lists) => lists.iter().any(|bits| fulfils(bits, chunk, found, since, row)),
        Bit::Changed(which) => has_happened(chunk, &found.changes[*which as usize], since, row),
    })
}

/// Returns `true` if a change has happened to a row.
fn has_happened(chunk: &Chunk, change: &Change, since: Version, row: u32) -> bool {
    let of_row = match (change, chunk.versions.tracking()) {
        (Change::Columns(columns), Some(tracking)) => {
            let mut tracked = columns.iter().filter_map(|column| column.tracked());
            tracked.any(|at| tracking.version(at, row).is_newer_than(since))
        }
        _ => false,
    };
    of_row || is_whole(chunk, change, since)
}

/// An iterator over the runs of contiguous matching rows of a chunk.
///
/// Each step takes the iterator by value and returns the next state, so that it stays in registers.
#[derive(Clone, Copy)]
pub(crate) struct Runs<'w> {
    /// The conditions on rows. Empty if all rows match.
    bits: &'w [Bit],
    rows: u32,
    /// Index of the current mask word.
    at: u32,
    /// The remaining matching rows of the current mask word.
    word: u64,
}

impl<'w> Runs<'w> {
    pub(crate) const NONE: Self = Self { bits: &[], rows: 0, at: 0, word: 0 };

    /// Creates the runs of a chunk's rows that fulfil these conditions.
    #[inline(always)]
    pub(crate) fn new(bits: &'w [Bit], chunk: &Chunk) -> Self {
        Self { bits, rows: chunk.len, at: u32::MAX, word: 0 }
    }

    /// Returns `true` if all rows match.
    #[inline(always)]
    pub(crate) fn is_whole(&self) -> bool {
        self.bits.is_empty()
    }

    /// Returns all rows as one run, and the iterator at its end.
    #[inline(always)]
    pub(crate) fn whole(self) -> (Range<u32>, Self) {
        (0..self.rows, Self { rows: 0, ..self })
    }

    /// Moves to the next mask word with matching rows. Returns `None` if no such word is left.
    #[inline(never)]
    pub(crate) fn find_word(self, masks: &Masks<'_>) -> Option<Self> {
        let words = self.rows.div_ceil(u64::BITS);
        let (mut at, mut word) = (self.at, self.word);
        while word == 0 {
            at = at.wrapping_add(1);
            if at >= words {
                return None;
            }
            word = matching_rows(self.bits, masks, at, self.rows);
        }
        Some(Self { at, word, ..self })
    }

    /// Returns the next run and the iterator after it. The run is empty at the end.
    #[inline(always)]
    pub(crate) fn next(self, masks: &Masks<'_>) -> (Range<u32>, Self) {
        if self.is_whole() {
            return self.whole();
        }
        // Most runs end in the current word, and need no function call.
        let low = self.word.trailing_zeros();
        let ones = (self.word | self.word.wrapping_sub(1)).trailing_ones();
        if self.word == 0 || ones == u64::BITS {
            return self.next_across_words(masks);
        }
        let first = self.at * u64::BITS;
        (first + low..first + ones, Self { word: self.word & (u64::MAX << ones), ..self })
    }

    /// Returns the next run when the current word is empty, or the run continues in the next word.
    #[inline(always)]
    fn next_across_words(self, masks: &Masks<'_>) -> (Range<u32>, Self) {
        let Self { bits, rows, at, word } = self;
        let (run, word) = run_across_words(bits, masks, rows, at, word);
        let run = (run >> u32::BITS) as u32..run as u32;
        let at = run.end / u64::BITS;
        (run, Self { bits, rows, at, word })
    }

    /// Returns the number of remaining matching rows.
    pub(crate) fn count(mut self, masks: &Masks<'_>) -> usize {
        let mut count = 0;
        while let Some(found) = self.find_word(masks) {
            count += found.word.count_ones() as usize;
            self = Self { word: 0, ..found };
        }
        count
    }
}

/// Calls a function with each run of contiguous rows of a chunk that fulfil these conditions. `changed` has the changed rows of the
/// chunk.
#[inline(always)]
pub(super) fn each_run(
    bits: &[Bit],
    chunk: &Chunk,
    changed: &[u64],
    mut function: impl FnMut(Range<u32>),
) {
    let masks = Masks { enabled: &chunk.enabled, changed };
    let (mut run, mut runs) = Runs::new(bits, chunk).next(&masks);
    while !run.is_empty() {
        function(run);
        (run, runs) = runs.next(&masks);
    }
}

/// Returns the next run, starting with a mask word, and the remaining matching rows of the word in which the run ends.
///
/// The run is packed into one number, so that it stays in registers: the upper half is its first row, the lower half its end. If
/// there is no further run, the run is empty and starts behind the last word.
#[inline(never)]
fn run_across_words(bits: &[Bit], masks: &Masks<'_>, rows: u32, at: u32, word: u64) -> (u64, u64) {
    let words = rows.div_ceil(u64::BITS);
    let Some(Runs { mut at, word, .. }) = (Runs { bits, rows, at, word }).find_word(masks) else {
        let end = u64::from(words * u64::BITS);
        return (end << u32::BITS | end, 0);
    };
    let low = word.trailing_zeros();
    let first = at * u64::BITS + low;
    // The rows before the first matching row are set, so that `trailing_ones` finds the end of the run.
    let mut ones = (word | ((1 << low) - 1)).trailing_ones();
    let mut left = word;
    // A word in which all rows match takes one test.
    while ones == u64::BITS {
        at += 1;
        left = if at < words { matching_rows(bits, masks, at, rows) } else { 0 };
        ones = left.trailing_ones();
    }
    let end = at * u64::BITS + ones;
    (u64::from(first) << u32::BITS | u64::from(end), left & u64::MAX.unbounded_shl(ones))
}

//! The rows of a chunk that match, while those of another are on their way.

#![expect(unsafe_code, reason = "rows of a chunk that is there")]

use std::num::NonZero;
use std::ops::Range;

use super::data::QueryData;
use super::matched::{Bit, Masks, Match, matching_rows, rows_there};
use crate::storage::Chunk;

/// How many runs there may be among 64 rows so that they are gone through run by run.
const FEW: u32 = 4;

/// How many rows have their bits in one word.
const WORD: usize = u64::BITS as usize;

/// How many rows of a chunk are fetched at a time.
#[inline(always)]
fn piece_rows<D: QueryData>() -> usize {
    // Mostly a multiple of what a vector has, so that no row is left to be done alone.
    match 384 / D::ROW_BYTES.max(1) {
        few @ 0..8 => few.max(1),
        some @ 8..32 => some & !7,
        // Loops over small values take several vectors at a time.
        many => many.next_multiple_of(64),
    }
}

/// Notes that rows are given to be changed, one by one or as slices.
///
/// # Safety
///
/// - they are rows of the chunk that was fetched from, in a walk that writes, unless the data cannot be changed
#[inline(always)]
pub(super) unsafe fn track<D: QueryData, const AS_SLICES: bool>(fetch: D::Fetch, rows: Range<u32>) {
    if D::TRACKS {
        // SAFETY: there are such rows, which nobody else uses.
        unsafe { D::track(fetch, rows.start as usize, rows.len(), AS_SLICES) };
    }
}

/// Calls a function for those rows of a chunk that match. Rows at the same places of another one, which comes soon, are on
/// their way then. With `TRACK` it is noted that they are given.
///
/// # Safety
///
/// - the chunk is one of the archetype of the match, which is that of a query of this data, and was fetched from
/// - the chunk has these rows, of which the first is a multiple of 64
/// - these are the rows that have changed, if that is asked for
/// - no other thread switches bits of these rows, nor of the chunk that comes soon, unless the match has no conditions
#[inline(always)]
pub(super) unsafe fn rows_of_chunk<D: QueryData, const TRACK: bool>(
    found: &Match,
    (chunk, fetch, rows): (*const Chunk, D::Fetch, Range<u32>),
    changed: &[u64],
    soon: Option<Soon>,
    mut function: impl FnMut(usize),
) {
    let (mut first, end) = (rows.start as usize, rows.end as usize);
    // SAFETY: the chunk is there. For the other one it is the caller's promise.
    let (own, soon) = unsafe {
        let soon = soon.map(|soon| (soon, soon.words_with_rows(found)));
        (only_mask(&found.bits, chunk), soon)
    };
    let matching = |word: u32| {
        if own.is_null() {
            // A reference from before the function would not do: others may have marked the chunk.
            // SAFETY: the chunk is there, and nobody changes what the world knows of it now.
            let chunk = unsafe { &*chunk };
            let masks = Masks { enabled: &chunk.enabled, changed };
            matching_rows(&found.bits, &masks, word, chunk.len) & rows_there(word, end as u32)
        } else {
            // SAFETY: there is a word for each 64 rows. Rows that are not there have no bits, and a part of a chunk has whole words.
            unsafe { *own.add(word as usize) }
        }
    };
    while first < end {
        let (mut word, mut stop) = (0, end);
        if !found.bits.is_empty() {
            // Words of which all rows match are passed at one look each. Those of other rows are not looked at: another thread may
            // be switching bits of them.
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
            if TRACK {
                // SAFETY: these are rows of the chunk, which are given now.
                unsafe { track::<D, false>(fetch, first as u32..stop as u32) };
            }
            while first < stop {
                let mut next = stop;
                if let Some((soon, words)) = soon {
                    next = stop.min(first + piece_rows::<D>());
                    if has_word(words, first) {
                        match next - first {
                            // Behind the last row is what others may be writing.
                            rows if rows < piece_rows::<D>() => {
                                soon.expect_rows::<D>(found, first, rows);
                            }
                            _ => soon.expect_rows::<D>(found, first, piece_rows::<D>()),
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
            soon.expect_rows::<D>(found, first, WORD);
        }
        // Rows side by side come together, so that there are loops over them that can use vectors. But to guess where each
        // of many ends takes longer than to look for one row after the other.
        if (word & !(word << 1)).count_ones() > FEW {
            while word != 0 {
                let row = first + word.trailing_zeros() as usize;
                if TRACK {
                    // SAFETY: these are rows of the chunk, which are given now.
                    unsafe { track::<D, false>(fetch, row as u32..row as u32 + 1) };
                }
                function(row);
                word &= word - 1;
            }
        }
        while word != 0 {
            let low = word.trailing_zeros();
            let ones = (word >> low).trailing_ones();
            let start = first as u32 + low;
            if TRACK {
                // SAFETY: these are rows of the chunk, which are given now.
                unsafe { track::<D, false>(fetch, start..start + ones) };
            }
            (start as usize..(start + ones) as usize).for_each(&mut function);
            word &= u64::MAX.unbounded_shl(low + ones);
        }
        first += WORD;
    }
}

/// Where the words of the only mask are that counts, of a chunk, or null if others count too.
///
/// # Safety
///
/// - the chunk is there, and the conditions are on its masks
#[inline(always)]
unsafe fn only_mask(bits: &[Bit], chunk: *const Chunk) -> *const u64 {
    match bits {
        // SAFETY: the caller's promise.
        [Bit::On(mask)] => unsafe { (*chunk).enabled.address(*mask) },
        _ => std::ptr::null(),
    }
}

/// Has what is marked when a chunk is opened on its way to the cache, for the next one and one that comes soon: where it is noted of
/// rows, one is found by way of the other.
///
/// # Safety
///
/// - the chunks are there
#[inline(always)]
pub(super) unsafe fn expect_marks<D: QueryData>(next: Option<Soon>, soon: Option<Soon>) {
    // SAFETY: the caller's promise.
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

/// A chunk that comes soon, so that its memory can be on its way.
#[derive(Clone, Copy)]
pub(super) struct Soon {
    pub(super) memory: NonZero<usize>,
    pub(super) chunk: *const Chunk,
}

impl Soon {
    /// Has rows on their way to the cache.
    ///
    /// Memory is quick where a program walks through it in one line for long. A column of a chunk is over after a few KiB, so
    /// that a CPU guesses wrong at the end of each of them. It is told what comes instead. That has to be done bit by bit: it
    /// can only wait for so much at a time.
    #[inline(always)]
    fn expect_rows<D: QueryData>(self, found: &Match, first: usize, count: usize) {
        D::expect(self.memory, &found.places, first, count);
    }

    /// In which words of the masks there are rows that match: a bit for each of the first, and the last bit for all others.
    ///
    /// # Safety
    ///
    /// - the chunk is there, and no other thread switches bits of it, unless the match has no conditions
    #[inline(always)]
    unsafe fn words_with_rows(self, found: &Match) -> u64 {
        if found.bits.is_empty() {
            return u64::MAX;
        }
        // SAFETY: the caller's promise.
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

/// Whether there are rows that match in the word of this row, by [`words_with_rows`](Soon::words_with_rows).
#[inline(always)]
fn has_word(words: u64, row: usize) -> bool {
    words >> (row / WORD).min(LAST as usize) & 1 != 0
}

//! What has changed in a chunk: in all of it, or in rows of it, where a component is tracked row by row.

use super::matched::{Bit, Change, Match};
use crate::storage::Chunk;
use crate::version::Version;

/// Whether a chunk fulfils the conditions of a match about changes, with what is not known of whole chunks taken as true.
// Mostly nothing has changed, which is found out without a call, unless there are several possibilities. The compiler makes
// functions of iterators here, hence loops.
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

/// Whether a change has happened to rows of a chunk, perhaps to all.
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

/// Whether a change has happened to all rows of a chunk at once.
fn is_whole(chunk: &Chunk, change: &Change, since: Version) -> bool {
    match change {
        Change::Columns(columns) => columns.iter().any(|column| {
            column.tracked().is_none() && chunk.versions.version(column.column).is_newer_than(since)
        }),
        Change::Order => chunk.order_version.is_newer_than(since),
    }
}

/// Finds the rows of a chunk to which the changes have happened that a match asks for: for each change, a bit for each row. Bits of
/// rows that are not there are zero.
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

/// Whether a row of a chunk fulfils all conditions of a match, where it is asked for changes row by row.
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

/// Whether a change has happened to a row of a chunk.
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

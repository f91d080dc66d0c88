//! Which rows of a chunk have changed, of components that are tracked row by row.

use super::matched::{ChangedColumn, Match};
use crate::storage::Chunk;
use crate::version::Version;

/// Whether one of the columns has changed for all rows of a chunk at once.
fn is_whole(chunk: &Chunk, columns: &[ChangedColumn], since: Version) -> bool {
    columns.iter().any(|column| {
        column.tracked().is_none() && chunk.state.version(column.column).is_newer_than(since)
    })
}

/// Finds the rows of a chunk that have changed as a match asks for: a bit for each, or no words if they all have, as far as
/// is known of rows. Bits of rows that are not there are zero.
pub(super) fn find_changed(chunk: &Chunk, found: &Match, since: Version, into: &mut Vec<u64>) {
    into.clear();
    let Some(tracking) = chunk.state.tracking() else { return };
    let words = chunk.len.div_ceil(u64::BITS) as usize;
    for columns in found.changed.iter().filter(|columns| !is_whole(chunk, columns, since)) {
        let add = |rows: &mut [u64]| {
            for at in columns.iter().filter_map(|column| column.tracked()) {
                tracking.add_newer(at, since, rows);
            }
        };
        if into.is_empty() {
            into.resize(words, 0);
            add(into);
        } else {
            let mut rows = vec![0; words];
            add(&mut rows);
            into.iter_mut().zip(rows).for_each(|(both, rows)| *both &= rows);
        }
    }
    let rest = chunk.len % u64::BITS;
    if let Some(last) = into.last_mut()
        && rest > 0
    {
        *last &= (1 << rest) - 1;
    }
}

/// Whether a row of a chunk has changed as a match asks for, as far as is known of rows.
pub(super) fn has_changed(chunk: &Chunk, found: &Match, since: Version, row: u32) -> bool {
    let Some(tracking) = chunk.state.tracking() else { return true };
    found.changed.iter().all(|columns| {
        let mut tracked = columns.iter().filter_map(|column| column.tracked());
        tracked.any(|at| tracking.version(at, row).is_newer_than(since))
            || is_whole(chunk, columns, since)
    })
}

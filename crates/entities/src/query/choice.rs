//! Which chunks a query asks for.

use super::changed_rows::{find_changed, may_have_changed};
use super::matched::{Masks, Match};
use super::runs::Runs;
use crate::storage::Chunk;
use crate::version::Version;

/// Which chunks of a match are asked for, by what has changed in them and what is switched on.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    pub(super) since: Version,
    pub(super) asks_for_changes: bool,
}

impl Choice {
    /// Of which everything is asked for.
    pub(super) const ALL: Self = Self { since: Version::NEVER, asks_for_changes: false };

    /// Whether all chunks of a match are found, and all rows of them.
    #[inline(always)]
    pub(super) fn is_simple(&self, found: &Match) -> bool {
        !self.asks_for_changes && found.bits.is_empty()
    }

    /// Whether versions of columns are looked at.
    pub(super) fn asks_for_changes(&self) -> bool {
        self.asks_for_changes
    }

    /// Whether what should have changed in a chunk did, as far as is known of chunks.
    #[inline(always)]
    pub(super) fn wants(&self, chunk: &Chunk, found: &Match) -> bool {
        !self.asks_for_changes || may_have_changed(chunk, found, self.since)
    }

    /// Whether a chunk of a match is one of those that are asked for, and has rows that are. Finds out which of them have
    /// changed, if that is asked for row by row: before they are given, since that may count as a change.
    #[inline(always)]
    pub(super) fn choose(&self, chunk: &Chunk, found: &Match, changed: &mut Vec<u64>) -> bool {
        // Mostly nothing has changed, which is found out without a call.
        self.wants(chunk, found) && self.has_rows(chunk, found, changed)
    }

    /// Whether a chunk in which something has changed has rows that are asked for.
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

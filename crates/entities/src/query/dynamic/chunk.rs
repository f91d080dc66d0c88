//! A chunk in which a dynamic query finds entities.

use std::fmt;

use crate::entity::Entity;
use crate::manager::ArchetypeChunk;
use crate::query::changed_rows::find_changed;
use crate::query::matched::{Masks, Match, matching_rows};
use crate::version::Version;

/// A chunk in which entities are found, and which: what
/// [`DynamicQuery::chunks`](crate::DynamicQuery::chunks) returns.
#[derive(Clone, Copy)]
pub struct FoundChunk<'w> {
    pub(super) chunk: ArchetypeChunk<'w>,
    pub(super) found: &'w Match,
    /// What counts as changed is newer.
    pub(super) since: Version,
}

impl<'w> FoundChunk<'w> {
    /// The chunk.
    pub fn chunk(&self) -> ArchetypeChunk<'w> {
        self.chunk
    }

    /// How many of its entities are found: never zero.
    pub fn count(&self) -> usize {
        if self.found.bits.is_empty() {
            return self.chunk.len();
        }
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// The rows of the entities that are found, from the first on.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        (0..).step_by(64).zip(self.words()).flat_map(|(first, word): (usize, u64)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| first + bit)
        })
    }

    /// The entities that are found.
    pub fn entities(&self) -> impl Iterator<Item = Entity> {
        self.rows().map(|row| self.chunk.entities()[row])
    }

    /// A bit for each row, one if it is found.
    fn words(&self) -> impl Iterator<Item = u64> + use<'w> {
        let Self { chunk: ArchetypeChunk { chunk, .. }, found, since } = *self;
        let mut changed = Vec::new();
        if found.asks_for_rows {
            find_changed(chunk, found, since, &mut changed);
        }
        (0..chunk.len.div_ceil(u64::BITS)).map(move |word| {
            let masks = Masks { enabled: &chunk.enabled, changed: &changed };
            matching_rows(&found.bits, &masks, word, chunk.len)
        })
    }
}

impl fmt::Debug for FoundChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FoundChunk")
            .field("chunk", &self.chunk)
            .field("count", &self.count())
            .finish()
    }
}

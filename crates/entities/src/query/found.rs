//! All rows that a query has found, for what is done to them at once.

#![expect(unsafe_code, reason = "chunks of a world that is borrowed")]

use std::mem;

use super::matched::{Masks, Match, matching_rows};
use super::runs::Runs;
use super::walk::Walk;
use crate::component::ComponentType;
use crate::manager::RowSelection;
use crate::storage::{Chunk, RowRange};

/// How many chunks ahead memory is fetched.
const AHEAD: usize = 16;

impl Walk<'_> {
    /// All rows that are found, in a list that has none yet.
    pub(super) fn found(&self, mut all: RowSelection) -> RowSelection {
        let chunks = |found: &Match| self.archetypes[found.archetype].chunks.len();
        all.reserve(self.matches.iter().map(chunks).sum());
        // SAFETY: nobody changes what the world knows of chunks meanwhile.
        let chunks = unsafe { &*self.chunks };
        let mut changed = mem::take(&mut all.changed);
        for found in self.matches {
            let is_simple = self.is_simple(found);
            let numbers = &self.archetypes[found.archetype].chunks;
            for (at, &number) in numbers.iter().enumerate() {
                // Who has just worked on much else has lost them from the cache.
                if let Some(&later) = numbers.get(at + AHEAD) {
                    chunks.prefetch(later);
                }
                // SAFETY: archetypes list chunks that are there.
                let chunk = unsafe { chunks.get_unchecked(number) };
                if !is_simple && !self.choose(chunk, found, &mut changed) {
                    continue;
                }
                let masks = Masks { enabled: &chunk.enabled, changed: &changed };
                let (mut run, mut runs) = Runs::new(&found.bits, chunk).next(&masks);
                while run.start < run.end {
                    let rows = run.end - run.start;
                    all.push(found.archetype, RowRange { chunk: number, first: run.start, rows });
                    (run, runs) = runs.next(&masks);
                }
            }
        }
        all.changed = changed;
        all
    }

    /// Switches a component of all rows that are found on or off, which all archetypes have that match. Returns how many they are.
    ///
    /// # Safety
    ///
    /// - the walk was made by [`writing`](Self::writing), and nobody has anything that was fetched from its chunks
    /// - as for [`switch_some`](Self::switch_some), in all of them
    pub(super) unsafe fn switch(&self, component: ComponentType, enabled: bool) -> usize {
        let mut switched = 0;
        let mut changed = Vec::new();
        for found in self.matches {
            let is_simple = self.is_simple(found);
            let archetype = &self.archetypes[found.archetype];
            let place = archetype.shape.index.find(component);
            let Some((column, mask)) = place.and_then(|place| Some((place.column, place.mask()?)))
            else {
                continue;
            };
            for &number in &archetype.chunks {
                // SAFETY: archetypes list chunks that are there.
                let chunk = unsafe { (*self.chunks).get_unchecked(number) };
                if !is_simple && !self.choose(chunk, found, &mut changed) {
                    continue;
                }
                // SAFETY: the caller's promise.
                unsafe {
                    if found.bits.is_empty() {
                        chunk.enabled.set_rows(mask, 0, chunk.len, enabled);
                        chunk.note_written_beside(column, 0, chunk.len, self.version);
                        switched += chunk.len as usize;
                    } else {
                        let place = (column, mask);
                        switched += self.switch_some(chunk, found, &changed, place, enabled);
                    }
                }
            }
        }
        switched
    }

    /// Switches a component of those rows of a chunk that match, given its column and its mask. Returns how many they are.
    ///
    /// # Safety
    ///
    /// - nobody else uses the mask, nor what is noted of the column; nor of others, unless their versions were written out
    unsafe fn switch_some(
        &self,
        chunk: &Chunk,
        found: &Match,
        changed: &[u64],
        (column, mask): (u32, u32),
        enabled: bool,
    ) -> usize {
        let mut switched = 0;
        // Whether rows match is told by the bits of one word, so that those which were switched do not matter.
        for word in 0..chunk.len.div_ceil(u64::BITS) {
            let masks = Masks { enabled: &chunk.enabled, changed };
            let rows = matching_rows(&found.bits, &masks, word, chunk.len);
            if rows != 0 {
                // SAFETY: the caller's promise. What was borrowed to find the rows is not used any more.
                unsafe {
                    chunk.enabled.set_bits(mask, word, rows, enabled);
                    chunk.note_written_bits(column, word, rows, self.version);
                }
                switched += rows.count_ones() as usize;
            }
        }
        switched
    }
}

//! The chunks of all archetypes that a query has found, in one list, for as long as they stay the same.

#![expect(unsafe_code, reason = "a list that changes while nobody uses it")]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::matched::{Match, Place};
use super::walk::LONG;
use crate::storage::Archetypes;

/// The chunks of all matches of a query, one after the other, and where its parts are in each.
///
/// Who walks over many archetypes with few entities would otherwise go from match to archetype to list to chunk for each of
/// them, and take longer for that than for the entities.
#[derive(Default)]
pub(super) struct ChunksInRow {
    /// The numbers of the chunks, in the order of the matches, and of the lists of their archetypes.
    pub(super) numbers: Vec<u32>,
    /// As many places for each chunk as the query has parts.
    pub(super) places: Vec<Place>,
    /// Whether there is a list. If not, it would gain nothing: there are many chunks, or few archetypes, or rows to be chosen.
    is_there: bool,
    /// The last state of the archetypes that was met, by their count of changes, and how often.
    met: u64,
    times: u32,
}

/// How often a state of the archetypes must be met so that a list is made. A world that changes all the time pays for none.
const CALM: u32 = 4;
/// How many chunks there are in a list at most.
const MOST: usize = 1024;

/// The list of a query, and what it is right for.
///
/// It changes through a shared reference: a query that only reads is to have it too. **Invariant:** that happens only on the
/// thread that has the world, and only while the list is not that of the archetypes as they are.
#[derive(Default)]
pub(super) struct KeptChunks {
    /// The count of changes of the archetypes that the list is right for. Zero, which no world counts, if for none.
    right_for: AtomicU64,
    list: UnsafeCell<ChunksInRow>,
}

// SAFETY: who reads the list has found that it is right for archetypes which are borrowed, and sees all that was written to it
// before that was noted. It changes only if it is not right for the archetypes, which then have changed, so that nobody has
// borrowed them since.
unsafe impl Sync for KeptChunks {}

impl KeptChunks {
    /// Whether nothing is to be done for archetypes in this state.
    #[inline(always)]
    pub(super) fn is_settled(&self, archetypes: &Archetypes) -> bool {
        // Pairs with the store in `settle`.
        self.right_for.load(Ordering::Acquire) == archetypes.changes()
    }

    /// The chunks of all matches in these archetypes, if there is a list of them.
    #[inline(always)]
    pub(super) fn get<'w>(&'w self, archetypes: &'w Archetypes) -> Option<&'w ChunksInRow> {
        if !self.is_settled(archetypes) {
            return None;
        }
        // SAFETY: it is right for these archetypes, and so does not change as long as they are borrowed.
        let list = unsafe { &*self.list.get() };
        list.is_there.then_some(list)
    }

    /// Makes a list of the chunks of these matches, if that gains something, and if the archetypes have been as they are for some
    /// time.
    ///
    /// # Safety
    ///
    /// - this is always called on the thread that has the world, with archetypes of the same world
    /// - nothing is [settled](Self::is_settled) for them
    pub(super) unsafe fn settle(&self, archetypes: &Archetypes, matches: &[Match], is_plain: bool) {
        debug_assert!(!self.is_settled(archetypes));
        let changes = archetypes.changes();
        // SAFETY: nobody uses the list. Who does has borrowed archetypes that it is right for. It is not right for these, which
        // are the same, so they have changed since such borrows ended; and on other threads nobody changes it.
        let list = unsafe { &mut *self.list.get() };
        let may_gain = is_plain && matches.len() > 1;
        if may_gain {
            list.times = if list.met == changes { list.times + 1 } else { 1 };
            list.met = changes;
            if list.times < CALM {
                return;
            }
        }
        list.numbers.clear();
        list.places.clear();
        let counts = matches.iter().map(|found| archetypes[found.archetype].chunks.len());
        list.is_there =
            may_gain && counts.clone().all(|count| count < LONG) && counts.sum::<usize>() <= MOST;
        if list.is_there {
            for found in matches {
                for &number in &archetypes[found.archetype].chunks {
                    list.numbers.push(number);
                    list.places.extend_from_slice(&found.places);
                }
            }
        }
        // Pairs with the load in `is_settled`.
        self.right_for.store(changes, Ordering::Release);
    }
}

impl ChunksInRow {
    /// Whether these are the chunks of these matches.
    pub(super) fn is_of(&self, archetypes: &Archetypes, matches: &[Match]) -> bool {
        let lists = matches.iter().map(|found| &archetypes[found.archetype].chunks);
        lists.flatten().eq(&self.numbers)
    }
}

//! Many entities are created of values that lie side by side, on all threads.

#![expect(
    unsafe_code,
    reason = "writes components to rows that were reserved for them, on several threads"
)]

use super::EntityManager;
use super::sets::Home;
use crate::entity::Entity;
use crate::set::ComponentSet;
use crate::storage::{Reserved, RowPlace, Run};

/// From how many bytes on values are moved by several threads. On two cores, 24 MB take three quarters of the time that one takes, and
/// 2 MB as long: there the ids, which one thread hands out, and waking another take what is gained.
pub(crate) const MANY_BYTES: usize = 8 << 20;

/// How many chunks a thread fills at a time.
const CHUNKS_AT_A_TIME: usize = 4;

/// Sets of components, each so many bytes after the one before it. Whoever has this may move all of them, and says whether it did.
pub(crate) struct Spaced<S> {
    first: *mut S,
    step: usize,
    count: usize,
}

impl<S> Spaced<S> {
    /// # Safety
    ///
    /// - there are so many sets, at these distances, which are nobody else's, and not used any more once they were moved
    pub(crate) unsafe fn new(first: *mut S, step: usize, count: usize) -> Self {
        Self { first, step, count }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Where one of them is.
    #[inline(always)]
    fn at(&self, index: usize) -> *mut S {
        self.first.wrapping_byte_add(index * self.step)
    }
}

/// Rows that are to be filled.
pub(crate) struct Fill {
    run: Run,
    /// The memory of the chunk.
    data: *mut u8,
    /// How many rows come before.
    before: usize,
}

// SAFETY: the address is used only while the world is borrowed that it is of.
unsafe impl Send for Fill {}

/// What threads fill: chunks of a world that is borrowed, and sets that are moved to them.
struct Filling<'f, S> {
    sets: Spaced<S>,
    offsets: &'f [u32],
    fills: &'f [Fill],
}

// SAFETY: each run is taken by one thread, with its own rows and sets, which may be sent.
unsafe impl<S: Send> Sync for Filling<'_, S> {}

impl<S: ComponentSet> Filling<'_, S> {
    /// Moves the sets of some runs to their rows.
    ///
    /// # Safety
    ///
    /// - each run is taken once
    unsafe fn fill(&self, runs: std::ops::Range<usize>) {
        for &Fill { run, data, before } in &self.fills[runs] {
            for row in 0..run.rows as usize {
                let place = RowPlace::new(data, self.offsets, run.first as usize + row);
                // SAFETY: there are so many sets, which are not used again. The offsets are theirs in the archetype of the chunk, and
                // the row was reserved.
                unsafe { self.sets.at(before + row).read().write(place) };
            }
        }
    }
}

impl EntityManager {
    /// Creates an entity of each of the sets of components, on all threads, with these ids, which are set aside. Returns whether it
    /// did, and the sets were moved: if there is no memory, or one thread, or what is to be kept on this one, or an id comes twice,
    /// nothing was done.
    pub(crate) fn spawn_spaced<S: ComponentSet>(
        &mut self,
        sets: Spaced<S>,
        ids: &[Entity],
    ) -> bool {
        assert_eq!(sets.count(), ids.len());
        if S::SHARED || self.jobs.scheduler().thread_count() < 2 {
            return false;
        }
        let Ok(number) = self.set_number::<S>() else { return false };
        let Ok(&Home { archetype, .. }) = self.home(number) else { return false };
        // Values that are of one thread stay there.
        if !self.storage.archetypes[archetype].shape.is_shared {
            return false;
        }
        self.before_moving([archetype]);
        let home = self.sets.get(number).home.as_ref().expect("it was just found");
        let reserved = Reserved::new(&mut self.storage, &mut self.runs, archetype, ids.len());
        let Ok(mut reserved) = reserved else { return false };
        // One may be there twice.
        if reserved.storage.table.hand_out_next(ids).is_err() {
            return false;
        }
        self.fills.clear();
        let mut before = 0;
        reserved.fill(|chunk, run| {
            self.fills.push(Fill { run, data: chunk.data(), before });
            before += run.rows as usize;
        });
        let filling = Filling { sets, offsets: &home.offsets, fills: &self.fills };
        let done = self.jobs.scheduler().named("fill chunks").run_parallel(
            (),
            filling.fills.len(),
            CHUNKS_AT_A_TIME,
            // SAFETY: each run is taken once.
            |(), range| unsafe { filling.fill(range) },
        );
        if done.is_err() {
            // Where no job can be scheduled, as inside of one, this thread does it.
            // SAFETY: as above. No job has run.
            unsafe { filling.fill(0..filling.fills.len()) };
        }
        reserved.commit();
        true
    }
}

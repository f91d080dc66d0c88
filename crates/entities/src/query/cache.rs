//! Query cache: the states of all queries that a world has run, and the chunk lists of stable ones.

#![expect(
    unsafe_code,
    reason = "states at stable addresses, and lists that change only while unused"
)]

use std::any::TypeId;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::descriptor::{Options, Plan};
use super::state::{Match, Place, QueryState};
use super::walk::PREFETCH_MIN_CHUNKS;
use crate::storage::Archetypes;

/// The archetypes that each query has found, so that none is looked at twice.
///
/// A query that only reads borrows the world shared, and still has to be remembered. So this changes through a shared
/// reference, and what it returns stays where it is as long as the world does.
pub(crate) struct QueryCache {
    /// No other has the same: states that were kept are known to be of this one.
    id: u64,
    known: RefCell<Known>,
    /// The last one that was asked for: mostly a loop asks for the same again.
    recent: Cell<Option<(Key, NonNull<QueryState>)>>,
}

#[derive(Default)]
struct Known {
    /// Each from a box, and none is removed before the end.
    list: Vec<NonNull<QueryState>>,
    by_type: HashMap<Key, u32, FixedState>,
    by_plan: HashMap<Plan, u32, FixedState>,
}

/// A query as a type, and what was said of it.
type Key = (TypeId, Options);

// SAFETY: the states are owned, as in a box, and consist of what can be sent.
unsafe impl Send for QueryCache {}

const _: () = {
    const fn can_be_sent<T: Send>() {}
    can_be_sent::<QueryState>();
};

/// The number of states.
static STATES: AtomicU64 = AtomicU64::new(0);

impl Default for QueryCache {
    fn default() -> Self {
        // Only that they differ matters.
        let id = STATES.fetch_add(1, Ordering::Relaxed);
        Self { id, known: RefCell::default(), recent: Cell::default() }
    }
}

impl QueryCache {
    /// A unique number.
    #[inline]
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// A state that was returned before, with all archetypes looked at.
    ///
    /// # Safety
    ///
    /// - it is one of these
    #[inline]
    pub(super) unsafe fn again<'w>(
        &'w self,
        state: NonNull<QueryState>,
        archetypes: &'w Archetypes,
    ) -> &'w QueryState {
        self.current(state, archetypes)
    }

    /// The state of a query of this type, with all archetypes looked at. The plan is made when it is met first.
    ///
    /// The archetypes are always those of the world that this belongs to.
    #[inline]
    #[track_caller]
    pub(crate) fn of_type<'w>(
        &'w self,
        id: TypeId,
        options: Options,
        archetypes: &'w Archetypes,
        plan: impl FnOnce() -> Plan,
    ) -> &'w QueryState {
        let key = (id, options);
        let state = match self.recent.get() {
            Some((recent, state)) if recent == key => state,
            _ => self.look_up(key, plan),
        };
        self.current(state, archetypes)
    }

    /// The state of a query of this plan, with all archetypes looked at.
    pub(crate) fn of_plan<'w>(&'w self, plan: &Plan, archetypes: &'w Archetypes) -> &'w QueryState {
        let mut known = self.known.borrow_mut();
        let number = known.number_of(plan);
        self.current(known.list[number as usize], archetypes)
    }

    #[inline(never)]
    #[track_caller]
    fn look_up(&self, key: Key, plan: impl FnOnce() -> Plan) -> NonNull<QueryState> {
        let found = self.known.borrow().by_type.get(&key).copied();
        let number = found.unwrap_or_else(|| {
            // Names of types are user code, so nothing is borrowed meanwhile.
            let plan = plan();
            let mut known = self.known.borrow_mut();
            let number = known.number_of(&plan);
            known.by_type.insert(key, number);
            number
        });
        let state = self.known.borrow().list[number as usize];
        self.recent.set(Some((key, state)));
        state
    }

    #[inline]
    fn current<'w>(
        &'w self,
        state: NonNull<QueryState>,
        archetypes: &'w Archetypes,
    ) -> &'w QueryState {
        // SAFETY: it is one of the list. It lives as long as this, and nobody changes it now.
        if !unsafe { state.as_ref() }.is_settled(archetypes) {
            self.catch_up(state, archetypes);
        }
        // SAFETY: it lives as long as this, and changes only if there are more archetypes, which are borrowed as long.
        unsafe { state.as_ref() }
    }

    /// Does what is to be done when archetypes have come, or chunks have come or gone.
    ///
    /// Nothing is settled for the archetypes.
    #[cold]
    fn catch_up(&self, state: NonNull<QueryState>, archetypes: &Archetypes) {
        // SAFETY: it is one of the list. It lives as long as this, and nobody changes it now.
        if !unsafe { state.as_ref() }.is_current(archetypes) {
            // SAFETY: it is reached in no other way. Who has a reference to it that was returned here borrows the world, and
            // with it the archetypes, which can have become more only after such borrows had ended.
            unsafe { &mut *state.as_ptr() }.extend(archetypes);
        }
        // SAFETY: as above.
        let found = unsafe { state.as_ref() };
        // SAFETY: the archetypes are always those of one world, which is used by one thread at a time, as this is. It was found
        // that nothing is settled for them.
        unsafe { found.chunks.settle(archetypes, &found.matches, found.is_plain()) };
    }
}

impl Known {
    fn number_of(&mut self, plan: &Plan) -> u32 {
        if let Some(&number) = self.by_plan.get(plan) {
            return number;
        }
        let number = u32::try_from(self.list.len()).expect("fewer queries than entities");
        let state = Box::into_raw(Box::new(QueryState::new(plan.clone())));
        self.list.push(NonNull::new(state).expect("a box has an address"));
        self.by_plan.insert(plan.clone(), number);
        number
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        for &state in &self.list {
            // SAFETY: it is from a box, and not used afterwards.
            drop(unsafe { Box::from_raw(state.as_ptr()) });
        }
    }
}

/// The chunks of all matches of a query, one after the other, and where its parts are in each.
///
/// Who walks over many archetypes with few entities would otherwise go from match to archetype to list to chunk for each of
/// them, and take longer for that than for the entities.
#[derive(Default)]
pub(super) struct CachedChunks {
    /// The numbers of the chunks, in the order of the matches, and of the lists of their archetypes.
    pub(super) numbers: Vec<u32>,
    /// As many places for each chunk as the query has parts.
    pub(super) places: Vec<Place>,
    /// There is a list. If not, it would gain nothing: there are many chunks, or few archetypes, or rows to be chosen.
    is_there: bool,
    /// The last state of the archetypes that was met, by their count of changes, and how often.
    met: u64,
    times: u32,
}

/// Number of queries in one state of the archetypes after which a list is made. A world that changes all the time pays for none.
const STABLE_QUERIES: u32 = 4;
/// Maximum length of a list.
const MAX_CHUNKS: usize = 1024;

/// The list of a query, and what it is right for.
///
/// It changes through a shared reference: a query that only reads is to have it too. **Invariant:** that happens only on the
/// thread that has the world, and only while the list is not that of the archetypes as they are.
#[derive(Default)]
pub(super) struct ChunkCache {
    /// The count of changes of the archetypes that the list is right for. Zero, which no world counts, if for none.
    right_for: AtomicU64,
    list: UnsafeCell<CachedChunks>,
}

// SAFETY: who reads the list has found that it is right for archetypes which are borrowed, and sees all that was written to it
// before that was noted. It changes only if it is not right for the archetypes, which then have changed, so that nobody has
// borrowed them since.
unsafe impl Sync for ChunkCache {}

impl ChunkCache {
    /// Returns `true` if the list is up to date for archetypes in this state.
    #[inline(always)]
    pub(super) fn is_settled(&self, archetypes: &Archetypes) -> bool {
        // Pairs with the store in `settle`.
        self.right_for.load(Ordering::Acquire) == archetypes.changes()
    }

    /// The chunks of all matches in these archetypes, if there is a list of them.
    #[inline(always)]
    pub(super) fn get<'w>(&'w self, archetypes: &'w Archetypes) -> Option<&'w CachedChunks> {
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
            if list.times < STABLE_QUERIES {
                return;
            }
        }
        list.numbers.clear();
        list.places.clear();
        let counts = matches.iter().map(|found| archetypes[found.archetype].chunks.len());
        list.is_there = may_gain
            && counts.clone().all(|count| count < PREFETCH_MIN_CHUNKS)
            && counts.sum::<usize>() <= MAX_CHUNKS;
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

impl CachedChunks {
    /// Returns `true` if these are the chunks of the matches.
    pub(super) fn is_of(&self, archetypes: &Archetypes, matches: &[Match]) -> bool {
        let lists = matches.iter().map(|found| &archetypes[found.archetype].chunks);
        lists.flatten().eq(&self.numbers)
    }
}

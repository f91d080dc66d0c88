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

use super::state::{Match, Place, QueryState};
use super::terms::{Options, Plan};
use crate::storage::Archetypes;

/// The states of all queries, so that no archetype is matched twice.
///
/// A read-only query borrows the world shared, and its state still has to be cached. So the cache has interior mutability, and the
/// states it returns stay at their address as long as the world exists.
pub(crate) struct QueryCache {
    /// A unique id, which identifies states of this cache.
    id: u64,
    known: RefCell<Known>,
    /// The last query: a loop mostly repeats the same one.
    recent: Cell<Option<(Key, NonNull<QueryState>)>>,
}

#[derive(Default)]
struct Known {
    by_type: HashMap<Key, NonNull<QueryState>, FixedState>,
    /// Each from a box, and none is removed before the end.
    by_plan: HashMap<Plan, NonNull<QueryState>, FixedState>,
}

/// A query type and its options.
pub(crate) type Key = (TypeId, Options);

/// A state of a cache, which is found again without a search.
pub(crate) struct StateHandle {
    cache: u64,
    state: NonNull<QueryState>,
}

// SAFETY: the state is used only together with its cache, by the thread that has the cache.
unsafe impl Send for StateHandle {}

impl StateHandle {
    /// Returns the state as it was last updated.
    ///
    /// # Safety
    ///
    /// - the cache lives for the lifetime, and no archetype is added meanwhile
    #[inline]
    pub(crate) unsafe fn state<'w>(&self) -> &'w QueryState {
        // SAFETY: the state lives as long as its cache, and changes only if archetypes are added.
        unsafe { self.state.as_ref() }
    }
}

// SAFETY: the states are owned, as in a box, and are `Send`.
unsafe impl Send for QueryCache {}

const _: () = {
    const fn can_be_sent<T: Send>() {}
    can_be_sent::<QueryState>();
};

/// The number of states.
static STATES: AtomicU64 = AtomicU64::new(0);

impl Default for QueryCache {
    fn default() -> Self {
        // Relaxed suffices: the ids only have to differ.
        let id = STATES.fetch_add(1, Ordering::Relaxed);
        Self { id, known: RefCell::default(), recent: Cell::default() }
    }
}

impl QueryCache {
    /// Returns a handle to the state of a query: by its key if it has one, and otherwise by its plan.
    #[track_caller]
    pub(crate) fn handle(&self, key: Option<Key>, plan: &Plan) -> StateHandle {
        let state = match key {
            Some(key) => self.look_up(key, || plan.clone()),
            None => self.known.borrow_mut().state_of(plan),
        };
        StateHandle { cache: self.id, state }
    }

    /// Returns the state of a handle, with all archetypes matched, or `None` if it is a handle of another cache.
    #[inline]
    pub(crate) fn get<'w>(
        &'w self,
        handle: &StateHandle,
        archetypes: &'w Archetypes,
    ) -> Option<&'w QueryState> {
        (handle.cache == self.id).then(|| self.current(handle.state, archetypes))
    }

    /// Returns the state of a query of this type, with all archetypes matched. The plan is made on first use.
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

    /// Returns the state of a query of this plan, with all archetypes matched.
    pub(crate) fn of_plan<'w>(&'w self, plan: &Plan, archetypes: &'w Archetypes) -> &'w QueryState {
        let state = self.known.borrow_mut().state_of(plan);
        self.current(state, archetypes)
    }

    #[inline(never)]
    #[track_caller]
    fn look_up(&self, key: Key, plan: impl FnOnce() -> Plan) -> NonNull<QueryState> {
        let found = self.known.borrow().by_type.get(&key).copied();
        let state = found.unwrap_or_else(|| {
            // Names of types are user code, so nothing is borrowed during the call.
            let plan = plan();
            let mut known = self.known.borrow_mut();
            let state = known.state_of(&plan);
            known.by_type.insert(key, state);
            state
        });
        self.recent.set(Some((key, state)));
        state
    }

    #[inline]
    fn current<'w>(
        &'w self,
        state: NonNull<QueryState>,
        archetypes: &'w Archetypes,
    ) -> &'w QueryState {
        // SAFETY: the state is one of this cache, lives as long as this, and does not change now.
        if !unsafe { state.as_ref() }.is_settled(archetypes) {
            self.catch_up(state, archetypes);
        }
        // SAFETY: the state lives as long as this, and changes only if archetypes are added, which are borrowed for the same
        // lifetime.
        unsafe { state.as_ref() }
    }

    /// Updates a state after archetypes were added, or chunks were added or freed.
    ///
    /// The state must not be settled for the archetypes.
    #[cold]
    fn catch_up(&self, state: NonNull<QueryState>, archetypes: &Archetypes) {
        // SAFETY: the state is one of this cache, lives as long as this, and does not change now.
        if !unsafe { state.as_ref() }.is_current(archetypes) {
            // SAFETY: no reference to the state is alive. A reference returned here borrows the world, and with it the archetypes,
            // which could only grow after such borrows ended.
            unsafe { &mut *state.as_ptr() }.extend(archetypes);
        }
        // SAFETY: the state is one of this cache, lives as long as this, and does not change now.
        let found = unsafe { state.as_ref() };
        // SAFETY: the archetypes are always those of one world, which one thread uses at a time. The state was found not to be
        // settled for them.
        unsafe { found.chunks.settle(archetypes, &found.matches, found.is_plain()) };
    }
}

impl Known {
    fn state_of(&mut self, plan: &Plan) -> NonNull<QueryState> {
        if let Some(&state) = self.by_plan.get(plan) {
            return state;
        }
        let state = NonNull::from(Box::leak(Box::new(QueryState::new(plan.clone()))));
        self.by_plan.insert(plan.clone(), state);
        state
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        for state in self.by_plan.values() {
            // SAFETY: the state is from a box, and is not used afterwards.
            drop(unsafe { Box::from_raw(state.as_ptr()) });
        }
    }
}

/// The chunks of all matches of a query, and the places of its parts in each.
///
/// Without it, a walk over many archetypes with few entities follows match, archetype, list and chunk for each of them, which takes
/// longer than the entities.
#[derive(Default)]
pub(crate) struct CachedChunks {
    /// The numbers of the chunks, in the order of the matches, and of the lists of their archetypes.
    pub(crate) numbers: Vec<u32>,
    /// For each chunk, as many places as the query has parts.
    pub(crate) places: Vec<Place>,
    /// There is a list. Without one, a list would gain nothing: there are many chunks, few archetypes, or filtered rows.
    is_there: bool,
    /// The last version of the archetypes, by their count of changes, and the number of queries in it.
    met: u64,
    times: u32,
}

/// Number of queries for one version of the archetypes after which a list is made. A world that changes all the time pays for none.
const STABLE_QUERIES: u32 = 4;
/// Minimum number of chunks of an archetype for which loops prefetch memory. They gain nothing from a list.
pub(crate) const PREFETCH_MIN_CHUNKS: usize = 128;
/// Maximum length of a list.
const MAX_CHUNKS: usize = 1024;

/// The chunk list of a query, and the version of the archetypes it is valid for.
///
/// It has interior mutability, so that read-only queries can use it too. **Invariant:** it changes only on the thread that has the
/// world, and only while the list is not valid for the current archetypes.
#[derive(Default)]
pub(crate) struct ChunkCache {
    /// The change count of the archetypes that the list is valid for. Zero, which no world has, if for none.
    right_for: AtomicU64,
    list: UnsafeCell<CachedChunks>,
}

// SAFETY: a reader of the list has found it valid for borrowed archetypes, and the acquire load makes all earlier writes to it
// visible. The list changes only if it is not valid for the archetypes: then they have changed, so no borrow of them from before is
// alive.
unsafe impl Sync for ChunkCache {}

impl ChunkCache {
    /// Returns `true` if the list is up to date for archetypes in this state.
    #[inline(always)]
    pub(crate) fn is_settled(&self, archetypes: &Archetypes) -> bool {
        // Pairs with the store in `settle`.
        self.right_for.load(Ordering::Acquire) == archetypes.changes()
    }

    /// Returns the chunks of all matches in these archetypes, if there is a list.
    #[inline(always)]
    pub(crate) fn get<'w>(&'w self, archetypes: &'w Archetypes) -> Option<&'w CachedChunks> {
        if !self.is_settled(archetypes) {
            return None;
        }
        // SAFETY: the list is valid for these archetypes, so it does not change while they are borrowed.
        let list = unsafe { &*self.list.get() };
        list.is_there.then_some(list)
    }

    /// Makes a list of the chunks of these matches, if that gains something and the archetypes have been stable for some queries.
    ///
    /// # Safety
    ///
    /// - this is always called on the thread that has the world, with archetypes of the same world
    /// - the list is not [settled](Self::is_settled) for them
    pub(crate) unsafe fn settle(&self, archetypes: &Archetypes, matches: &[Match], is_plain: bool) {
        debug_assert!(!self.is_settled(archetypes));
        let changes = archetypes.changes();
        // SAFETY: no reference to the list is alive. Such a reference borrows archetypes that the list is valid for. It is not
        // valid for these, which belong to the same world, so they have changed since such borrows ended. Other threads do not
        // change it.
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
    pub(crate) fn is_of(&self, archetypes: &Archetypes, matches: &[Match]) -> bool {
        let lists = matches.iter().map(|found| &archetypes[found.archetype].chunks);
        lists.flatten().eq(&self.numbers)
    }
}

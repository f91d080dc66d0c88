//! Query cache: the states of all queries that a world has run, and chunk lists for queries over archetypes that rarely change.

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

/// The states of all queries that a world has run, so that no archetype is tested twice for the same query.
///
/// A read-only query borrows the world shared, and its state still has to be cached. So the cache has interior mutability, and the
/// states that it returns stay at their address as long as the cache exists.
pub(crate) struct QueryCache {
    /// A unique id, which tells handles of this cache from handles of other caches.
    id: u64,
    known: RefCell<Known>,
    /// The query that was used last. Loops often use the same query again.
    recent: Cell<Option<(Key, NonNull<QueryState>)>>,
}

#[derive(Default)]
struct Known {
    by_type: HashMap<Key, NonNull<QueryState>, FixedState>,
    /// The query states, by plan. Each pointer comes from a leaked box, which is freed when `Known` is dropped.
    by_plan: HashMap<Plan, NonNull<QueryState>, FixedState>,
}

/// A query type and its options.
pub(crate) type Key = (TypeId, Options);

/// A handle to a state of a [`QueryCache`], which finds the state without a hash lookup.
pub(crate) struct StateHandle {
    cache: u64,
    state: NonNull<QueryState>,
}

// SAFETY: the state is used only together with its cache, by the thread that owns the cache.
unsafe impl Send for StateHandle {}

impl StateHandle {
    /// Returns the state as it was last updated.
    ///
    /// # Safety
    ///
    /// - the cache that the handle belongs to lives for the lifetime, and no archetype is added meanwhile
    #[inline]
    pub(crate) unsafe fn state<'w>(&self) -> &'w QueryState {
        // SAFETY: the state lives as long as its cache, and changes only if archetypes are added.
        unsafe { self.state.as_ref() }
    }
}

// SAFETY: the cache owns the states, as boxes would, and states are `Send`.
unsafe impl Send for QueryCache {}

const _: () = {
    const fn can_be_sent<T: Send>() {}
    can_be_sent::<QueryState>();
};

/// The id of the next cache.
static STATES: AtomicU64 = AtomicU64::new(0);

impl Default for QueryCache {
    fn default() -> Self {
        // Relaxed suffices: the ids only have to differ.
        let id = STATES.fetch_add(1, Ordering::Relaxed);
        Self { id, known: RefCell::default(), recent: Cell::default() }
    }
}

impl QueryCache {
    /// Returns a handle to the state of a query. The state is found by `key` if there is one, and by `plan` otherwise.
    #[track_caller]
    pub(crate) fn handle(&self, key: Option<Key>, plan: &Plan) -> StateHandle {
        let state = match key {
            Some(key) => self.look_up(key, || Ok(plan.clone())),
            None => self.known.borrow_mut().state_of(plan),
        };
        StateHandle { cache: self.id, state }
    }

    /// Returns the state of a handle, updated with all archetypes, or `None` if the handle belongs to another cache.
    #[inline]
    pub(crate) fn get<'w>(
        &'w self,
        handle: &StateHandle,
        archetypes: &'w Archetypes,
    ) -> Option<&'w QueryState> {
        (handle.cache == self.id).then(|| self.current(handle.state, archetypes))
    }

    /// Returns the state of a query of this type, updated with all archetypes. `plan` is called if the query is used for the first
    /// time. Panics with its error.
    ///
    /// `archetypes` must be those of the world that the cache belongs to.
    #[inline]
    #[track_caller]
    pub(crate) fn of_type<'w>(
        &'w self,
        id: TypeId,
        options: Options,
        archetypes: &'w Archetypes,
        plan: impl FnOnce() -> Result<Plan, String>,
    ) -> &'w QueryState {
        let key = (id, options);
        let state = match self.recent.get() {
            Some((recent, state)) if recent == key => state,
            _ => self.look_up(key, plan),
        };
        self.current(state, archetypes)
    }

    /// Returns the state of a query with this plan, updated with all archetypes.
    pub(crate) fn of_plan<'w>(&'w self, plan: &Plan, archetypes: &'w Archetypes) -> &'w QueryState {
        let state = self.known.borrow_mut().state_of(plan);
        self.current(state, archetypes)
    }

    #[inline(never)]
    #[track_caller]
    fn look_up(
        &self,
        key: Key,
        plan: impl FnOnce() -> Result<Plan, String>,
    ) -> NonNull<QueryState> {
        let found = self.known.borrow().by_type.get(&key).copied();
        let state = match found {
            Some(state) => state,
            None => {
                // Building a plan calls user code, for names of component types. So `known` is not borrowed during the call.
                let plan = match plan() {
                    Ok(plan) => plan,
                    // Not in a closure, so that the panic has the location of the caller.
                    Err(message) => panic!("{message}"),
                };
                let mut known = self.known.borrow_mut();
                let state = known.state_of(&plan);
                known.by_type.insert(key, state);
                state
            }
        };
        self.recent.set(Some((key, state)));
        state
    }

    #[inline]
    fn current<'w>(
        &'w self,
        state: NonNull<QueryState>,
        archetypes: &'w Archetypes,
    ) -> &'w QueryState {
        // SAFETY: the state belongs to this cache, which keeps it as long as it lives. The state does not change during the borrow.
        if !unsafe { state.as_ref() }.is_settled(archetypes) {
            self.catch_up(state, archetypes);
        }
        // SAFETY: the state lives as long as the cache, which is borrowed for the lifetime. The state changes only if archetypes
        // are added, and the archetypes are borrowed for the same lifetime.
        unsafe { state.as_ref() }
    }

    /// Updates a state after archetypes were added, or chunks were added or freed.
    ///
    /// The state must not be settled for the archetypes.
    #[cold]
    fn catch_up(&self, state: NonNull<QueryState>, archetypes: &Archetypes) {
        // SAFETY: the state belongs to this cache, which keeps it as long as it lives. The state does not change during the borrow.
        if !unsafe { state.as_ref() }.is_current(archetypes) {
            // SAFETY: no reference to the state is alive. Every reference to it that was returned before borrowed the archetypes.
            // The archetypes have grown since, so those borrows have ended.
            unsafe { &mut *state.as_ptr() }.extend(archetypes);
        }
        // SAFETY: the state belongs to this cache, which keeps it as long as it lives. The state does not change during the borrow.
        let found = unsafe { state.as_ref() };
        // SAFETY: the archetypes are always those of the cache's world, which one thread uses at a time. The state is not settled
        // for them, as the caller has tested.
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

/// A list of the chunks of all matches of a query, and the places of the query's parts in each chunk.
///
/// Without the list, a loop over many archetypes with few entities follows pointers from match to archetype to chunk list to chunk
/// for each of them, which takes longer than the work on the entities.
#[derive(Default)]
pub(crate) struct CachedChunks {
    /// The numbers of the chunks, in the order of the matches, and within a match in the order of the archetype's chunk list.
    pub(crate) numbers: Vec<u32>,
    /// For each chunk, one place for each part of the query.
    pub(crate) places: Vec<Place>,
    /// True if there is a list. No list is built if it would not help: with many chunks, with one archetype, or with filtered rows.
    is_there: bool,
    /// The change count of the archetypes at the last query. `times` is the number of queries since the change count got this
    /// value.
    met: u64,
    times: u32,
}

/// Number of queries without a change of the archetypes after which a list is built. A world whose archetypes change all the time
/// never pays for a list.
const STABLE_QUERIES: u32 = 4;
/// Minimum number of chunks of an archetype for which loops prefetch memory. Loops over that many chunks do not need a list.
pub(crate) const PREFETCH_MIN_CHUNKS: usize = 128;
/// Maximum number of chunks in a list.
const MAX_CHUNKS: usize = 1024;

/// The chunk list of a query, and the change count of the archetypes that the list is valid for.
///
/// The cache has interior mutability, so that read-only queries can fill it too. **Invariant:** the list changes only on the thread
/// that owns the world, and only while the list is not valid for the current archetypes.
#[derive(Default)]
pub(crate) struct ChunkCache {
    /// The change count of the archetypes that the list is valid for. Zero, which is no change count of a world, if the list is not
    /// valid.
    right_for: AtomicU64,
    list: UnsafeCell<CachedChunks>,
}

// SAFETY: a reader first tests that the list is valid for archetypes that it borrows. The acquire load of the test makes all
// earlier writes to the list visible. The list changes only if it is not valid for the current archetypes. In that case the
// archetypes have changed since the list was valid, so no reader's borrow of them is alive.
unsafe impl Sync for ChunkCache {}

impl ChunkCache {
    /// Returns `true` if the list is up to date for these archetypes.
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

    /// Builds the list of the chunks of these matches, if the list helps and the archetypes have not changed for [`STABLE_QUERIES`]
    /// queries.
    ///
    /// # Safety
    ///
    /// - every call for this cache is made on the thread that owns the world, with the archetypes of the same world
    /// - the list is not [settled](Self::is_settled) for the archetypes
    pub(crate) unsafe fn settle(&self, archetypes: &Archetypes, matches: &[Match], is_plain: bool) {
        debug_assert!(!self.is_settled(archetypes));
        let changes = archetypes.changes();
        // SAFETY: no reference to the list is alive. A reference to the list borrows archetypes that the list is valid for. The
        // list is not valid for the current archetypes of the same world, so they have changed, and all such borrows have ended. No
        // other thread changes the list.
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
    /// Returns `true` if the list contains exactly the chunks of the matches.
    pub(crate) fn is_of(&self, archetypes: &Archetypes, matches: &[Match]) -> bool {
        let lists = matches.iter().map(|found| &archetypes[found.archetype].chunks);
        lists.flatten().eq(&self.numbers)
    }
}

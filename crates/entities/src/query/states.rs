//! What a world remembers of the queries it has met.

#![expect(unsafe_code, reason = "states at addresses that stay")]

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::matched::Matched;
use super::plan::Plan;
use super::settings::Options;
use crate::storage::Archetypes;

/// The archetypes that each query has found, so that none is looked at twice.
///
/// A query that only reads borrows the world shared, and still has to be remembered. So this changes through a shared
/// reference, and what it returns stays where it is as long as the world does.
pub(crate) struct QueryStates {
    /// No other has the same: states that were kept are known to be of this one.
    id: u64,
    known: RefCell<Known>,
    /// The last one that was asked for: mostly a loop asks for the same again.
    recent: Cell<Option<(Key, NonNull<Matched>)>>,
}

#[derive(Default)]
struct Known {
    /// Each from a box, and none is removed before the end.
    list: Vec<NonNull<Matched>>,
    by_type: HashMap<Key, u32, FixedState>,
    by_plan: HashMap<Plan, u32, FixedState>,
}

/// A query as a type, and what was said of it.
type Key = (TypeId, Options);

// SAFETY: the states are owned, as in a box, and consist of what can be sent.
unsafe impl Send for QueryStates {}

const _: () = {
    const fn can_be_sent<T: Send>() {}
    can_be_sent::<Matched>();
};

/// How many there were.
static STATES: AtomicU64 = AtomicU64::new(0);

impl Default for QueryStates {
    fn default() -> Self {
        // Only that they differ matters.
        let id = STATES.fetch_add(1, Ordering::Relaxed);
        Self { id, known: RefCell::default(), recent: Cell::default() }
    }
}

impl QueryStates {
    /// What no other has.
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
        state: NonNull<Matched>,
        archetypes: &'w Archetypes,
    ) -> &'w Matched {
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
    ) -> &'w Matched {
        let key = (id, options);
        let state = match self.recent.get() {
            Some((recent, state)) if recent == key => state,
            _ => self.look_up(key, plan),
        };
        self.current(state, archetypes)
    }

    /// The state of a query of this plan, with all archetypes looked at.
    pub(crate) fn of_plan<'w>(&'w self, plan: &Plan, archetypes: &'w Archetypes) -> &'w Matched {
        let mut known = self.known.borrow_mut();
        let number = known.number_of(plan);
        self.current(known.list[number as usize], archetypes)
    }

    #[inline(never)]
    #[track_caller]
    fn look_up(&self, key: Key, plan: impl FnOnce() -> Plan) -> NonNull<Matched> {
        let found = self.known.borrow().by_type.get(&key).copied();
        let number = found.unwrap_or_else(|| {
            // Names of types are code of the user, so nothing is borrowed meanwhile.
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
    fn current<'w>(&'w self, state: NonNull<Matched>, archetypes: &'w Archetypes) -> &'w Matched {
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
    fn catch_up(&self, state: NonNull<Matched>, archetypes: &Archetypes) {
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
        let state = Box::into_raw(Box::new(Matched::new(plan.clone())));
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

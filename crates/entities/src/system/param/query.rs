//! Queries and lookups as parameters.

#![expect(unsafe_code, reason = "one world that several parameters borrow")]

use super::{ParamConflict, ParamSetup, SystemParam, SystemUses, Uses, WorldOfParams};
use crate::manager::EntityManager;
use crate::query::{Lookup, Query, QueryData, QueryFilter, SystemQuery};
use crate::system::error::SystemFault;
use crate::world::World;

/// What a system keeps of a query.
pub struct QueryState {
    pub(super) kept: SystemQuery,
    /// Which of the parameters it is.
    place: usize,
}

impl QueryState {
    /// Declares a query under the name of a parameter.
    pub(super) fn declare<P>(
        setup: &mut ParamSetup<'_>,
        kept: SystemQuery,
    ) -> Result<Self, ParamConflict> {
        let (plan, is_lookup) = (kept.plan().clone(), kept.is_lookup());
        let place = setup.declare::<P>(Uses::Query { plan, is_lookup })?;
        Ok(Self { kept, place })
    }

    pub(super) fn settle(&mut self, uses: &SystemUses) {
        self.kept.settle(uses.0.queries_beside(self.place));
    }
}

// SAFETY: what the query gives is declared, and it uses nothing else.
unsafe impl<D: QueryData, F: QueryFilter> SystemParam for Query<'_, D, F> {
    type State = QueryState;
    type Item<'w, 's> = Query<'w, D, F>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<QueryState, ParamConflict> {
        let kept = SystemQuery::of_query::<D, F>(&setup.world.entities);
        QueryState::declare::<Self>(setup, kept)
    }

    fn settle(state: &mut QueryState, uses: &SystemUses) {
        state.settle(uses);
    }

    #[inline]
    fn prepare(state: &mut QueryState, world: &mut World) -> Result<(), SystemFault> {
        Ok(state.kept.prepare(&mut world.entities)?)
    }

    #[inline]
    unsafe fn fetch<'w>(state: &mut QueryState, world: WorldOfParams<'w>) -> Query<'w, D, F> {
        // SAFETY: the caller promises it. The state was made of this data and these filters.
        unsafe { state.kept.query(world.entities(), world.since) }
    }

    fn add_entities(state: &mut QueryState, entities: &EntityManager, count: &mut usize) {
        *count += state.kept.entity_count(entities);
    }

    fn has_entities(state: &mut QueryState, entities: &EntityManager) -> Option<bool> {
        Some(state.kept.has_chunks(entities))
    }
}

// SAFETY: as for queries.
unsafe impl<D: QueryData, F: QueryFilter> SystemParam for Lookup<'_, D, F> {
    type State = QueryState;
    type Item<'w, 's> = Lookup<'w, D, F>;

    fn declare(setup: &mut ParamSetup<'_>) -> Result<QueryState, ParamConflict> {
        let kept = SystemQuery::of_lookup::<D, F>(&setup.world.entities);
        QueryState::declare::<Self>(setup, kept)
    }

    fn settle(state: &mut QueryState, uses: &SystemUses) {
        state.settle(uses);
    }

    #[inline]
    fn prepare(state: &mut QueryState, world: &mut World) -> Result<(), SystemFault> {
        Ok(state.kept.prepare(&mut world.entities)?)
    }

    #[inline]
    unsafe fn fetch<'w>(state: &mut QueryState, world: WorldOfParams<'w>) -> Lookup<'w, D, F> {
        // SAFETY: the caller promises it. The state was made of this data and these filters.
        unsafe { state.kept.lookup(world.entities()) }
    }
}

impl std::fmt::Debug for QueryState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryState").field("place", &self.place).finish_non_exhaustive()
    }
}

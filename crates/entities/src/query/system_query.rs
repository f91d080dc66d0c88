//! [`SystemQuery`]: the state of a `Query` or `Lookup` parameter between runs of a system.

#![expect(unsafe_code, reason = "states of queries that are stored beside their world")]

use std::any::TypeId;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use super::access::{Disjoint, disjoint};
use super::access::{Meets, Viewed, add_copied, may_meet};
use super::data::QueryData;
use super::descriptor::QueryDescriptor;
use super::descriptor::plan_of;
use super::filter::QueryFilter;
use super::lookup::Lookup;
use super::split::conflict;
use super::state::QueryState;
use super::terms::{Options, Settings, Since};
use super::terms::{Part, Plan};
use super::view::{Others, Query};
use crate::component::ComponentType;
use crate::manager::EntityManager;
use crate::storage::{OutOfMemory, unshare};
use crate::version::Version;

/// A query or a lookup of a system, with its cached state.
pub(crate) struct SystemQuery {
    /// Identity of the cache that has the state. It changes if the world's entities are replaced.
    states: u64,
    state: NonNull<QueryState>,
    /// The key of the state. A description of run time has none, and is found by its plan.
    key: Option<(TypeId, Options)>,
    plan: Plan,
    is_lookup: bool,
    writes: bool,
    /// The views of the system that a job of it conflicts with.
    meets: Meets<'static>,
}

// SAFETY: the state is used only together with its world, by the thread that has the world.
unsafe impl Send for SystemQuery {}

impl SystemQuery {
    /// Creates the state of a query.
    #[track_caller]
    pub(crate) fn of_query<D: QueryData, F: QueryFilter>(entities: &EntityManager) -> Self {
        Self::new::<D, F>(entities, Options::default(), false)
    }

    /// Creates the state of a lookup.
    #[track_caller]
    pub(crate) fn of_lookup<D: QueryData, F: QueryFilter>(entities: &EntityManager) -> Self {
        Self::new::<D, F>(entities, Lookup::<D, F>::OPTIONS, true)
    }

    /// Creates the state of a query from its description.
    #[track_caller]
    pub(crate) fn of_description(entities: &EntityManager, query: &QueryDescriptor) -> Self {
        let (key, plan) = query.plan();
        Self::of_plan(entities, key, plan, false)
    }

    #[track_caller]
    fn new<D: QueryData, F: QueryFilter>(
        entities: &EntityManager,
        options: Options,
        is_lookup: bool,
    ) -> Self {
        let id = TypeId::of::<(D::Static, F)>();
        Self::of_plan(entities, Some((id, options)), plan_of::<D, F>(options), is_lookup)
    }

    #[track_caller]
    fn of_plan(
        entities: &EntityManager,
        key: Option<(TypeId, Options)>,
        plan: Plan,
        is_lookup: bool,
    ) -> Self {
        let found = find(entities, key, &plan);
        let writes = plan.parts.iter().any(|part| part.write && !part.bits);
        let (states, state) = (entities.queries.id(), NonNull::from(found));
        Self { states, state, key, plan, is_lookup, writes, meets: Meets::Nobody }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn is_lookup(&self) -> bool {
        self.is_lookup
    }

    /// Records the views of the system that a job of it conflicts with, out of views of these queries.
    pub(crate) fn settle<'q>(&mut self, others: impl IntoIterator<Item = (&'q Plan, bool)>) {
        let job = Viewed { query: &self.plan, is_lookup: self.is_lookup };
        let met =
            others.into_iter().map(|(query, is_lookup)| may_meet(job, Viewed { query, is_lookup }));
        self.meets = match Meets::all(met) {
            Meets::Nobody => Meets::Nobody,
            Meets::Writer(plan) => Meets::WriterOfSystem(Arc::new(plan.clone())),
            Meets::WriterOfSystem(plan) => Meets::WriterOfSystem(plan),
            Meets::Others => Meets::Others,
        };
    }

    /// Returns the state, updated with new archetypes.
    #[inline]
    pub(crate) fn matched<'w>(&mut self, entities: &'w EntityManager) -> &'w QueryState {
        if entities.queries.id() != self.states {
            self.find_again(entities);
        }
        // SAFETY: the state is in this cache.
        unsafe { entities.queries.again(self.state, &entities.storage.archetypes) }
    }

    #[cold]
    fn find_again(&mut self, entities: &EntityManager) {
        self.state = NonNull::from(find(entities, self.key, &self.plan));
        self.states = entities.queries.id();
    }

    /// Prepares the state before there are views: adds new archetypes, and copies chunks that can be written and are shared
    /// with a fork.
    #[inline]
    pub(crate) fn prepare(&mut self, entities: &mut EntityManager) -> Result<(), OutOfMemory> {
        let matched = NonNull::from(self.matched(entities));
        if self.writes && entities.storage.chunks.may_be_shared() {
            // SAFETY: states do not move, and this one does not change: no archetype is created meanwhile.
            make_unique(entities, unsafe { matched.as_ref() })?;
        }
        Ok(())
    }

    /// Returns a view of the query.
    ///
    /// # Safety
    ///
    /// - the state was created for this data and these filters, and just prepared for the manager
    /// - the manager is borrowed mutably for the lifetime, and used only by views
    /// - no other view reads or writes what this one can write, and no other view writes what it reads
    /// - it was settled with all other views
    #[inline]
    pub(crate) unsafe fn query<'w, D: QueryData, F: QueryFilter>(
        &self,
        entities: NonNull<EntityManager>,
        since: Version,
    ) -> Query<'w, D, F> {
        let settings = Settings { since: Since(since), shared: None };
        let others = match self.meets {
            Meets::Nobody => Others::Disjoint,
            _ => Others::Conflicting,
        };
        // SAFETY: the state is that of this query and was prepared for the manager, which is borrowed mutably and used only by
        // views. The views do not conflict, and `prepare` has unshared the chunks that can be written.
        unsafe { Query::new(entities, self.state.as_ref(), settings, others) }
    }

    /// Returns a view of the lookup.
    ///
    /// # Safety
    ///
    /// - the state was created for a lookup of this data and these filters, and just prepared for the manager
    /// - the manager is borrowed mutably for the lifetime, and used only by views
    /// - no other view reads or writes what this one can write, and no other view writes what it reads
    /// - it was settled with all other views
    #[inline]
    pub(crate) unsafe fn lookup<'w, D: QueryData, F: QueryFilter>(
        &self,
        entities: NonNull<EntityManager>,
    ) -> Lookup<'w, D, F> {
        // SAFETY: the state is that of this lookup and was prepared for the manager, which is borrowed mutably and used only by
        // views. The views do not conflict, and `prepare` has unshared the chunks that can be written.
        unsafe { Lookup::new(entities, self.state.as_ref(), self.meets.clone()) }
    }

    /// Returns whether a chunk matches, unfiltered.
    pub(crate) fn has_chunks(&mut self, entities: &EntityManager) -> bool {
        let archetypes = &entities.storage.archetypes;
        let matches = &self.matched(entities).matches;
        matches.iter().any(|found| !archetypes[found.archetype].chunks.is_empty())
    }

    /// Counts the entities, unfiltered.
    pub(crate) fn entity_count(&mut self, entities: &EntityManager) -> usize {
        let storage = &entities.storage;
        let matches = self.matched(entities).matches.iter();
        let chunks = matches.flat_map(|found| &storage.archetypes[found.archetype].chunks);
        chunks.map(|&number| storage.chunks[number].len as usize).sum()
    }
}

#[track_caller]
fn find<'w>(
    entities: &'w EntityManager,
    key: Option<(TypeId, Options)>,
    plan: &Plan,
) -> &'w QueryState {
    let archetypes = &entities.storage.archetypes;
    match key {
        Some((id, options)) => entities.queries.of_type(id, options, archetypes, || plan.clone()),
        None => entities.queries.of_plan(plan, archetypes),
    }
}

/// Copies all chunks that are shared with a fork and that a query can write.
#[cold]
fn make_unique(entities: &mut EntityManager, matched: &QueryState) -> Result<(), OutOfMemory> {
    let EntityManager { storage, jobs, .. } = entities;
    let (archetypes, chunks) = (&storage.archetypes, &mut storage.chunks);
    if jobs.are_live() {
        jobs.sync_for_uses(|uses| add_copied(matched, archetypes, chunks, uses));
    }
    for found in &*matched.matches {
        for &number in &archetypes[found.archetype].chunks {
            if chunks[number].may_be_shared() {
                unshare(chunks, number, &storage.settings)?;
            }
        }
    }
    Ok(())
}

/// The conflict of two queries of a system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    /// The component of both.
    pub(crate) ty: ComponentType,
    /// The conflict is about enable bits, not values.
    pub(crate) bits: bool,
    /// Flags for the queries that can write it.
    pub(crate) changes: [bool; 2],
    /// The enableable component that is the only difference of their filters.
    pub(crate) switch: Option<ComponentType>,
}

/// Returns the conflict of two queries, if they conflict.
pub(crate) fn conflict_of(left: &Plan, right: &Plan) -> Option<Conflict> {
    let (of_left, of_right): (Part, Part) = conflict(left, right)?;
    let switch = match disjoint(left, right) {
        Disjoint::Archetypes => return None,
        Disjoint::Switch(switch) => Some(switch),
        Disjoint::No => None,
    };
    let (ty, bits, changes) = (of_left.ty, of_left.bits, [of_left.write, of_right.write]);
    Some(Conflict { ty, bits, changes, switch })
}

/// The manager of a borrowed world, beside views of it that may be in use.
#[derive(Clone, Copy)]
pub(crate) struct ManagerBesideViews<'w> {
    entities: NonNull<EntityManager>,
    borrow: PhantomData<&'w EntityManager>,
}

impl<'w> ManagerBesideViews<'w> {
    /// # Safety
    ///
    /// - the manager is borrowed for the lifetime
    /// - no mutable reference to it exists while a reference of [`get`](Self::get) is in use
    #[inline]
    pub(crate) unsafe fn new(entities: NonNull<EntityManager>) -> Self {
        Self { entities, borrow: PhantomData }
    }

    /// Returns the manager, for as long as the caller uses no view.
    #[inline]
    pub(crate) fn get(&self) -> &EntityManager {
        // SAFETY: the manager is borrowed for the lifetime, and no mutable reference to it exists while this one is in use.
        unsafe { self.entities.as_ref() }
    }
}

impl<'w> From<&'w EntityManager> for ManagerBesideViews<'w> {
    fn from(entities: &'w EntityManager) -> Self {
        Self { entities: NonNull::from(entities), borrow: PhantomData }
    }
}

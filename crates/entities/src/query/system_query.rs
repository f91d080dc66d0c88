//! [`SystemQuery`]: the state of a `Query` or `Lookup` parameter between runs of a system.

#![expect(unsafe_code, reason = "a manager that is borrowed beside its views")]

use std::any::TypeId;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use super::access::{Disjoint, Meets, Viewed, disjoint, make_unique, may_read_mask, meets};
use super::cache::{Key, QueryCache, StateHandle};
use super::data::QueryData;
use super::descriptor::QueryDescriptor;
use super::descriptor::plan_of;
use super::filter::QueryFilter;
use super::lookup::Lookup;
use super::state::QueryState;
use super::terms::{Options, Part, Plan};
use crate::component::ComponentType;
use crate::manager::EntityManager;
use crate::storage::{Archetypes, OutOfMemory, Storage};

/// A query or a lookup of a system, with its cached state.
pub(crate) struct SystemQuery {
    /// The handle of the state. If the world's entities were replaced, it belongs to another cache and is renewed at the next use.
    pub(super) state: StateHandle,
    /// The key of the state in the cache. `None` for a description of types known only at run time, which is found by its plan.
    key: Option<Key>,
    plan: Plan,
    is_lookup: bool,
    writes: bool,
    /// The views of the system that a job of this query or lookup conflicts with.
    pub(super) meets: Meets<'static>,
}

impl SystemQuery {
    /// Creates the state of a query. The error is the message of A0070 or A0086.
    pub(crate) fn of_query<D: QueryData, F: QueryFilter>(
        entities: &EntityManager,
    ) -> Result<Self, String> {
        let key = (TypeId::of::<(D::Static, F)>(), Options::NONE);
        Ok(Self::of_plan(entities, Some(key), plan_of::<D, F>(key.1)?, false))
    }

    /// Creates the state of a lookup. The error is the message of A0070 or A0086.
    pub(crate) fn of_lookup<D: QueryData, F: QueryFilter>(
        entities: &EntityManager,
    ) -> Result<Self, String> {
        let key = (TypeId::of::<(D::Static, F)>(), Lookup::<D, F>::OPTIONS);
        Ok(Self::of_plan(entities, Some(key), plan_of::<D, F>(key.1)?, true))
    }

    /// Creates the state of a query from its description. The error is the message of A0070 or A0086.
    pub(crate) fn of_description(
        entities: &EntityManager,
        query: &QueryDescriptor,
    ) -> Result<Self, String> {
        let (key, plan) = query.plan()?;
        Ok(Self::of_plan(entities, key, plan, false))
    }

    fn of_plan(entities: &EntityManager, key: Option<Key>, plan: Plan, is_lookup: bool) -> Self {
        let (state, writes) = (entities.queries.handle(key, &plan), plan.writes_values());
        Self { state, key, plan, is_lookup, writes, meets: Meets::Nobody }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn is_lookup(&self) -> bool {
        self.is_lookup
    }

    /// Determines which of the system's other views a job of this query or lookup conflicts with. `others` has the plan of each
    /// view, and whether it is a lookup.
    pub(crate) fn settle<'q>(&mut self, others: impl IntoIterator<Item = (&'q Plan, bool)>) {
        let job = Viewed { plan: &self.plan, is_lookup: self.is_lookup };
        let met = others.into_iter().map(|(plan, is_lookup)| {
            let reads = |plan| move |ty| may_read_mask(plan, ty);
            meets(job, Viewed { plan, is_lookup }, reads(job.plan), reads(plan))
        });
        self.meets = match Meets::all(met) {
            Meets::Nobody => Meets::Nobody,
            Meets::Writer(plan) => Meets::WriterOfSystem(Arc::new(plan.clone())),
            Meets::WriterOfSystem(plan) => Meets::WriterOfSystem(plan),
            Meets::Others | Meets::OthersOfSystem => Meets::OthersOfSystem,
        };
    }

    /// Returns the state, updated with new archetypes.
    #[inline]
    pub(crate) fn matched<'w>(&mut self, entities: &'w EntityManager) -> &'w QueryState {
        self.matched_in(&entities.queries, &entities.storage.archetypes)
    }

    #[inline]
    fn matched_in<'w>(
        &mut self,
        queries: &'w QueryCache,
        archetypes: &'w Archetypes,
    ) -> &'w QueryState {
        queries.get(&self.state, archetypes).unwrap_or_else(|| {
            self.state = queries.handle(self.key, &self.plan);
            queries.get(&self.state, archetypes).expect("a handle of this cache")
        })
    }

    /// Prepares the state, before views exist: adds new archetypes, and copies chunks that the query can write and that are shared
    /// with a fork.
    #[inline]
    pub(crate) fn prepare(&mut self, entities: &mut EntityManager) -> Result<(), OutOfMemory> {
        let EntityManager { storage, jobs, queries, .. } = entities;
        let Storage { archetypes, chunks, settings, .. } = storage;
        let matched = self.matched_in(queries, archetypes);
        if self.writes && chunks.may_be_shared() {
            make_unique(chunks, archetypes, settings, jobs, matched)?;
        }
        Ok(())
    }

    /// Returns `true` if the matching archetypes have chunks. Ignores enabled state, changes and shared values.
    pub(crate) fn has_chunks(&mut self, entities: &EntityManager) -> bool {
        !self.matched(entities).has_no_chunks(&entities.storage)
    }

    /// Returns the number of entities in the matching archetypes. Ignores enabled state, changes and shared values.
    pub(crate) fn entity_count(&mut self, entities: &EntityManager) -> usize {
        self.matched(entities).count_rows(&entities.storage)
    }
}

/// A conflict between two queries of a system or of a split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    /// The component that both queries fetch.
    pub(crate) ty: ComponentType,
    /// True if the conflict is about enabled bits, and not about values.
    pub(crate) bits: bool,
    /// For each of the two queries, true if it can write.
    pub(crate) changes: [bool; 2],
    /// The enableable component by whose enabled state alone the filters separate the entities, if there is one.
    pub(crate) switch: Option<ComponentType>,
}

/// Returns the conflict between two queries, or `None`. Two queries conflict if both fetch a component, one of them can write it,
/// and an archetype may match both.
pub(crate) fn conflict_of(left: &Plan, right: &Plan) -> Option<Conflict> {
    let (of_left, of_right) = left.parts.iter().find_map(|one| {
        let same = |other: &&Part| {
            other.ty == one.ty && other.bits == one.bits && (other.write || one.write)
        };
        Some((one, right.parts.iter().find(same)?))
    })?;
    let switch = match disjoint(left, right) {
        Disjoint::Archetypes => return None,
        Disjoint::Switch(switch) => Some(switch),
        Disjoint::No => None,
    };
    let (ty, bits, changes) = (of_left.ty, of_left.bits, [of_left.write, of_right.write]);
    Some(Conflict { ty, bits, changes, switch })
}

/// The manager of a borrowed world, while views of the world may be in use.
#[derive(Clone, Copy)]
pub(crate) struct ManagerBesideViews<'w> {
    entities: NonNull<EntityManager>,
    borrow: PhantomData<&'w EntityManager>,
}

impl<'w> ManagerBesideViews<'w> {
    /// Creates a handle to a manager.
    ///
    /// # Safety
    ///
    /// - the manager is borrowed for the lifetime
    /// - no mutable reference to the manager exists while a reference returned by [`get`](Self::get) is in use
    #[inline]
    pub(crate) unsafe fn new(entities: NonNull<EntityManager>) -> Self {
        Self { entities, borrow: PhantomData }
    }

    /// Returns the manager. The caller must use no view as long as the reference lives.
    #[inline]
    pub(crate) fn get(&self) -> &EntityManager {
        // SAFETY: the manager is borrowed for the lifetime, and no mutable reference to it exists while the returned one is in use.
        unsafe { self.entities.as_ref() }
    }
}

impl<'w> From<&'w EntityManager> for ManagerBesideViews<'w> {
    fn from(entities: &'w EntityManager) -> Self {
        Self { entities: NonNull::from(entities), borrow: PhantomData }
    }
}

//! Queries that systems keep, and are asked in each of their runs.

#![expect(unsafe_code, reason = "states of queries that are kept beside their world")]

use std::any::TypeId;
use std::ptr::NonNull;
use std::sync::Arc;

use super::apart::{Apart, apart};
use super::data::QueryData;
use super::filter::QueryFilter;
use super::lookup::Lookup;
use super::matched::Matched;
use super::plan::{Part, Plan, plan_of};
use super::prepared::EntityQuery;
use super::settings::{Options, Settings, Since};
use super::split::conflict;
use super::uses::{Meets, Viewed, add_copied, may_meet};
use super::view::Query;
use crate::component::ComponentType;
use crate::manager::EntityManager;
use crate::storage::{OutOfMemory, unshare};
use crate::version::Version;

/// A query of a world, kept so that nothing has to be looked for when it is asked again.
pub(crate) struct KeptQuery {
    /// Whose state this is. A world can be given other entities, which know nothing of it.
    states: u64,
    state: NonNull<Matched>,
    id: TypeId,
    options: Options,
    plan: Plan,
    is_lookup: bool,
    writes: bool,
    /// Whether a job of it gets in the way of other views of the system.
    meets: Meets<'static>,
}

// SAFETY: the state is used only together with the world that it is of, by whoever has that.
unsafe impl Send for KeptQuery {}

impl KeptQuery {
    /// A query of this data, by these filters.
    #[track_caller]
    pub(crate) fn of_query<D: QueryData, F: QueryFilter>(entities: &EntityManager) -> Self {
        Self::new::<D, F>(entities, Options::default(), false)
    }

    /// A lookup of this data, by these filters.
    #[track_caller]
    pub(crate) fn of_lookup<D: QueryData, F: QueryFilter>(entities: &EntityManager) -> Self {
        Self::new::<D, F>(entities, Lookup::<D, F>::OPTIONS, true)
    }

    /// What a description asks for.
    #[track_caller]
    pub(crate) fn of_description<D: QueryData, F: QueryFilter>(
        entities: &EntityManager,
        query: &EntityQuery<D, F>,
    ) -> Self {
        Self::new::<D, F>(entities, query.settings.options, false)
    }

    #[track_caller]
    fn new<D: QueryData, F: QueryFilter>(
        entities: &EntityManager,
        options: Options,
        is_lookup: bool,
    ) -> Self {
        let plan = plan_of::<D, F>(options);
        let id = TypeId::of::<(D::Static, F)>();
        let found = find(entities, id, options, &plan);
        let writes = plan.parts.iter().any(|part| part.write && !part.bits);
        let (states, state) = (entities.queries.id(), NonNull::from(found));
        Self { states, state, id, options, plan, is_lookup, writes, meets: Meets::Nobody }
    }

    /// What it asks for.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether it is a lookup.
    pub(crate) fn is_lookup(&self) -> bool {
        self.is_lookup
    }

    /// Notes whether a job of it gets in the way of other views of the system: of these queries.
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

    /// The state, with all archetypes looked at.
    #[inline]
    pub(crate) fn matched<'w>(&mut self, entities: &'w EntityManager) -> &'w Matched {
        if entities.queries.id() != self.states {
            self.find_again(entities);
        }
        // SAFETY: it is a state of these.
        unsafe { entities.queries.again(self.state, &entities.storage.archetypes) }
    }

    #[cold]
    fn find_again(&mut self, entities: &EntityManager) {
        self.state = NonNull::from(find(entities, self.id, self.options, &self.plan));
        self.states = entities.queries.id();
    }

    /// Does what has to be done before views are made, while nobody has one: looks at archetypes that have come, and has chunks that
    /// can be changed copied that are shared with a fork.
    #[inline]
    pub(crate) fn prepare(&mut self, entities: &mut EntityManager) -> Result<(), OutOfMemory> {
        let matched = NonNull::from(self.matched(entities));
        if self.writes && entities.storage.chunks.may_be_shared() {
            // SAFETY: states stay where they are, and this one does not change: there are no more archetypes afterwards.
            make_unique(entities, unsafe { matched.as_ref() })?;
        }
        Ok(())
    }

    /// A view of what the query finds.
    ///
    /// # Safety
    ///
    /// - it was made of this data and these filters, and just prepared for the manager
    /// - the manager is borrowed mutably for the lifetime, and used only by views
    /// - what this can change, no other view gives, and what it reads, no other can change
    /// - it was settled with all other views
    #[inline]
    pub(crate) unsafe fn query<'w, D: QueryData, F: QueryFilter>(
        &self,
        entities: NonNull<EntityManager>,
        since: Version,
    ) -> Query<'w, D, F> {
        let settings = Settings { options: self.options, since: Since(since), shared: None };
        // SAFETY: the caller promises the same. What can be changed was made the world's alone.
        unsafe { Query::new(entities, self.state.as_ref(), settings, !self.meets.is_nobody()) }
    }

    /// A view of what the lookup finds.
    ///
    /// # Safety
    ///
    /// - as for [`query`](Self::query)
    #[inline]
    pub(crate) unsafe fn lookup<'w, D: QueryData, F: QueryFilter>(
        &self,
        entities: NonNull<EntityManager>,
    ) -> Lookup<'w, D, F> {
        // SAFETY: the caller promises the same.
        unsafe { Lookup::new(entities, self.state.as_ref(), self.meets.clone()) }
    }

    /// Whether there is a chunk that may have such entities, whatever is switched off or has changed.
    pub(crate) fn has_chunks(&mut self, entities: &EntityManager) -> bool {
        let archetypes = &entities.storage.archetypes;
        let matches = &self.matched(entities).matches;
        matches.iter().any(|found| !archetypes[found.archetype].chunks.is_empty())
    }

    /// How many entities there may be, whatever is switched off or has changed.
    pub(crate) fn entity_count(&mut self, entities: &EntityManager) -> usize {
        let storage = &entities.storage;
        let matches = self.matched(entities).matches.iter();
        let chunks = matches.flat_map(|found| &storage.archetypes[found.archetype].chunks);
        chunks.map(|&number| storage.chunks[number].len as usize).sum()
    }
}

#[track_caller]
fn find<'w>(entities: &'w EntityManager, id: TypeId, options: Options, plan: &Plan) -> &'w Matched {
    let archetypes = &entities.storage.archetypes;
    entities.queries.of_type(id, options, archetypes, || plan.clone())
}

/// Has all chunks copied that are shared with a fork and that a query can change.
#[cold]
fn make_unique(entities: &mut EntityManager, matched: &Matched) -> Result<(), OutOfMemory> {
    let EntityManager { storage, jobs, .. } = entities;
    let (archetypes, chunks) = (&storage.archetypes, &mut storage.chunks);
    if jobs.are_live() {
        jobs.before_uses(|uses| add_copied(matched, archetypes, chunks, uses));
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

/// Why two queries cannot be asked side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    /// What both have.
    pub(crate) ty: ComponentType,
    /// Whether it is about being switched on.
    pub(crate) bits: bool,
    /// Whether each of them can change it.
    pub(crate) changes: [bool; 2],
    /// The component that alone tells them apart, and can be switched.
    pub(crate) switch: Option<ComponentType>,
}

/// Why two queries cannot be asked side by side, if they cannot.
pub(crate) fn conflict_of(left: &Plan, right: &Plan) -> Option<Conflict> {
    let (of_left, of_right): (Part, Part) = conflict(left, right)?;
    let switch = match apart(left, right) {
        Apart::Archetypes => return None,
        Apart::Switch(switch) => Some(switch),
        Apart::No => None,
    };
    let (ty, bits, changes) = (of_left.ty, of_left.bits, [of_left.write, of_right.write]);
    Some(Conflict { ty, bits, changes, switch })
}

//! Resources that a query uses, which determine the jobs that it waits for and the queries that it conflicts with.

use std::sync::Arc;

use ancho_jobs::Access;

use super::state::{Bit, Match, QueryState};
use super::terms::{Need, Options, Part, Plan, Term, any_leaf};
use crate::component::ComponentType;
use crate::manager::{EntityManager, Jobs, Resource, ResourceUse};
use crate::storage::{Archetypes, Chunks, OutOfMemory, Storage, StorageSettings, unshare};

/// The kind of use of a query, which determines the jobs that are completed before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Finds the matching rows, without accessing their data.
    Found,
    /// Finds the matching rows and accesses their data.
    Data,
}

/// Completes the jobs that conflict with a use of a query.
#[inline(always)]
pub(super) fn sync_for_query(entities: &EntityManager, matched: &QueryState, asked: Asked) {
    if entities.jobs.are_live() {
        complete_before(&entities.jobs, &entities.storage, matched, asked);
    }
}

#[cold]
fn complete_before(jobs: &Jobs, storage: &Storage, matched: &QueryState, asked: Asked) {
    jobs.sync_for_uses(|uses| {
        add_uses(matched, &storage.archetypes, asked, uses);
        if asked == Asked::Data && storage.chunks.may_be_shared() {
            add_copied(matched, &storage.archetypes, &storage.chunks, uses);
        }
    });
}

/// Copies the chunks that are shared with a fork and that a query can write. It is called before views of the query exist.
#[cold]
pub(super) fn make_unique(
    chunks: &mut Chunks,
    archetypes: &Archetypes,
    settings: &StorageSettings,
    jobs: &Jobs,
    matched: &QueryState,
) -> Result<(), OutOfMemory> {
    // All chunks of all matches are copied. Whether an archetype has an optional component that may be written is not tested.
    if !matched.plan.writes_values() {
        return Ok(());
    }
    if jobs.are_live() {
        jobs.sync_for_uses(|uses| add_copied(matched, archetypes, chunks, uses));
    }
    for &number in matched.matches.iter().flat_map(|found| &archetypes[found.archetype].chunks) {
        if chunks[number].may_be_shared() {
            unshare(chunks, number, settings)?;
        }
    }
    Ok(())
}

/// Adds write access to the rows of all archetypes in which chunks may have to be copied before they are written.
pub(super) fn add_copied(
    matched: &QueryState,
    archetypes: &Archetypes,
    chunks: &Chunks,
    uses: &mut Vec<ResourceUse>,
) {
    if matched.plan.writes_values() {
        let found = matched.matches.iter().map(|found| found.archetype);
        let copied = found.filter(|&number| chunks.may_share_one(&archetypes[number].chunks));
        uses.extend(copied.map(|number| (Resource::Rows(number), Access::Write)));
    }
}

/// Adds the resources that a query uses, except for the rows of archetypes.
pub(super) fn add_uses(
    matched: &QueryState,
    archetypes: &Archetypes,
    asked: Asked,
    uses: &mut Vec<ResourceUse>,
) {
    let plan = &matched.plan;
    let ignores = plan.options.has(Options::IGNORE_ENABLED);
    for part in plan.parts.iter().filter(|_| asked == Asked::Data) {
        let access = if part.write { Access::Write } else { Access::Read };
        if part.bits {
            add(uses, Resource::Mask(part.ty), access);
        } else if part.need == Need::Optional && part.ty.is_enableable() && !ignores {
            add(uses, Resource::Mask(part.ty), Access::Read);
        }
        // Enabling or disabling a component counts as a change of its value, so it needs `Values`. Reading needs `Values` only if
        // there are values that can change: tags have none, and shared values never change. A chunk component has no bytes in a
        // column, but its value can change.
        let has_value = part.ty.size() > 0 || part.ty.is_chunk_component();
        if part.write || !part.bits && has_value {
            add(uses, Resource::Values(part.ty), access);
        }
    }
    plan.each_changed(|ty| add(uses, Resource::Values(ty), Access::Read));
    if matched.asks_for_bits {
        for found in &*matched.matches {
            add_masks(found, archetypes, uses);
        }
    }
}

/// Adds the resources of the change versions of all components that a query fetches.
///
/// The versions of a column, and of its rows if the rows are tracked, belong to the `Values` of the component, even if the
/// component is a tag without values. Access to the `Mask` of a component does not include its versions.
///
/// | writer of versions | declared access |
/// |---|---|
/// | writes of values, on the world's thread or in a job | `Values`, to write |
/// | enabling or disabling a component, including tags | `Mask` and `Values`, to write |
/// | adding, moving or removing rows, or replacing shared values | `Rows` of the archetypes and `Table`, to write |
/// | a view inside a loop, and tracked items that it yielded | none: [`meets`] finds the jobs that conflict with the view |
///
/// | reader of versions | declared access |
/// |---|---|
/// | a query with [`Changed`](crate::Changed), for the components of the filter | `Values`, to read; in a job also `Rows` |
/// | a job struct with its chunk, for all components whose values it fetches | `Values`, to read; `Rows` |
/// | a lookup in a job, for all components that it fetches | `Values`, to read, added by this function; `Rows` and `Table` |
/// | a lookup on the world's thread, and an `ArchetypeChunk` | `Values`, to read |
pub(super) fn add_versions(plan: &Plan, uses: &mut Vec<ResourceUse>) {
    for part in plan.parts.iter() {
        let access = if part.write { Access::Write } else { Access::Read };
        add(uses, Resource::Values(part.ty), access);
    }
}

/// The plan of a view or of a job, and whether it is a lookup or a query.
#[derive(Clone, Copy)]
pub(super) struct Viewed<'a> {
    pub(super) plan: &'a Plan,
    pub(super) is_lookup: bool,
}

/// The views of a split or of a system that a job conflicts with.
#[derive(Clone)]
pub(super) enum Meets<'a> {
    Nobody,
    /// The view of the query with this plan, because that view writes. A job over the same query does not conflict, because the
    /// job replaces the view.
    Writer(&'a Plan),
    /// The view of the query with this plan, in a system, because that view writes. A job over the same query does not conflict,
    /// because the job replaces the view.
    WriterOfSystem(Arc<Plan>),
    Others,
    /// Other views, in a system.
    OthersOfSystem,
}

impl Meets<'_> {
    /// Combines the conflicts of a job with several views.
    pub(super) fn all(each: impl IntoIterator<Item = Self>) -> Self {
        each.into_iter().fold(Self::Nobody, |all, one| match (all, one) {
            (Self::Nobody, one) => one,
            (all, Self::Nobody) => all,
            _ => Self::Others,
        })
    }
}

/// Returns `true` if a query reads the enabled bits of a component, in these archetypes.
pub(super) fn reads_mask(matched: &QueryState, archetypes: &Archetypes, ty: ComponentType) -> bool {
    let mut uses = Vec::new();
    add_uses(matched, archetypes, Asked::Data, &mut uses);
    uses.iter().any(|&(resource, _)| resource == Resource::Mask(ty))
}

/// Returns whether a job conflicts with a view that remains in use on the world's thread.
///
/// The job is a job over a query, or captures a lookup. The view belongs to another query or lookup. Neither of them writes data
/// that the other fetches from the same entity, so the conflict can only be about enabled bits and change versions.
/// `job_reads_mask` and `view_reads_mask` return whether the job and the view read the enabled bits of a component.
///
/// Two views never conflict over enabled bits and versions, because they are used in turns, on one thread. A job and a view wait
/// for each other when a loop starts, and when an entity is looked up. Inside of a loop they do not wait, but the view reads masks
/// and versions, and records the chunks that it fetches for writing. The items that it yielded may enable or disable components, or
/// record changes.
pub(super) fn meets<'a>(
    job: Viewed<'_>,
    view: Viewed<'a>,
    job_reads_mask: impl Fn(ComponentType) -> bool,
    view_reads_mask: impl Fn(ComponentType) -> bool,
) -> Meets<'a> {
    let has = |plan: &Plan, is_asked: &dyn Fn(&Part) -> bool| plan.parts.iter().any(is_asked);
    let asks = |plan: &Plan, ty| {
        let mut asks = false;
        plan.each_changed(|changed| asks |= changed == ty);
        asks
    };
    let by_view = |&Part { ty, bits, .. }: &Part| {
        // A lookup records the change when an entity is looked up, which waits for the job. Tracked items may record changes later.
        let notes = !view.is_lookup || ty.tracks_changes();
        // A job struct may read the change versions of its chunks, for all components whose values it fetches. A job that captures
        // a lookup may read those of all components of the lookup.
        let reads = |part: &Part| !part.bits || job.is_lookup;
        let uses = has(job.plan, &|part| part.ty == ty && (part.write || reads(part)));
        notes && (uses || asks(job.plan, ty)) || bits && job_reads_mask(ty)
    };
    let by_job = |&Part { ty, bits, .. }: &Part| {
        !view.is_lookup && (asks(view.plan, ty) || bits && view_reads_mask(ty))
    };
    let written = |plan: &Plan, is_met: &dyn Fn(&Part) -> bool| {
        plan.parts.iter().filter(|part| part.write).any(is_met)
    };
    match (written(view.plan, &by_view), written(job.plan, &by_job)) {
        (false, false) => Meets::Nobody,
        _ if disjoint(job.plan, view.plan) == Disjoint::Archetypes => Meets::Nobody,
        (true, false) if !view.is_lookup => Meets::Writer(view.plan),
        _ => Meets::Others,
    }
}

/// Returns `true` if a query may read the enabled bits of a component, in any archetype.
pub(super) fn may_read_mask(plan: &Plan, ty: ComponentType) -> bool {
    let asks = |part: &Part| part.ty == ty && (part.bits || part.need == Need::Optional);
    let ignores = plan.options.has(Options::IGNORE_ENABLED);
    plan.parts.iter().any(asks) || !ignores && may_be_about(&plan.terms, ty)
}

/// Returns `true` if one of the conditions may depend on a component. A filter by write groups may depend on any component.
fn may_be_about(terms: &[Term], component: ComponentType) -> bool {
    any_leaf(terms, &mut |term| match term {
        Term::With(ty)
        | Term::Without(ty)
        | Term::Absent(ty)
        | Term::Present(ty)
        | Term::Disabled(ty) => *ty == component,
        Term::Any(types) | Term::Changed(types) | Term::Added(types) => types.contains(&component),
        Term::NotOfOthers(_) => true,
        Term::OrderChanged | Term::Or(_) => false,
    })
}

/// Adds read access to the masks that determine which rows of an archetype match.
fn add_masks(found: &Match, archetypes: &Archetypes, uses: &mut Vec<ResourceUse>) {
    let shape = &archetypes[found.archetype].shape;
    let ty = |mask: u32| -> ComponentType { shape.types[shape.enableable[mask as usize] as usize] };
    let mut add_mask = |mask: u32| add(uses, Resource::Mask(ty(mask)), Access::Read);
    for bit in &found.bits {
        bit.any_leaf(&mut |bit| {
            match bit {
                Bit::On(mask) | Bit::Off(mask) => add_mask(*mask),
                Bit::Any(masks) => masks.iter().copied().for_each(&mut add_mask),
                Bit::Changed(_) | Bit::Or(_) => {}
            }
            false
        });
    }
}

/// Adds an access to a resource, unless the list has the same or a stronger access to it.
pub(super) fn add(uses: &mut Vec<ResourceUse>, resource: Resource, access: Access) {
    match uses.iter_mut().find(|(other, _)| *other == resource) {
        Some((_, Access::Write)) => {}
        Some((_, other)) => *other = access,
        None => uses.push((resource, access)),
    }
}

/// The result of [`disjoint`]: whether an entity can match two queries, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disjoint {
    /// No archetype matches both queries.
    Archetypes,
    /// An archetype may match both queries, but no entity does, because of the enabled state of this component.
    Switch(ComponentType),
    /// An entity may match both queries.
    No,
}

/// The maximum number of combinations of `Or` alternatives per query that are compared one by one.
pub(super) const MOST_ALTERNATIVES: usize = 64;

/// Returns `true` if a query has more than [`MOST_ALTERNATIVES`] combinations of `Or` alternatives.
pub(super) fn has_too_many_alternatives(plan: &Plan) -> bool {
    fn count(terms: &[Term]) -> usize {
        terms.iter().fold(1, |all, term| match term {
            Term::Or(lists) => {
                let ways = lists.iter().map(|terms| count(terms));
                all.saturating_mul(ways.fold(0, usize::saturating_add))
            }
            _ => all,
        })
    }
    count(&plan.terms) > MOST_ALTERNATIVES
}

/// Returns whether an entity can match two queries, whatever archetypes exist.
pub(crate) fn disjoint(left: &Plan, right: &Plan) -> Disjoint {
    let mut found = Disjoint::Archetypes;
    for left_terms in alternatives(&left.terms) {
        for right_terms in alternatives(&right.terms) {
            let left = Conditions { terms: &left_terms, options: left.options };
            let right = Conditions { terms: &right_terms, options: right.options };
            if left.has_what_is_lacking_in(right) || right.has_what_is_lacking_in(left) {
                continue;
            }
            match left.is_on_what_is_off_in(right).or_else(|| right.is_on_what_is_off_in(left)) {
                Some(switch) => found = Disjoint::Switch(switch),
                None => return Disjoint::No,
            }
        }
    }
    found
}

/// Expands the `Or` conditions into all combinations of alternatives. Each combination is a list without `Or`.
fn alternatives(terms: &[Term]) -> Vec<Vec<&Term>> {
    let mut all: Vec<Vec<&Term>> = vec![Vec::new()];
    for term in terms {
        match term {
            Term::Or(lists) => {
                let ways: Vec<_> = lists.iter().flat_map(|terms| alternatives(terms)).collect();
                // The `Or` is ignored. Without it more entities match, so queries that are found to be disjoint are disjoint.
                if all.len() * ways.len() > MOST_ALTERNATIVES {
                    continue;
                }
                let each = |list: &Vec<_>| {
                    let list = list.clone();
                    ways.iter().map(move |way| [list.as_slice(), way.as_slice()].concat())
                };
                all = all.iter().flat_map(each).collect();
            }
            term => all.iter_mut().for_each(|list| list.push(term)),
        }
    }
    all
}

#[derive(Clone, Copy)]
struct Conditions<'a> {
    terms: &'a [&'a Term],
    options: Options,
}

impl Conditions<'_> {
    /// Returns `true` if these conditions require a component that no archetype of the other conditions has.
    fn has_what_is_lacking_in(self, others: Conditions<'_>) -> bool {
        self.terms.iter().any(|term| match term {
            Term::With(ty) | Term::Present(ty) | Term::Disabled(ty) => others.lack(*ty),
            Term::Any(types) | Term::Changed(types) | Term::Added(types) => {
                !types.is_empty() && types.iter().all(|&ty| others.lack(ty))
            }
            _ => false,
        })
    }

    /// Returns `true` if no archetype that fulfils these conditions has the component.
    fn lack(self, component: ComponentType) -> bool {
        let ignores_enabled = self.options.has(Options::IGNORE_ENABLED);
        self.terms.iter().any(|term| match **term {
            Term::Absent(ty) => ty == component,
            // The archetype of a matching entity may have an enableable component, disabled, unless enabled state is ignored.
            Term::Without(ty) => ty == component && (ignores_enabled || !ty.is_enableable()),
            _ => false,
        })
    }

    /// Returns a component that is enabled on all entities that fulfil these conditions, and absent or disabled on all entities
    /// that fulfil the other conditions.
    fn is_on_what_is_off_in(self, others: Conditions<'_>) -> Option<ComponentType> {
        self.terms.iter().find_map(|term| match **term {
            Term::With(ty) => {
                let is_off = others.terms.iter().any(
                    |term| matches!(**term, Term::Without(off) | Term::Disabled(off) if off == ty),
                );
                (is_off && ty.is_enableable()).then_some(ty)
            }
            _ => None,
        })
    }
}

//! Resources that a query uses: which jobs it waits for, and which queries conflict.

use std::sync::Arc;

use ancho_jobs::Access;

use super::state::{Bit, Match, QueryState};
use super::terms::{Need, Options, Part, Plan, Term, any_leaf};
use crate::component::ComponentType;
use crate::manager::{EntityManager, Jobs, Resource, ResourceUse};
use crate::storage::{Archetypes, Chunks, OutOfMemory, Storage, StorageSettings, unshare};

/// The use of a query for which jobs are completed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Only the matching rows.
    Found,
    /// The rows and the data of them.
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

/// Copies the chunks that are shared with a fork and that a query can write, before there are views of it.
#[cold]
pub(super) fn make_unique(
    chunks: &mut Chunks,
    archetypes: &Archetypes,
    settings: &StorageSettings,
    jobs: &Jobs,
    matched: &QueryState,
) -> Result<(), OutOfMemory> {
    // A walk does not test whether an archetype has an optional component that may be written.
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

/// Adds the rows of all archetypes in which chunks may have to be copied before they are written.
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

/// Adds the resources that a query uses, except the rows of archetypes.
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
        // Enabling and disabling counts as a change of the value. A tag has no value to read, and shared values never change. A
        // chunk component has no bytes in a column either, but its value can change.
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

/// Adds the change versions of all components that a query fetches.
///
/// The version of a column, and those of its rows if they are tracked, belong to the `Values` of the component, even if it has
/// none. A claim on the mask alone does not cover them, nor does reading a tag.
///
/// | writer of versions | claim |
/// |---|---|
/// | writes of values, on the world's thread or in a job | `Values`, to write |
/// | enabling or disabling a component, including tags | `Mask` and `Values`, to write |
/// | adding, moving or removing rows, or replacing shared values | `Rows` of the archetypes and `Table`, to write |
/// | a view inside a loop, and tracked items it yielded | nothing more: conflicting jobs [meet](meets) the view |
///
/// | reader of versions | claim |
/// |---|---|
/// | a query with [`Changed`](crate::Changed), of these components | `Values`, to read; and `Rows`, in a job |
/// | a lookup in a job, for all components it fetches | `Values`, to read, as here; `Rows` and `Table` |
/// | a lookup on the world's thread, and a chunk | `Values`, to read |
pub(super) fn add_versions(plan: &Plan, uses: &mut Vec<ResourceUse>) {
    for part in plan.parts.iter() {
        let access = if part.write { Access::Write } else { Access::Read };
        add(uses, Resource::Values(part.ty), access);
    }
}

/// The query or lookup of a view or of a job.
#[derive(Clone, Copy)]
pub(super) struct Viewed<'a> {
    pub(super) plan: &'a Plan,
    pub(super) is_lookup: bool,
}

/// Conflicts of a job with views.
#[derive(Clone)]
pub(super) enum Meets<'a> {
    Nobody,
    /// A conflict with the view of one query, which records its writes. A job over this query itself replaces the view, and then
    /// there is no conflict: only one view can write.
    Writer(&'a Plan),
    /// A conflict with the view of one query in a system.
    WriterOfSystem(Arc<Plan>),
    Others,
}

impl Meets<'_> {
    /// Returns the conflicts of a job that has each of these.
    pub(super) fn all(each: impl IntoIterator<Item = Self>) -> Self {
        each.into_iter().fold(Self::Nobody, |all, one| match (all, one) {
            (Self::Nobody, one) => one,
            (all, Self::Nobody) => all,
            _ => Self::Others,
        })
    }
}

/// Returns `true` if matching depends on whether a component is enabled, for these archetypes.
pub(super) fn reads_mask(matched: &QueryState, archetypes: &Archetypes, ty: ComponentType) -> bool {
    let mut uses = Vec::new();
    add_uses(matched, archetypes, Asked::Data, &mut uses);
    uses.iter().any(|&(resource, _)| resource == Resource::Mask(ty))
}

/// Returns the conflicts of a job over a query, or a job that captures a lookup, with a view of another query that remains in use
/// on the world's thread. Neither writes data that the other fetches from the same entity. Two functions tell whether the matches
/// of the job and of the view depend on the mask of a component.
///
/// Views take turns, so one may read what another records: enabled bits and change versions. A job and a view wait for each other
/// when a loop starts and when an entity is looked up. Inside a loop, however, the view reads masks and versions, and records
/// fetches. The items it yielded may enable or disable components, or record changes.
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
        // A lookup records its fetches immediately. Tracked items may record changes later.
        let notes = !view.is_lookup || ty.tracks_changes();
        // A job may read the change versions of everything it looks up.
        let uses = has(job.plan, &|part| part.ty == ty && (part.write || job.is_lookup));
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

/// Returns `true` if matching can depend on whether a component is enabled, for any archetypes.
pub(super) fn may_read_mask(plan: &Plan, ty: ComponentType) -> bool {
    let asks = |part: &Part| part.ty == ty && (part.bits || part.need == Need::Optional);
    let ignores = plan.options.has(Options::IGNORE_ENABLED);
    plan.parts.iter().any(asks) || !ignores && may_be_about(&plan.terms, ty)
}

/// Returns `true` if one of the conditions can concern a component. If write groups are left alone, that is any component.
fn may_be_about(terms: &[Term], component: ComponentType) -> bool {
    any_leaf(terms, &mut |term| match term {
        Term::With(ty)
        | Term::Without(ty)
        | Term::Absent(ty)
        | Term::Present(ty)
        | Term::Disabled(ty) => *ty == component,
        Term::Any(types) | Term::Changed(types) => types.contains(&component),
        Term::NotOfOthers(_) => true,
        Term::OrderChanged | Term::Or(_) => false,
    })
}

/// Adds the masks that decide which rows of an archetype match.
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

/// Adds a use, unless the same or a stronger one is present.
pub(super) fn add(uses: &mut Vec<ResourceUse>, resource: Resource, access: Access) {
    match uses.iter_mut().find(|(other, _)| *other == resource) {
        Some((_, Access::Write)) => {}
        Some((_, other)) => *other = access,
        None => uses.push((resource, access)),
    }
}

/// The reason why no entity matches two queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disjoint {
    /// By components: no archetype has entities of both.
    Archetypes,
    /// Only by the enabled state of a component.
    Switch(ComponentType),
    /// The queries may match the same entity.
    No,
}

/// The maximum number of alternatives that are compared one by one.
pub(super) const MOST_ALTERNATIVES: usize = 64;

/// Returns `true` if a query has too many alternatives to compare them one by one.
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

/// Returns why no entity can match two queries, for any archetypes.
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

/// Returns all alternatives of the conditions, each a list without `Or`.
fn alternatives(terms: &[Term]) -> Vec<Vec<&Term>> {
    let mut all: Vec<Vec<&Term>> = vec![Vec::new()];
    for term in terms {
        match term {
            Term::Or(lists) => {
                let ways: Vec<_> = lists.iter().flat_map(|terms| alternatives(terms)).collect();
                // Without the condition more entities match, so queries found disjoint are disjoint.
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
    /// Returns `true` if these conditions require a component that the others exclude.
    fn has_what_is_lacking_in(self, others: Conditions<'_>) -> bool {
        self.terms.iter().any(|term| match term {
            Term::With(ty) | Term::Present(ty) | Term::Disabled(ty) => others.lack(*ty),
            Term::Any(types) | Term::Changed(types) => {
                !types.is_empty() && types.iter().all(|&ty| others.lack(ty))
            }
            _ => false,
        })
    }

    /// Returns `true` if no archetype has the component.
    fn lack(self, component: ComponentType) -> bool {
        let ignores_enabled = self.options.has(Options::IGNORE_ENABLED);
        self.terms.iter().any(|term| match **term {
            Term::Absent(ty) => ty == component,
            // An archetype may have a component that is disabled, unless that is ignored.
            Term::Without(ty) => ty == component && (ignores_enabled || !ty.is_enableable()),
            _ => false,
        })
    }

    /// Returns a component that is enabled in all entities of these conditions, and absent or disabled in those of the others.
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

//! Descriptions of queries as values: terms, options and the plan made of them.

use std::any::TypeId;
use std::sync::Arc;

use crate::builtin::{Disabled, Prefab};
use crate::component::{ComponentType, SharedValue, WriteGroup};
use crate::field::EntityRemap;
use crate::shared::{Shared, SharedComponent};
use crate::storage::ArchetypeShape;
use crate::version::Version;

/// A component that a query fetches for each entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    pub(crate) ty: ComponentType,
    pub(crate) need: Need,
    /// It can be written.
    pub(crate) write: bool,
    /// It is the enabled bit, not the value.
    pub(crate) bits: bool,
}

/// The requirement of a part on entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// The component, enabled.
    On,
    /// The component, enabled or disabled.
    Present,
    /// Nothing.
    Optional,
}

/// One condition on entities.
///
/// No other crate can name it, and so none can implement [`QueryFilter`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(unnameable_types, reason = "seals `QueryFilter`")]
pub enum Term {
    /// Has it, enabled.
    With(ComponentType),
    /// Does not have it, or disabled.
    Without(ComponentType),
    /// Has one of them, enabled.
    Any(Box<[ComponentType]>),
    /// Does not have it.
    Absent(ComponentType),
    /// Has it, enabled or disabled.
    Present(ComponentType),
    /// Has it, disabled.
    Disabled(ComponentType),
    /// One of them was written in its chunk.
    Changed(Box<[ComponentType]>),
    /// Its chunk gained or lost an entity.
    OrderChanged,
    /// Has no other enabled member of the write groups of the written components.
    NotOfOthers(KnownGroups),
    /// Fulfils all conditions of one of the lists.
    Or(Box<[Box<[Term]>]>),
}

/// The parts, conditions and options of a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Plan {
    pub(crate) parts: Box<[Part]>,
    pub(crate) terms: Box<[Term]>,
    pub(crate) options: Options,
}

/// The terms of a query before they become a [`Plan`].
#[derive(Clone, Default)]
pub(crate) struct Terms {
    pub(crate) parts: Vec<Part>,
    pub(crate) filters: Vec<Term>,
    pub(crate) options: Options,
}

impl Terms {
    /// Creates a plan with the default conditions of queries, and more options. The name of the query is for messages.
    ///
    /// # Panics
    ///
    /// With A0086 if a writable part occurs twice, with A0070 if a component is required to be disabled and is not enableable.
    #[track_caller]
    pub(crate) fn into_plan(self, query: &str, options: Options) -> Plan {
        let Self { parts, filters, options: own } = self;
        let options = own.with(options);
        refuse_conflicts(query, &parts);
        let mut terms = Vec::new();
        for part in &parts {
            let term = match part.need {
                Need::On => Term::With(part.ty),
                Need::Present => Term::Present(part.ty),
                Need::Optional => continue,
            };
            terms.push(term);
        }
        for term in filters {
            refuse_term(&term);
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        let (disabled, prefab) = (ComponentType::of::<Disabled>(), ComponentType::of::<Prefab>());
        for (mark, option) in [(disabled, Options::DISABLED), (prefab, Options::PREFABS)] {
            if !options.has(option) {
                pass_over(&mut terms, mark);
            }
        }
        if options.has(Options::WRITE_GROUPS) {
            let known = KnownGroups::new(&parts, &terms);
            terms.push(Term::NotOfOthers(known));
        }
        Plan { parts: parts.into(), terms: terms.into(), options }
    }
}

impl Plan {
    /// Returns a plan that matches the same, and reads what this one writes.
    pub(crate) fn reading(mut self) -> Self {
        self.parts.iter_mut().for_each(|part| part.write = false);
        self
    }

    /// Returns a plan that matches everything that one of several plans matches. They agree on `IGNORE_ENABLED`. A component that
    /// one of them writes counts as written. The entities that each of them excludes are among its conditions.
    pub(crate) fn union(plans: Vec<Self>) -> Self {
        let options = plans.first().map_or(Options::default(), |plan| plan.options);
        debug_assert!(plans.iter().all(|plan| {
            let ignores = |options: Options| options.has(Options::IGNORE_ENABLED);
            ignores(plan.options) == ignores(options)
        }));
        let mut alternatives: Vec<Box<[Term]>> = Vec::new();
        let mut parts: Vec<Part> = Vec::new();
        for plan in plans {
            let new = |part: &&Part| parts.iter().all(|other| other.ty != part.ty);
            let new: Vec<_> = plan.parts.iter().filter(new).copied().collect();
            parts.extend(new.into_iter().map(|part| Part { need: Need::Optional, ..part }));
            if !alternatives.contains(&plan.terms) {
                alternatives.push(plan.terms);
            }
        }
        let terms = match alternatives.len() {
            1 => alternatives.pop().expect("there is one"),
            _ => Box::new([Term::Or(alternatives.into())]),
        };
        // The exclusions of each plan are among its conditions.
        let options = options.with(Options::DISABLED).with(Options::PREFABS);
        Self { parts: parts.into(), terms, options }
    }

    /// Returns `true` if values in chunks can be written, and not only enabled bits.
    pub(crate) fn writes_values(&self) -> bool {
        self.parts.iter().any(|part| part.write && !part.bits)
    }

    /// Returns `true` if one of the conditions concerns changes.
    pub(crate) fn asks_for_changes(&self) -> bool {
        any_leaf(&self.terms, &mut |term| matches!(term, Term::Changed(_) | Term::OrderChanged))
    }

    /// Calls a function with each component of a change condition.
    pub(crate) fn each_changed(&self, mut each: impl FnMut(ComponentType)) {
        any_leaf(&self.terms, &mut |term| {
            if let Term::Changed(types) = term {
                types.iter().copied().for_each(&mut each);
            }
            false
        });
    }

    /// Returns `true` if every matching entity has the component and the query fetches its values, for writing if `to_change`.
    pub(crate) fn gives(&self, ty: ComponentType, to_change: bool) -> bool {
        let gives = |part: &Part| part.ty == ty && !part.bits && (part.write || !to_change);
        self.parts.iter().any(gives) && self.requires(ty)
    }

    /// Returns `true` if every matching entity has the component.
    pub(crate) fn requires(&self, ty: ComponentType) -> bool {
        self.terms.iter().any(|term| {
            matches!(*term, Term::With(with) | Term::Present(with) | Term::Disabled(with) if with == ty)
        })
    }
}

/// Excludes entities with a tag, unless the conditions require it. If one of several alternatives does, the others exclude them.
fn pass_over(terms: &mut Vec<Term>, mark: ComponentType) {
    if terms.contains(&Term::With(mark)) || terms.contains(&Term::Present(mark)) {
        return;
    }
    let mut is_asked_for = false;
    for term in terms.iter_mut() {
        if let Term::Or(alternatives) = term
            && alternatives.iter().any(|terms| asks_for(terms, mark))
        {
            is_asked_for = true;
            for alternative in alternatives {
                let mut terms = std::mem::take(alternative).into_vec();
                pass_over(&mut terms, mark);
                *alternative = terms.into();
            }
        }
    }
    if !is_asked_for {
        terms.push(Term::Absent(mark));
    }
}

/// Tests the conditions in order, also those of alternatives, until one passes. Returns `true` if one does.
pub(crate) fn any_leaf(terms: &[Term], test: &mut dyn FnMut(&Term) -> bool) -> bool {
    terms.iter().any(|term| match term {
        Term::Or(alternatives) => alternatives.iter().any(|terms| any_leaf(terms, test)),
        leaf => test(leaf),
    })
}

/// Returns `true` if entities with a mark are required, perhaps in one of several alternatives.
fn asks_for(terms: &[Term], mark: ComponentType) -> bool {
    any_leaf(terms, &mut |term| *term == Term::With(mark) || *term == Term::Present(mark))
}

#[track_caller]
fn refuse_term(term: &Term) {
    match term {
        Term::Disabled(component) => refuse_not_enableable(*component),
        Term::Or(alternatives) => alternatives.iter().flatten().for_each(refuse_term),
        _ => {}
    }
}

#[track_caller]
fn refuse_conflicts(query: &str, parts: &[Part]) {
    for (at, part) in parts.iter().enumerate() {
        let same = |other: &Part| {
            other.ty == part.ty && other.bits == part.bits && (other.write || part.write)
        };
        if let Some(before) = parts[..at].iter().position(same) {
            let (first, second, ty) = (before + 1, at + 1, part.ty);
            panic!(
                "A0086: the query `{query}` accesses `{ty}` as component {first} and again as component {second}, at \
                 least once mutably; remove one of them"
            );
        }
    }
}

#[track_caller]
pub(crate) fn refuse_not_enableable(component: ComponentType) {
    if !component.is_enableable() {
        panic!("{}", crate::error::EntityError::NotEnableable { component });
    }
}

/// Options of a query, as bits: entities that it includes or excludes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options(u8);

impl Options {
    /// No options.
    pub(crate) const NONE: Self = Self(0);
    /// Includes entities that are [disabled](crate::Disabled).
    pub(crate) const DISABLED: Self = Self(1);
    /// Includes [prefabs](crate::Prefab).
    pub(crate) const PREFABS: Self = Self(2);
    /// Ignores enabled bits.
    pub(crate) const IGNORE_ENABLED: Self = Self(4);
    /// Excludes other members of the write groups of the written components.
    pub(crate) const WRITE_GROUPS: Self = Self(8);

    pub(crate) const fn has(self, option: Self) -> bool {
        self.0 & option.0 != 0
    }

    pub(crate) const fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn with(self, option: Self) -> Self {
        Self(self.0 | option.0)
    }
}

/// Settings of a query that are known only at run time.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    /// Newer versions count as changes.
    pub(crate) since: Version,
    /// The values that entities must have, all of them. `None` stands for an empty list.
    pub(crate) shared: Option<Arc<Vec<(ComponentType, SharedValue)>>>,
}

impl Settings {
    pub(crate) fn add_shared<T: SharedComponent>(&mut self, value: T) {
        let filters = self.shared.get_or_insert_default();
        Arc::make_mut(filters)
            .push((ComponentType::of_shared::<T>(), Shared::new(value).into_erased()));
    }

    /// Replaces the entities in the values.
    pub(crate) fn remap_entities(&mut self, map: &mut EntityRemap<'_>) {
        let Some(filters) = &mut self.shared else { return };
        for at in 0..filters.len() {
            let (ty, value) = &filters[at];
            let remap = ty.0.shared.and_then(|functions| functions.remap);
            if let Some(other) = remap.and_then(|remap| remap(&**value, map)) {
                // Other queries may share the list.
                Arc::make_mut(filters)[at].1 = other;
            }
        }
    }

    /// Returns `true` if the values may contain entities.
    pub(crate) fn may_name_entities(&self) -> bool {
        let may = |(ty, _): &(ComponentType, SharedValue)| {
            ty.0.shared.is_some_and(|functions| functions.remap.is_some())
        };
        self.shared().iter().any(may)
    }

    pub(crate) fn shared(&self) -> &[(ComponentType, SharedValue)] {
        self.shared.as_ref().map_or(&[], |shared| shared)
    }
}

/// Write groups of a query: the components that it writes, and those that it names.
///
/// It reads the groups of the types in an archetype, not the members of the written types: types that were never used are not
/// registered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KnownGroups {
    /// Written components.
    written: Box<[ComponentType]>,
    /// Components that the query names, and whether they are only read.
    named: Box<[(TypeId, bool)]>,
}

/// Components that exclude the entities of one archetype.
pub(crate) struct Excluded<'k> {
    /// Written components of the archetype.
    written: Vec<TypeId>,
    named: &'k [(TypeId, bool)],
}

impl KnownGroups {
    /// Returns the write groups of a query with these parts and conditions.
    pub(crate) fn new(parts: &[Part], terms: &[Term]) -> Self {
        let writes = parts.iter().filter(|part| part.write);
        let written: Box<[_]> = writes.map(|part| part.ty).collect();
        let mut named = Vec::new();
        let mut name = |ty: ComponentType, is_asked_for: bool| {
            let is_read = is_asked_for && !written.contains(&ty);
            named.extend(ty.0.type_id.map(|id| (id, is_read)));
        };
        for part in parts {
            name(part.ty, true);
        }
        name_terms(terms, &mut name);
        Self { named: named.into(), written }
    }

    /// Returns the components that exclude entities of an archetype.
    pub(crate) fn excluded_of(&self, shape: &ArchetypeShape) -> Excluded<'_> {
        let of_archetype = self.written.iter().filter(|&&ty| shape.has(ty));
        let written = of_archetype.filter_map(|ty| ty.0.type_id).collect();
        Excluded { written, named: &self.named }
    }
}

impl Excluded<'_> {
    /// Returns `true` if a component excludes the entities that have it.
    pub(crate) fn has(&self, ty: ComponentType) -> bool {
        let groups = ty.0.write_groups;
        let is_named = self.named.iter().any(|&(id, _)| Some(id) == ty.0.type_id);
        groups.iter().any(|group| self.written.contains(&group.target()))
            && !is_named
            && !self.reads_target_of(groups, &mut Vec::new())
    }

    /// Returns `true` if the query reads the target of one of these groups, directly or through other groups: then it handles the
    /// members.
    fn reads_target_of(&self, groups: &[WriteGroup], seen: &mut Vec<TypeId>) -> bool {
        groups.iter().any(|group| {
            let target = group.target();
            if seen.contains(&target) {
                return false;
            }
            seen.push(target);
            self.named.contains(&(target, true)) || self.reads_target_of(group.beyond(), seen)
        })
    }
}

/// Calls the function with each type in the conditions, and `true` unless the type is excluded.
fn name_terms(terms: &[Term], name: &mut impl FnMut(ComponentType, bool)) {
    any_leaf(terms, &mut |term| {
        match term {
            Term::With(ty) | Term::Present(ty) | Term::Disabled(ty) => name(*ty, true),
            Term::Any(types) | Term::Changed(types) => types.iter().for_each(|&ty| name(ty, true)),
            // An excluded component is not read.
            Term::Without(ty) | Term::Absent(ty) => name(*ty, false),
            Term::OrderChanged | Term::NotOfOthers(_) | Term::Or(_) => {}
        }
        false
    });
}

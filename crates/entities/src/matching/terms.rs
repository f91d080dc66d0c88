//! Descriptions of queries as values: terms, options, and the plan that is built from them.

use std::any::TypeId;
use std::sync::Arc;

use crate::builtin::{Disabled, Prefab};
use crate::component::{ComponentType, SharedValue, WriteGroup};
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::shared::{Shared, SharedComponent};
use crate::storage::ArchetypeShape;
use crate::version::Version;

/// A component that a query fetches for each entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    pub(crate) ty: ComponentType,
    pub(crate) need: Need,
    /// True if the query can write the component.
    pub(crate) write: bool,
    /// True if the query fetches the enabled bit of the component, and not the value.
    pub(crate) bits: bool,
}

/// The requirement that a `Part` sets for matching entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// The entity has the component, enabled.
    On,
    /// The entity has the component, enabled or disabled.
    Present,
    /// The entity need not have the component.
    Optional,
}

/// One condition on entities.
///
/// Other crates cannot name this type, and so cannot implement [`QueryFilter`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(unnameable_types, reason = "seals `QueryFilter`")]
pub enum Term {
    /// The entity has the component, enabled.
    With(ComponentType),
    /// The entity does not have the component, or has it disabled.
    Without(ComponentType),
    /// The entity has at least one of the components, enabled.
    Any(Box<[ComponentType]>),
    /// The entity does not have the component.
    Absent(ComponentType),
    /// The entity has the component, enabled or disabled.
    Present(ComponentType),
    /// The entity has the component, disabled.
    Disabled(ComponentType),
    /// At least one of the components was written in the entity's chunk, or on the entity if the component tracks changes.
    Changed(Box<[ComponentType]>),
    /// At least one of the components, all of which track changes, arrived at the entity.
    Added(Box<[ComponentType]>),
    /// The entity's chunk gained or lost an entity.
    OrderChanged,
    /// The entity has no enabled component that is a member of a write group of a written component, and that the query does not
    /// name.
    NotOfOthers(KnownGroups),
    /// The entity fulfils all conditions of at least one of the lists.
    Or(Box<[Box<[Term]>]>),
}

/// The parts, conditions and options of a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Plan {
    pub(crate) parts: Box<[Part]>,
    pub(crate) terms: Box<[Term]>,
    pub(crate) options: Options,
}

/// The parts, filters and options of a query, from which a [`Plan`] is built.
#[derive(Clone, Default)]
pub(crate) struct Terms {
    pub(crate) parts: Vec<Part>,
    pub(crate) filters: Vec<Term>,
    pub(crate) options: Options,
}

impl Terms {
    /// Builds the plan: adds the conditions of the parts, the default exclusions of queries, and `options`. `query` is the name of
    /// the query in messages.
    ///
    /// # Errors
    ///
    /// Returns the message of A0086 if two parts have the same component and one of them can write it. Returns the message of A0070
    /// if a component is required to be disabled and is not enableable.
    pub(crate) fn into_plan(self, query: &str, options: Options) -> Result<Plan, String> {
        let Self { parts, filters, options: own } = self;
        let options = own.with(options);
        check_conflicts(query, &parts)?;
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
            check_term(&term)?;
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
        Ok(Plan { parts: parts.into(), terms: terms.into(), options })
    }
}

impl Plan {
    /// Returns a plan that matches the same entities, and reads the components that this plan writes.
    pub(crate) fn reading(mut self) -> Self {
        self.parts.iter_mut().for_each(|part| part.write = false);
        self
    }

    /// Returns a plan that matches an entity if at least one of the given plans matches it.
    ///
    /// All plans must have the same `IGNORE_ENABLED` option. The parts of all plans become optional parts of the union.
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
        // Each plan excludes disabled entities and prefabs by its own conditions, so the union must not exclude them again.
        let options = options.with(Options::DISABLED).with(Options::PREFABS);
        Self { parts: parts.into(), terms, options }
    }

    /// Returns `true` if the query can write values in chunks. Enabled bits do not count.
    pub(crate) fn writes_values(&self) -> bool {
        self.parts.iter().any(|part| part.write && !part.bits)
    }

    /// Returns `true` if the query filters by change or by order change.
    pub(crate) fn asks_for_changes(&self) -> bool {
        any_leaf(&self.terms, &mut |term| {
            matches!(term, Term::Changed(_) | Term::Added(_) | Term::OrderChanged)
        })
    }

    /// Calls a function with each component that the query filters by change.
    pub(crate) fn each_changed(&self, mut each: impl FnMut(ComponentType)) {
        any_leaf(&self.terms, &mut |term| {
            if let Term::Changed(types) | Term::Added(types) = term {
                types.iter().copied().for_each(&mut each);
            }
            false
        });
    }

    /// Returns `true` if every matching entity has the component and the query fetches its values, for writing if `to_change` is
    /// set.
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

/// Adds a condition that excludes entities with the tag `mark`, unless the conditions require the tag.
///
/// If an alternative of an `Or` requires the tag, the other alternatives of that `Or` exclude it instead.
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

/// Returns `true` if `test` returns `true` for at least one condition, including the conditions inside of `Or`. Stops at the first.
pub(crate) fn any_leaf(terms: &[Term], test: &mut dyn FnMut(&Term) -> bool) -> bool {
    terms.iter().any(|term| match term {
        Term::Or(alternatives) => alternatives.iter().any(|terms| any_leaf(terms, test)),
        leaf => test(leaf),
    })
}

/// Returns `true` if the conditions, or an alternative of an `Or` among them, require the tag `mark`.
fn asks_for(terms: &[Term], mark: ComponentType) -> bool {
    any_leaf(terms, &mut |term| *term == Term::With(mark) || *term == Term::Present(mark))
}

fn check_term(term: &Term) -> Result<(), String> {
    match term {
        &Term::Disabled(component) if !component.is_enableable() => {
            Err(EntityError::NotEnableable { component }.to_string())
        }
        Term::Or(alternatives) => alternatives.iter().flatten().try_for_each(check_term),
        _ => Ok(()),
    }
}

fn check_conflicts(query: &str, parts: &[Part]) -> Result<(), String> {
    for (at, part) in parts.iter().enumerate() {
        let same = |other: &Part| {
            other.ty == part.ty && other.bits == part.bits && (other.write || part.write)
        };
        if let Some(before) = parts[..at].iter().position(same) {
            let (first, second, ty) = (before + 1, at + 1, part.ty);
            return Err(format!(
                "A0086: the query `{query}` accesses `{ty}` as component {first} and again as component {second}, at \
                 least once mutably; remove one of them"
            ));
        }
    }
    Ok(())
}

/// Options of a query, as bit flags.
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
    /// Excludes entities with other members of the write groups of the written components.
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
    /// The version that change filters compare with: newer versions count as changes.
    pub(crate) since: Version,
    /// The shared values that matching entities must have. `None` is an empty list.
    pub(crate) shared: Option<Arc<Vec<(ComponentType, SharedValue)>>>,
}

impl Settings {
    pub(crate) fn add_shared<T: SharedComponent>(&mut self, value: T) {
        let filters = self.shared.get_or_insert_default();
        Arc::make_mut(filters)
            .push((ComponentType::of_shared::<T>(), Shared::new(value).into_erased()));
    }

    /// Replaces the entities that the shared values contain.
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

    /// Returns `true` if the shared values may contain entities.
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

/// The components that a query writes and names, for filtering by write groups.
///
/// Filtering goes through the components of an archetype and reads the write groups of each. The other direction, from a written
/// component to the members of its group, is not possible: component types that were never used are not registered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KnownGroups {
    /// The components that the query writes.
    written: Box<[ComponentType]>,
    /// The components that the query names. The flag is set if the query only reads the component.
    named: Box<[(TypeId, bool)]>,
}

/// Tests whether a component excludes the entities of one archetype, because of write groups.
pub(crate) struct Excluded<'k> {
    /// The components of the archetype that the query writes.
    written: Vec<TypeId>,
    named: &'k [(TypeId, bool)],
}

impl KnownGroups {
    /// Collects the written and named components of a query with these parts and conditions.
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

    /// Returns a test for components that exclude the entities of an archetype.
    pub(crate) fn excluded_of(&self, shape: &ArchetypeShape) -> Excluded<'_> {
        let of_archetype = self.written.iter().filter(|&&ty| shape.has(ty));
        let written = of_archetype.filter_map(|ty| ty.0.type_id).collect();
        Excluded { written, named: &self.named }
    }
}

impl Excluded<'_> {
    /// Returns `true` if a component excludes the entities that have it.
    ///
    /// Such a component is in the write group of a written component. The query neither names it nor reads the target of one of its
    /// groups.
    pub(crate) fn has(&self, ty: ComponentType) -> bool {
        let groups = ty.0.write_groups;
        let is_named = self.named.iter().any(|&(id, _)| Some(id) == ty.0.type_id);
        groups.iter().any(|group| self.written.contains(&group.target()))
            && !is_named
            && !self.reads_target_of(groups, &mut Vec::new())
    }

    /// Returns `true` if the query reads the target of one of these groups, directly or through other groups. Such a query handles
    /// the members of the group.
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

/// Calls the function with each component of the conditions. The flag is `true` unless the condition excludes the component.
fn name_terms(terms: &[Term], name: &mut impl FnMut(ComponentType, bool)) {
    any_leaf(terms, &mut |term| {
        match term {
            Term::With(ty) | Term::Present(ty) | Term::Disabled(ty) => name(*ty, true),
            Term::Any(types) | Term::Changed(types) | Term::Added(types) => {
                types.iter().for_each(|&ty| name(ty, true));
            }
            // An excluded component is not read.
            Term::Without(ty) | Term::Absent(ty) => name(*ty, false),
            Term::OrderChanged | Term::NotOfOthers(_) | Term::Or(_) => {}
        }
        false
    });
}

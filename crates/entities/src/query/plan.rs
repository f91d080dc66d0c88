//! What a query asks for, as values.

use std::any::type_name;

use super::data::QueryData;
use super::filter::QueryFilter;
use super::settings::Options;
use super::write_groups::KnownGroups;
use crate::builtin::{Disabled, Prefab};
use crate::component::ComponentType;

/// One component that a query gives for each entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    pub(crate) ty: ComponentType,
    pub(crate) need: Need,
    /// Whether it can be changed.
    pub(crate) write: bool,
    /// Whether it is about being switched on or off, and not about the value.
    pub(crate) bits: bool,
}

/// What an entity must have so that a part can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// The component, switched on.
    On,
    /// The component, on or off.
    Present,
    /// Nothing.
    Optional,
}

/// One condition on entities.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// Has it, switched on.
    With(ComponentType),
    /// Does not have it, or switched off.
    Without(ComponentType),
    /// Has one of them, switched on.
    Any(Box<[ComponentType]>),
    /// Does not have it.
    Absent(ComponentType),
    /// Has it, on or off.
    Present(ComponentType),
    /// Has it, switched off.
    Disabled(ComponentType),
    /// One of them was written in its chunk.
    Changed(Box<[ComponentType]>),
    /// An entity came to its chunk, or left it.
    OrderChanged,
    /// Has nothing, switched on, by which others write in a special way what is written.
    NotOfOthers(KnownGroups),
    /// Fulfils all conditions of one of the lists.
    Or(Box<[Box<[Term]>]>),
}

/// What a query asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Plan {
    pub(crate) parts: Box<[Part]>,
    pub(crate) terms: Box<[Term]>,
    pub(crate) options: Options,
}

/// The terms of a query before they become a [`Plan`].
#[derive(Clone, Default)]
pub(super) struct Terms {
    pub(super) parts: Vec<Part>,
    pub(super) filters: Vec<Term>,
    pub(super) options: Options,
}

impl Terms {
    pub(super) fn of<D: QueryData, F: QueryFilter>() -> Self {
        let (mut parts, mut filters) = (Vec::new(), Vec::new());
        D::parts(&mut |part| parts.push(part));
        F::terms(&mut |term| filters.push(term));
        Self { parts, filters, options: F::OPTIONS }
    }

    #[track_caller]
    pub(super) fn into_plan(self, query: &str, options: Options) -> Plan {
        Plan::new(query, self.parts, self.filters, self.options.with(options))
    }
}

/// Returns the plan of a query of this data and these filters, with more options.
#[track_caller]
pub(super) fn plan_of<D: QueryData, F: QueryFilter>(options: Options) -> Plan {
    Terms::of::<D, F>().into_plan(type_name::<D>(), options)
}

impl Plan {
    /// A plan, with what every query asks for unless it says otherwise. The query has a name for messages.
    ///
    /// # Panics
    ///
    /// With A0086 if a part can be changed and is given twice, with A0070 if a component is to be switched off and cannot be.
    #[track_caller]
    pub(crate) fn new(query: &str, parts: Vec<Part>, filters: Vec<Term>, options: Options) -> Self {
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
        let passed_over = [
            (ComponentType::of::<Disabled>(), options.has(Options::DISABLED)),
            (ComponentType::of::<Prefab>(), options.has(Options::PREFABS)),
        ];
        for (mark, included) in passed_over {
            if !included {
                pass_over(&mut terms, mark);
            }
        }
        if options.has(Options::WRITE_GROUPS) {
            let known = KnownGroups::new(&parts, &terms);
            terms.push(Term::NotOfOthers(known));
        }
        Self { parts: parts.into(), terms: terms.into(), options }
    }

    /// A plan that finds the same, and reads what this one writes.
    pub(super) fn reading(mut self) -> Self {
        self.parts.iter_mut().for_each(|part| part.write = false);
        self
    }

    /// A plan for everything that one of several finds, which agree on whether they ignore what is switched off. What one of
    /// them writes counts as written. What each of them leaves to others is among its conditions, as what it passes over is.
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
        // What each of them passes over is among its conditions.
        let options = options.with(Options::DISABLED).with(Options::PREFABS);
        Self { parts: parts.into(), terms, options }
    }

    /// Whether one of the conditions is about changes.
    pub(crate) fn asks_for_changes(&self) -> bool {
        fn asks(terms: &[Term]) -> bool {
            terms.iter().any(|term| match term {
                Term::Changed(_) | Term::OrderChanged => true,
                Term::Or(alternatives) => alternatives.iter().any(|terms| asks(terms)),
                _ => false,
            })
        }
        asks(&self.terms)
    }

    /// Calls a function with each component of which it is asked whether it has changed.
    pub(super) fn each_changed(&self, mut each: impl FnMut(ComponentType)) {
        fn visit(terms: &[Term], each: &mut impl FnMut(ComponentType)) {
            for term in terms {
                match term {
                    Term::Changed(types) => types.iter().copied().for_each(&mut *each),
                    Term::Or(alternatives) => {
                        alternatives.iter().for_each(|terms| visit(terms, each));
                    }
                    _ => {}
                }
            }
        }
        visit(&self.terms, &mut each);
    }

    /// Whether every entity that is found has this component, and its values are given: to be changed, or at all.
    pub(crate) fn gives(&self, ty: ComponentType, to_change: bool) -> bool {
        let gives = |part: &Part| part.ty == ty && !part.bits && (part.write || !to_change);
        self.parts.iter().any(gives) && self.requires(ty)
    }

    /// Whether every entity that is found has this component.
    pub(crate) fn requires(&self, ty: ComponentType) -> bool {
        self.terms.iter().any(|term| {
            matches!(*term, Term::With(with) | Term::Present(with) | Term::Disabled(with) if with == ty)
        })
    }
}

/// Lets entities with a mark be passed over, unless the conditions ask for it. Where one of several lists of conditions does,
/// the others pass them over.
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

/// Whether entities with a mark are asked for, perhaps as one possibility among others.
fn asks_for(terms: &[Term], mark: ComponentType) -> bool {
    terms.iter().any(|term| match term {
        Term::With(with) | Term::Present(with) => *with == mark,
        Term::Or(alternatives) => alternatives.iter().any(|terms| asks_for(terms, mark)),
        _ => false,
    })
}

#[track_caller]
fn refuse_term(term: &Term) {
    match term {
        Term::Disabled(component) => refuse_not_enableable(*component),
        Term::Or(alternatives) => {
            for term in alternatives.iter().flatten() {
                refuse_term(term);
            }
        }
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
                "A0086: the query `{query}` has `{ty}` as component {first} and again as component {second}, and one of them \
                 can be changed; leave one of them out"
            );
        }
    }
}

#[track_caller]
pub(super) fn refuse_not_enableable(component: ComponentType) {
    if !component.is_enableable() {
        panic!("{}", crate::error::EntityError::NotEnableable { component });
    }
}

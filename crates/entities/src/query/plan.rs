//! What a query asks for, as values.

use std::any::type_name;

use super::data::QueryData;
use super::filter::QueryFilter;
use super::settings::Options;
use crate::component::ComponentType;
use crate::stock::{Disabled, Prefab};

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
}

/// What a query asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Plan {
    pub(crate) parts: Box<[Part]>,
    pub(crate) terms: Box<[Term]>,
    pub(crate) options: Options,
}

/// What a query asks for, checked.
#[track_caller]
pub(super) fn plan_of<D: QueryData, F: QueryFilter>(options: Options) -> Plan {
    let (mut parts, mut terms) = (Vec::new(), Vec::new());
    D::parts(&mut |part| parts.push(part));
    F::terms(&mut |term| terms.push(term));
    Plan::new(type_name::<D>(), parts, terms, options)
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
            if let Term::Disabled(component) = term {
                refuse_not_enableable(component);
            }
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        let passed_over = [
            (ComponentType::of::<Disabled>(), options.has(Options::DISABLED)),
            (ComponentType::of::<Prefab>(), options.has(Options::PREFABS)),
        ];
        for (mark, included) in passed_over {
            let is_asked_for =
                terms.contains(&Term::With(mark)) || terms.contains(&Term::Present(mark));
            if !included && !is_asked_for {
                terms.push(Term::Absent(mark));
            }
        }
        Self { parts: parts.into(), terms: terms.into(), options }
    }

    /// Whether every entity that is found has this component.
    pub(crate) fn requires(&self, ty: ComponentType) -> bool {
        self.terms.iter().any(|term| {
            matches!(*term, Term::With(with) | Term::Present(with) | Term::Disabled(with) if with == ty)
        })
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

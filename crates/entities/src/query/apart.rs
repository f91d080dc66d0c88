//! Whether two queries can find the same entity.

use super::plan::{Plan, Term};
use super::settings::Options;
use crate::component::ComponentType;

/// What tells the entities of two queries apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Apart {
    /// Their components: no archetype has entities of both.
    Archetypes,
    /// Whether a component is switched on, and nothing else.
    Switch(ComponentType),
    /// Nothing.
    No,
}

/// More lists of conditions than that are not taken apart.
pub(super) const MOST_ALTERNATIVES: usize = 64;

/// Whether the alternatives of a query are too many to be taken apart.
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

/// What tells the entities of two queries apart, whatever archetypes there are now.
pub(crate) fn apart(left: &Plan, right: &Plan) -> Apart {
    let mut found = Apart::Archetypes;
    for left_terms in alternatives(&left.terms) {
        for right_terms in alternatives(&right.terms) {
            let left = Conditions { terms: &left_terms, options: left.options };
            let right = Conditions { terms: &right_terms, options: right.options };
            if left.has_what_is_lacking_in(right) || right.has_what_is_lacking_in(left) {
                continue;
            }
            match left.is_on_what_is_off_in(right).or_else(|| right.is_on_what_is_off_in(left)) {
                Some(switch) => found = Apart::Switch(switch),
                None => return Apart::No,
            }
        }
    }
    found
}

/// All ways to fulfil conditions, each a list without alternatives.
fn alternatives(terms: &[Term]) -> Vec<Vec<&Term>> {
    let mut all: Vec<Vec<&Term>> = vec![Vec::new()];
    for term in terms {
        match term {
            Term::Or(lists) => {
                let ways: Vec<_> = lists.iter().flat_map(|terms| alternatives(terms)).collect();
                // Without the condition more entities are found, so that what is told apart is apart.
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
    /// Whether all archetypes of these have a component that those of the others lack.
    fn has_what_is_lacking_in(self, others: Conditions<'_>) -> bool {
        self.terms.iter().any(|term| match term {
            Term::With(ty) | Term::Present(ty) | Term::Disabled(ty) => others.lack(*ty),
            Term::Any(types) | Term::Changed(types) => {
                !types.is_empty() && types.iter().all(|&ty| others.lack(ty))
            }
            _ => false,
        })
    }

    /// Whether no archetype has a component.
    fn lack(self, component: ComponentType) -> bool {
        self.terms.iter().any(|term| match **term {
            Term::Absent(ty) => ty == component,
            Term::Without(ty) => ty == component && !self.is_switched(ty),
            _ => false,
        })
    }

    /// Whether it matters if a component is switched on.
    fn is_switched(self, component: ComponentType) -> bool {
        component.is_enableable() && !self.options.has(Options::IGNORE_ENABLED)
    }

    /// A component that is switched on in all entities of these, and absent or off in those of the others.
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

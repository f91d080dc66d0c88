//! What systems use, for the pass that orders them by it.

use std::any::TypeId;

use super::order::latency::SystemUses;
use super::param::{Accesses, Uses};
use crate::component::ComponentType;
use crate::query::{Plan, Term};

/// Something that systems use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Thing {
    /// The values of a component, and whether it is switched on.
    Component(ComponentType),
    Resource(TypeId),
    /// Ids of entities that are to come, and the order in which commands are carried out.
    Ids,
}

impl SystemUses<Thing> {
    /// What the parameters of a function say: its queries are for jobs that it schedules, or it goes through them itself.
    pub(super) fn of(accesses: &Accesses, in_jobs: bool) -> Self {
        let mut all = Self::default();
        for uses in accesses.uses() {
            match uses {
                Uses::Query { plan, .. } => all.add_query(plan, in_jobs),
                Uses::Resource { ty, write: true, .. } => all.writes.push(Thing::Resource(*ty)),
                Uses::Resource { ty, .. } => all.reads.push(Thing::Resource(*ty)),
                Uses::Ids { at_once: false } => all.writes.push(Thing::Ids),
                // Structs are not reordered at all.
                Uses::Systems => {}
                Uses::Ids { at_once: true }
                | Uses::Jobs
                | Uses::Entities
                | Uses::EntitiesMut
                | Uses::World => all.everything = true,
            }
        }
        all
    }

    /// What systems use of which nothing is known.
    pub(super) fn unknown() -> Self {
        Self { everything: true, ..Self::default() }
    }

    fn add_query(&mut self, plan: &Plan, in_jobs: bool) {
        let (reads, writes) = if in_jobs {
            (&mut self.jobs_read, &mut self.jobs_write)
        } else {
            (&mut self.reads, &mut self.writes)
        };
        for part in &plan.parts {
            let list = if part.write { &mut *writes } else { &mut *reads };
            list.push(Thing::Component(part.ty));
        }
        add_terms(&plan.terms, reads);
    }
}

/// What is only asked about is read: whether it was changed, and whether it is switched on.
fn add_terms(terms: &[Term], reads: &mut Vec<Thing>) {
    for term in terms {
        match term {
            Term::With(ty)
            | Term::Without(ty)
            | Term::Absent(ty)
            | Term::Present(ty)
            | Term::Disabled(ty) => reads.push(Thing::Component(*ty)),
            Term::Any(types) | Term::Changed(types) => {
                reads.extend(types.iter().map(|&ty| Thing::Component(ty)));
            }
            Term::OrderChanged | Term::NotOfOthers(_) => {}
            Term::Or(lists) => lists.iter().for_each(|list| add_terms(list, reads)),
        }
    }
}

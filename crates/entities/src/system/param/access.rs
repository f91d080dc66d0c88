//! What the parameters of a system use, and which of them exclude each other.

use std::any::TypeId;
use std::fmt;

use super::super::order::latency::SystemUses;
use super::error::ParamConflict;
use crate::component::ComponentType;
use crate::query::{Plan, Term, conflict_of};

/// What a parameter uses of a world.
#[derive(Clone, Debug)]
pub(crate) enum Uses {
    /// What a query, or a lookup, gives.
    Query {
        /// What it asks for.
        plan: Plan,
        /// Whether it is a lookup.
        is_lookup: bool,
    },
    /// A resource.
    Resource {
        /// Its type.
        ty: TypeId,
        /// What that is called.
        name: &'static str,
        /// Whether it can be changed.
        write: bool,
    },
    /// Ids of entities that are to come.
    Ids {
        /// Whether they come right after the system.
        at_once: bool,
    },
    /// The jobs of the world.
    Jobs,
    /// The data of a system, or which systems there are.
    Systems,
    /// All entities, to be read.
    Entities,
    /// All entities, to be changed.
    EntitiesMut,
    /// Everything.
    World,
}

/// A parameter, or a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    /// Which parameter, from 1 on.
    pub(crate) number: usize,
    /// What it is called.
    pub(crate) name: String,
    pub(crate) uses: Uses,
    /// The parameter sets that it is in, and which of their members: of a set, one member is used at a time.
    sets: Vec<(usize, usize)>,
}

/// What all parameters of a system use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accesses {
    declared: Vec<Declared>,
    /// The number of the parameter that is being declared.
    number: usize,
    /// The sets that it is in.
    sets: Vec<(usize, usize)>,
    /// How many sets there are.
    set_count: usize,
}

impl Accesses {
    /// Begins the next parameter.
    pub(crate) fn next_parameter(&mut self) {
        self.number += 1;
    }

    /// Declares the members of a set.
    pub(crate) fn begin_set(&mut self) {
        self.sets.push((self.set_count, 0));
        self.set_count += 1;
    }

    /// Goes on to the next member of the set.
    pub(crate) fn next_member(&mut self) {
        if let Some((_, member)) = self.sets.last_mut() {
            *member += 1;
        }
    }

    /// Ends the set that was begun last.
    pub(crate) fn end_set(&mut self) {
        self.sets.pop();
    }

    /// Declares what a parameter uses. Returns its place.
    pub(crate) fn declare(&mut self, name: String, uses: Uses) -> Result<usize, ParamConflict> {
        let (number, sets) = (self.number, self.sets.clone());
        let declared = Declared { number, name, uses, sets };
        // What they lead to can be exchanged as a whole, and other members are made ready before that.
        if !declared.sets.is_empty() && matches!(declared.uses, Uses::World | Uses::EntitiesMut) {
            return Err(ParamConflict::in_set(&declared));
        }
        for earlier in &self.declared {
            if earlier.is_beside(&declared) {
                refuse(earlier, &declared)?;
            }
        }
        self.declared.push(declared);
        Ok(self.declared.len() - 1)
    }

    /// What is used, parameter by parameter.
    pub(crate) fn uses(&self) -> impl Iterator<Item = &Uses> {
        self.declared.iter().map(|declared| &declared.uses)
    }

    /// The queries and lookups that may be in use while the one at this place is.
    pub(crate) fn queries_beside(&self, place: usize) -> impl Iterator<Item = (&Plan, bool)> {
        let own = &self.declared[place];
        let others = self.declared.iter().enumerate().filter(move |&(at, _)| at != place);
        others.filter_map(move |(_, other)| match &other.uses {
            Uses::Query { plan, is_lookup } if other.is_beside(own) => Some((plan, *is_lookup)),
            _ => None,
        })
    }
}

impl Declared {
    /// Whether both are in use at the same time: they are unless a set has them as different members.
    fn is_beside(&self, other: &Self) -> bool {
        let apart =
            |(one, other): (&(usize, usize), &(usize, usize))| one.0 == other.0 && one.1 != other.1;
        !self.sets.iter().zip(&other.sets).any(apart)
    }
}

/// Refuses two parameters that exclude each other.
fn refuse(left: &Declared, right: &Declared) -> Result<(), ParamConflict> {
    match (&left.uses, &right.uses) {
        (Uses::Query { plan: of_left, .. }, Uses::Query { plan: of_right, .. }) => {
            match conflict_of(of_left, of_right) {
                Some(conflict) => Err(ParamConflict::of_queries(left, right, conflict)),
                None => Ok(()),
            }
        }
        (Uses::Resource { ty, name, write }, Uses::Resource { ty: other, write: writes, .. }) => {
            if ty == other && (*write || *writes) {
                return Err(ParamConflict::of_others(
                    left,
                    right,
                    format!("the resource `{name}`"),
                ));
            }
            Ok(())
        }
        (one, other) => match one.meets(other).or_else(|| other.meets(one)) {
            Some(what) => Err(ParamConflict::of_others(left, right, what.to_owned())),
            None => Ok(()),
        },
    }
}

impl Uses {
    /// What both use that only one of them can, if there is something.
    fn meets(&self, other: &Self) -> Option<&'static str> {
        match self {
            Self::World => Some("the whole world"),
            Self::EntitiesMut => match other {
                Self::Query { .. }
                | Self::Ids { .. }
                | Self::Jobs
                | Self::Entities
                | Self::EntitiesMut => Some("all entities"),
                _ => None,
            },
            Self::Entities => match other {
                Self::Query { plan, .. } if plan.parts.iter().any(|part| part.write) => {
                    Some("all entities")
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parameter {}, `{}`,", self.number, self.name)
    }
}

/// Something that systems use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thing {
    /// The values of a component, and whether it is switched on.
    Component(ComponentType),
    Resource(TypeId),
    /// Ids of entities that are to come, and the order in which commands are carried out.
    Ids,
}

impl SystemUses<Thing> {
    /// What the parameters of a function say: its queries are for jobs that it schedules, or it goes through them itself.
    pub(crate) fn of(accesses: &Accesses, in_jobs: bool) -> Self {
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
    pub(crate) fn unknown() -> Self {
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

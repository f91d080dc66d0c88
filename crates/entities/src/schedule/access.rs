//! The data that a system's parameters access, and the conflicts between them.

use std::any::TypeId;
use std::error::Error;
use std::fmt;

use super::order::latency::LatencyAccess;
use crate::component::ComponentType;
use crate::debug_as_display::debug_as_display;
use crate::query::{Conflict, Plan, Term, conflict_of};

/// The data of a world that one parameter accesses.
#[derive(Clone, Debug)]
pub(crate) enum ParamAccess {
    /// The components of a query or lookup.
    Query { plan: Plan, is_lookup: bool },
    /// A resource, with the name of its type.
    Resource { ty: TypeId, name: &'static str, write: bool },
    /// A non-send value, with the name of its type.
    NonSend { ty: TypeId, name: &'static str, write: bool },
    /// The messages of a type.
    Message { ty: TypeId, write: bool },
    /// Reserved entity ids, for commands that play right after the system (`at_once`) or at a command point.
    Ids { at_once: bool },
    /// The job scheduler.
    Jobs,
    /// The system table.
    Systems,
    /// All entities, shared.
    Entities,
    /// All entities, exclusive.
    EntitiesMut,
    /// The whole world, exclusive.
    World,
}

/// A declared parameter, or a member of one.
#[derive(Clone, Debug)]
struct DeclaredParam {
    /// The position in the function's signature, starting at 1.
    number: usize,
    name: String,
    access: ParamAccess,
    /// The enclosing parameter sets, each with the index of the member in it. The members of one set are used one at a time.
    sets: Vec<(usize, usize)>,
}

/// The data that all parameters of a system access. It is collected while the parameters are declared.
#[derive(Clone, Debug, Default)]
pub struct SystemAccess {
    declared: Vec<DeclaredParam>,
    /// The number of the parameter that is being declared.
    number: usize,
    /// The number of enclosing tuples. The outermost tuple is the function's parameter list.
    tuple_depth: usize,
    /// The parameter sets that enclose the parameter that is being declared.
    sets: Vec<(usize, usize)>,
    set_count: usize,
}

impl SystemAccess {
    /// Begins a tuple: the function's parameter list, or a tuple inside it.
    pub(crate) fn begin_tuple(&mut self) {
        self.tuple_depth += 1;
    }

    /// Begins the next element of a tuple. Elements of the outermost tuple get the next parameter number.
    pub(crate) fn next_element(&mut self) {
        if self.tuple_depth == 1 {
            self.number += 1;
        }
    }

    /// Ends the tuple that was begun last.
    pub(crate) fn end_tuple(&mut self) {
        self.tuple_depth -= 1;
    }

    /// Begins a parameter set and its first member.
    pub(crate) fn begin_set(&mut self) {
        self.sets.push((self.set_count, 0));
        self.set_count += 1;
    }

    /// Begins the next member of the innermost parameter set.
    pub(crate) fn next_member(&mut self) {
        if let Some((_, member)) = self.sets.last_mut() {
            *member += 1;
        }
    }

    /// Ends the parameter set that was begun last.
    pub(crate) fn end_set(&mut self) {
        self.sets.pop();
    }

    /// Declares the access of a parameter. Returns the index of the parameter.
    pub(crate) fn declare(
        &mut self,
        name: String,
        access: ParamAccess,
    ) -> Result<usize, ParamConflict> {
        let (number, sets) = (self.number, self.sets.clone());
        let declared = DeclaredParam { number, name, access, sets };
        // A system with such a parameter can replace the whole world or all entities. The other members of the set are prepared
        // before that.
        let is_whole = matches!(declared.access, ParamAccess::World | ParamAccess::EntitiesMut);
        if !declared.sets.is_empty() && is_whole {
            return Err(ParamConflict::in_set(&declared));
        }
        for earlier in &self.declared {
            if earlier.is_concurrent_with(&declared) {
                refuse_conflict(earlier, &declared)?;
            }
        }
        self.declared.push(declared);
        Ok(self.declared.len() - 1)
    }

    /// Iterates over the queries that can be in use together with the query at `index`. The flag is set for lookups.
    pub(crate) fn concurrent_queries(&self, index: usize) -> impl Iterator<Item = (&Plan, bool)> {
        let own = &self.declared[index];
        let others = self.declared.iter().enumerate().filter(move |&(at, _)| at != index);
        others.filter_map(move |(_, other)| match &other.access {
            ParamAccess::Query { plan, is_lookup } if other.is_concurrent_with(own) => {
                Some((plan, *is_lookup))
            }
            _ => None,
        })
    }
}

impl DeclaredParam {
    /// Tests whether both parameters can be in use at the same time. Different members of one parameter set cannot.
    fn is_concurrent_with(&self, other: &Self) -> bool {
        let excludes =
            |(one, other): (&(usize, usize), &(usize, usize))| one.0 == other.0 && one.1 != other.1;
        !self.sets.iter().zip(&other.sets).any(excludes)
    }
}

fn refuse_conflict(left: &DeclaredParam, right: &DeclaredParam) -> Result<(), ParamConflict> {
    match (&left.access, &right.access) {
        (ParamAccess::Query { plan: of_left, .. }, ParamAccess::Query { plan: of_right, .. }) => {
            match conflict_of(of_left, of_right) {
                Some(conflict) => Err(ParamConflict::of_queries(left, right, conflict)),
                None => Ok(()),
            }
        }
        (
            ParamAccess::Resource { ty, name, write },
            ParamAccess::Resource { ty: other, write: writes, .. },
        ) => {
            if ty == other && (*write || *writes) {
                let what = format!("the resource `{name}`");
                return Err(ParamConflict::of_others(left, right, &what));
            }
            Ok(())
        }
        (
            ParamAccess::NonSend { ty, name, write },
            ParamAccess::NonSend { ty: other, write: writes, .. },
        ) => {
            if ty == other && (*write || *writes) {
                let what = format!("the non-send value `{name}`");
                return Err(ParamConflict::of_others(left, right, &what));
            }
            Ok(())
        }
        (one, other) => match one.conflicts_with(other).or_else(|| other.conflicts_with(one)) {
            Some(what) => Err(ParamConflict::of_others(left, right, what)),
            None => Ok(()),
        },
    }
}

impl ParamAccess {
    /// Describes the data for which two accesses conflict, or returns `None` if they do not conflict.
    fn conflicts_with(&self, other: &Self) -> Option<&'static str> {
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

impl fmt::Display for DeclaredParam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parameter {}, `{}`,", self.number, self.name)
    }
}

/// A conflict between two parameters of a system (A0100, A0101, A0102), or an invalid query (A0070, A0086).
#[derive(Clone, PartialEq, Eq)]
pub struct ParamConflict {
    message: String,
}

impl ParamConflict {
    /// Returns the error of one parameter: a query that conflicts with itself (A0086), or has an invalid filter (A0070), or a resource
    /// whose name is taken (A0180).
    pub(crate) fn of_message(message: String) -> Self {
        Self { message }
    }

    fn of_queries(left: &DeclaredParam, right: &DeclaredParam, conflict: Conflict) -> Self {
        let Conflict { ty, bits, changes, switch } = conflict;
        let what = if bits { "the enabled bit of" } else { "the values of" };
        let [does, also] = changes.map(|changes| if changes { "changes" } else { "reads" });
        let message = match switch {
            Some(switch) => format!(
                "A0101: {left} {does} and {right} {also} {what} `{ty}`, and only the enableable component `{switch}` \
                 separates their entities; filter by `Absent<{switch}>` instead of `Without<{switch}>`, or by a \
                 component that is not enableable, or put both in a `ParamSet`"
            ),
            None => format!(
                "A0100: {left} {does} and {right} {also} {what} `{ty}`, possibly of the same entity; access it in one \
                 parameter, filter one by `With<T>` and the other by `Without<T>`, with a component that separates \
                 their entities, or put both in a `ParamSet`"
            ),
        };
        Self { message }
    }

    fn of_others(left: &DeclaredParam, right: &DeclaredParam, what: &str) -> Self {
        let message = format!(
            "A0102: {left} and {right} both use {what}, at least one of them mutably; remove one of them, or put both \
             in a `ParamSet`"
        );
        Self { message }
    }

    fn in_set(declared: &DeclaredParam) -> Self {
        let message = format!(
            "A0102: {declared} cannot be a member of a `ParamSet`; take it as a parameter, and get the other members \
             from it"
        );
        Self { message }
    }
}

impl fmt::Display for ParamConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ParamConflict {}

debug_as_display!(ParamConflict);

/// Data of a world, as the order for latency distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AccessedData {
    /// The values and enabled bits of a component.
    Component(ComponentType),
    Resource(TypeId),
    /// The messages of a type: writers keep their order, and readers stay before or after them.
    Message(TypeId),
    NonSend(TypeId),
    /// Reserved entity ids, and with them the playback order of commands.
    Ids,
}

impl LatencyAccess<AccessedData> {
    /// Converts the declared access of a function. With `in_jobs`, the queries are used by jobs that the function schedules.
    pub(crate) fn of_params(params: &SystemAccess, in_jobs: bool) -> Self {
        let mut all = Self::default();
        for access in params.declared.iter().map(|declared| &declared.access) {
            match access {
                ParamAccess::Query { plan, .. } => all.add_query(plan, in_jobs),
                ParamAccess::Resource { ty, write: true, .. } => {
                    all.writes.push(AccessedData::Resource(*ty));
                }
                ParamAccess::Resource { ty, .. } => all.reads.push(AccessedData::Resource(*ty)),
                ParamAccess::Message { ty, write: true } => {
                    all.writes.push(AccessedData::Message(*ty));
                }
                ParamAccess::Message { ty, .. } => all.reads.push(AccessedData::Message(*ty)),
                ParamAccess::NonSend { ty, write: true, .. } => {
                    all.writes.push(AccessedData::NonSend(*ty));
                }
                ParamAccess::NonSend { ty, .. } => all.reads.push(AccessedData::NonSend(*ty)),
                ParamAccess::Ids { at_once: false } => all.writes.push(AccessedData::Ids),
                // Struct systems are never reordered, so no system is moved past the struct system that is read.
                ParamAccess::Systems => {}
                ParamAccess::Ids { at_once: true }
                | ParamAccess::Jobs
                | ParamAccess::Entities
                | ParamAccess::EntitiesMut
                | ParamAccess::World => all.everything = true,
            }
        }
        all
    }

    /// Returns the access of a system without declared parameters, which counts as accessing everything.
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
            list.push(AccessedData::Component(part.ty));
        }
        add_terms(&plan.terms, reads);
    }
}

/// Adds the components of filters, which read change versions and enabled bits.
fn add_terms(terms: &[Term], reads: &mut Vec<AccessedData>) {
    for term in terms {
        match term {
            Term::With(ty)
            | Term::Without(ty)
            | Term::Absent(ty)
            | Term::Present(ty)
            | Term::Disabled(ty) => reads.push(AccessedData::Component(*ty)),
            Term::Any(types) | Term::Changed(types) | Term::Added(types) => {
                reads.extend(types.iter().map(|&ty| AccessedData::Component(ty)));
            }
            Term::OrderChanged | Term::NotOfOthers(_) => {}
            Term::Or(lists) => lists.iter().for_each(|list| add_terms(list, reads)),
        }
    }
}

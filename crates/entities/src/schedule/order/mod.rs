//! The order in which the systems of a group run.
//!
//! A group lists its children in the order in which they were added. [`sort`] computes the order in which they run. The group has
//! three parts, which run one after the other: children that are `first`, children without such an option, and children that are
//! `last`. Constraints decide the order within each part. If there are several candidates, the one that was added first is next.
//! (Unity takes the one with the smaller hash of its type. That order is stable too, but it cannot be predicted, and renaming a
//! type changes it.)
//!
//! A constraint that cannot hold is an error, never a warning. Its target may not exist, be in another group, be a patch, or be the
//! system itself. The constraint may contradict the order of the three parts. Or it may be part of a cycle. The error of a cycle
//! lists exactly its members.
//!
//! This module does not depend on worlds.

mod error;
pub(crate) mod latency;
#[cfg(test)]
mod tests;

use std::any::TypeId;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

pub(crate) use error::OrderError;
use error::{ConstraintFault, CycleLink, NamedConstraint};

use super::SystemId;

/// A child of a group, with its constraints.
#[derive(Clone, Debug)]
pub(crate) struct OrderItem<'a> {
    /// The name that errors show.
    pub(crate) name: &'a str,
    /// The type of the function, struct or group. Several children may have the same type.
    pub(crate) type_id: TypeId,
    /// The id in the world.
    pub(crate) id: SystemId,
    /// Set for children of the first part.
    pub(crate) first: bool,
    /// Set for children of the last part.
    pub(crate) last: bool,
    /// Set for the group `LateSimulation`.
    pub(crate) is_late: bool,
    /// Siblings that run after this child.
    pub(crate) before: &'a [SystemTarget],
    /// Siblings that run before this child.
    pub(crate) after: &'a [SystemTarget],
    /// The sets of the child.
    pub(crate) sets: &'a [TypeId],
    /// The constraints of these sets.
    pub(crate) set_constraints: Vec<SetConstraint<'a>>,
}

/// A constraint of a set, which holds for each of its members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetConstraint<'a> {
    /// The systems that run before or after the members. It is no error if none of them is a sibling.
    pub(crate) target: &'a SystemTarget,
    pub(crate) is_before: bool,
}

/// The location of a target that is not a child of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// The target is in the group with this name. `runs_before` is set if that group runs before all systems of this one, and is
    /// `None` if the order of the enclosing groups does not decide it.
    InGroup { name: String, runs_before: Option<bool> },
    /// The target is a patch, which runs after each other system.
    AmongPatches,
    /// The target is a set without members, which is allowed.
    EmptySet,
}

/// A name for systems. It refers to all systems that match it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemTarget {
    /// All systems of a type, with the name of the type.
    Type(TypeId, &'static str),
    /// The system with an id.
    System(SystemId),
    /// All systems with a name.
    Name(String),
    /// All members of a set, with the name of the set.
    Set(TypeId, &'static str),
}

impl SystemTarget {
    /// Returns the name that errors show. Borrows it if possible, because a target is created in each frame that enables or
    /// disables a system.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Type(_, name) | Self::Set(_, name) => Cow::Borrowed(name),
            Self::System(id) => Cow::Owned(format!("{id:?}")),
            Self::Name(name) => Cow::Borrowed(name),
        }
    }
}

/// A part of a group. The parts run in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GroupPart {
    First,
    Middle,
    Last,
}

impl OrderItem<'_> {
    fn part(&self) -> GroupPart {
        match (self.first, self.last) {
            (true, _) => GroupPart::First,
            (_, true) => GroupPart::Last,
            _ => GroupPart::Middle,
        }
    }
}

/// A constraint between two children: one runs before the other.
#[derive(Clone, Copy, Debug)]
struct Edge {
    before: u32,
    after: u32,
    said_by_after: bool,
}

/// The resolved constraints of a group.
#[derive(Debug)]
pub(crate) struct Constraints {
    /// The part of each child.
    parts: Vec<GroupPart>,
    /// The constraints, sorted by `before`.
    edges: Vec<Edge>,
    /// The index of the first edge of each child in `edges`, followed by the number of edges.
    starts: Vec<u32>,
}

/// Computes the order in which the children of a group run, as indices into `items`.
///
/// `elsewhere` returns the location of a target that is not among the children.
///
/// # Complexity
///
/// Linear in the number of children and constraints, times the logarithm of the number of candidates.
pub(crate) fn sort(
    group: &str,
    items: &[OrderItem<'_>],
    elsewhere: &dyn Fn(&SystemTarget) -> Option<Elsewhere>,
) -> Result<Vec<usize>, OrderError> {
    Constraints::resolve(group, items, elsewhere)?.sort(group, items)
}

impl Constraints {
    /// Resolves the targets of all constraints.
    pub(crate) fn resolve(
        group: &str,
        items: &[OrderItem<'_>],
        elsewhere: &dyn Fn(&SystemTarget) -> Option<Elsewhere>,
    ) -> Result<Self, OrderError> {
        if let Some(item) = items.iter().find(|item| item.first && item.last) {
            let (system, group) = (item.name.into(), group.into());
            return Err(OrderError::FirstAndLast { system, group });
        }
        let parts: Vec<_> = items.iter().map(OrderItem::part).collect();
        let siblings = Siblings::new(items);
        let mut edges = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let before = item.before.iter().map(|target| (target, true, false));
            let after = item.after.iter().map(|target| (target, false, false));
            let of_sets = item.set_constraints.iter();
            let of_sets = of_sets.map(|constraint| (constraint.target, constraint.is_before, true));
            for (target, is_before, is_of_set) in before.chain(after).chain(of_sets) {
                let said = |name: &str| NamedConstraint {
                    system: item.name.into(),
                    group: group.into(),
                    is_before,
                    target: name.into(),
                };
                let mut found = false;
                for other in siblings.matching(target) {
                    found = true;
                    if other == place {
                        let fault = ConstraintFault::OfItself;
                        return Err(OrderError::Constraint(said(item.name), fault));
                    }
                    let (earlier, later) = if is_before { (place, other) } else { (other, place) };
                    if parts[earlier] > parts[later] {
                        let is_late =
                            |target| siblings.matching(target).any(|at| items[at].is_late);
                        let suits_late = !is_before
                            && parts[place] == GroupPart::Middle
                            && items[other].before.iter().any(is_late);
                        let (place, target_place) = (parts[place], parts[other]);
                        let fault =
                            ConstraintFault::Contradiction { place, target_place, suits_late };
                        return Err(OrderError::Constraint(said(items[other].name), fault));
                    }
                    // The order of the parts meets the other constraints.
                    if parts[earlier] == parts[later] {
                        let (before, after) = (earlier as u32, later as u32);
                        edges.push(Edge { before, after, said_by_after: !is_before });
                    }
                }
                if !found && !is_of_set {
                    let elsewhere = elsewhere(target);
                    if elsewhere != Some(Elsewhere::EmptySet) {
                        let said = said(&target.name());
                        let is_set = matches!(target, SystemTarget::Set(..));
                        return Err(OrderError::not_here(said, elsewhere, is_set));
                    }
                }
            }
        }
        Ok(Self::new(parts, edges))
    }

    /// Sorts the edges by the earlier child, in two passes.
    fn new(parts: Vec<GroupPart>, edges: Vec<Edge>) -> Self {
        let mut starts = vec![0_u32; parts.len() + 1];
        for edge in &edges {
            starts[edge.before as usize + 1] += 1;
        }
        for place in 0..parts.len() {
            starts[place + 1] += starts[place];
        }
        let mut sorted = edges.clone();
        let mut next = starts.clone();
        for edge in edges {
            let to = &mut next[edge.before as usize];
            sorted[*to as usize] = edge;
            *to += 1;
        }
        Self { parts, edges: sorted, starts }
    }

    fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns the constraints in which this child is the earlier one.
    fn edges_from(&self, place: usize) -> &[Edge] {
        &self.edges[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    /// Sorts the children. Ties are resolved by the order in which they were added.
    pub(crate) fn sort(
        &self,
        group: &str,
        items: &[OrderItem<'_>],
    ) -> Result<Vec<usize>, OrderError> {
        let mut waits_for = vec![0_u32; self.len()];
        for edge in &self.edges {
            waits_for[edge.after as usize] += 1;
        }
        let key = |place: usize| Reverse((self.parts[place], place));
        let free = (0..self.len()).filter(|&place| waits_for[place] == 0);
        let mut ready: BinaryHeap<_> = free.map(key).collect();
        let mut order = Vec::with_capacity(self.len());
        while let Some(Reverse((_, place))) = ready.pop() {
            order.push(place);
            for edge in self.edges_from(place) {
                let after = edge.after as usize;
                waits_for[after] -= 1;
                if waits_for[after] == 0 {
                    ready.push(key(after));
                }
            }
        }
        if order.len() < self.len() {
            return Err(self.cycle(group, items, &waits_for));
        }
        Ok(order)
    }

    /// Finds a cycle among the children that are not placed yet.
    ///
    /// Each of these children waits for another one. Following these constraints backwards reaches a child twice. The constraints
    /// between the two visits form a cycle.
    fn cycle(&self, group: &str, items: &[OrderItem<'_>], waits_for: &[u32]) -> OrderError {
        let mut cause: Vec<Option<Edge>> = vec![None; self.len()];
        for edge in &self.edges {
            let known = &mut cause[edge.after as usize];
            if waits_for[edge.before as usize] > 0 && known.is_none() {
                *known = Some(*edge);
            }
        }
        let mut met = vec![false; self.len()];
        let mut place = waits_for.iter().position(|&count| count > 0).unwrap_or(0);
        while !met[place] {
            met[place] = true;
            place = cause[place].map_or(place, |edge| edge.before as usize);
        }
        let mut edges = Vec::new();
        let end = place;
        while let Some(edge) = cause[place] {
            edges.push(edge);
            place = edge.before as usize;
            if place == end {
                break;
            }
        }
        // The constraints were collected backwards. The cycle starts with the child that was added first.
        edges.reverse();
        let first = (0..edges.len()).min_by_key(|&at| edges[at].before).unwrap_or(0);
        edges.rotate_left(first);
        let name = |place: u32| String::from(items[place as usize].name);
        let links = edges.iter().map(|edge| CycleLink {
            before: name(edge.before),
            after: name(edge.after),
            said_by: name(if edge.said_by_after { edge.after } else { edge.before }),
        });
        OrderError::Cycle { group: group.into(), links: links.collect() }
    }
}

/// Finds children by target. The maps are never iterated, so their unspecified order does not matter.
struct Siblings<'a> {
    by_type: HashMap<TypeId, u32>,
    by_name: HashMap<&'a str, u32>,
    by_id: HashMap<SystemId, u32>,
    by_set: HashMap<TypeId, Vec<u32>>,
    /// For each child, the next child of the same type and the next child of the same name.
    next: Vec<[Option<u32>; 2]>,
}

impl<'a> Siblings<'a> {
    fn new(items: &[OrderItem<'a>]) -> Self {
        let mut siblings = Self {
            by_type: HashMap::with_capacity(items.len()),
            by_name: HashMap::with_capacity(items.len()),
            by_id: HashMap::with_capacity(items.len()),
            by_set: HashMap::new(),
            next: vec![[None; 2]; items.len()],
        };
        for (place, item) in items.iter().enumerate() {
            for &set in item.sets {
                siblings.by_set.entry(set).or_default().push(place as u32);
            }
        }
        // Iterates in reverse, so that each child is linked to the next one that was added after it.
        for (place, item) in items.iter().enumerate().rev() {
            let index = place as u32;
            siblings.next[place] = [
                siblings.by_type.insert(item.type_id, index),
                siblings.by_name.insert(item.name, index),
            ];
            siblings.by_id.insert(item.id, index);
        }
        siblings
    }

    fn matching(&self, target: &SystemTarget) -> impl Iterator<Item = usize> {
        let (first, same) = match target {
            SystemTarget::Type(id, _) => (self.by_type.get(id), Some(0)),
            SystemTarget::Name(name) => (self.by_name.get(name.as_str()), Some(1)),
            SystemTarget::System(id) => (self.by_id.get(id), None),
            SystemTarget::Set(..) => (None, None),
        };
        let members = match target {
            SystemTarget::Set(set, _) => self.by_set.get(set).map_or(&[][..], Vec::as_slice),
            _ => &[],
        };
        let next = move |&place: &u32| same.and_then(|same: usize| self.next[place as usize][same]);
        let named = std::iter::successors(first.copied(), next);
        named.chain(members.iter().copied()).map(|place| place as usize)
    }
}

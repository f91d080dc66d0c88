//! The order in which the systems of a group run.
//!
//! A group has its children in the order they were added. [`sort`] finds the order they run in: first those that are to be
//! first, then most, then those that are to be last, and within each of these three as their constraints say. Of several that
//! could be next, the one that was added first is next. (Unity takes the one with the smaller hash of its type. Such an order
//! is stable too, but nobody can foresee it, and renaming a type changes it.)
//!
//! A constraint that cannot be followed is an error, never a warning: a target that is nowhere, or in another group, or a
//! patch, or the system itself; an order that the three parts contradict; and a cycle, which is told by exactly its members.
//!
//! Nothing here knows of worlds or of systems that run.

mod error;
pub(crate) mod latency;
#[cfg(test)]
mod tests;

use std::any::TypeId;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

pub use error::OrderError;
pub(super) use error::OrderFault;
use error::{CycleLink, NamedConstraint};

use super::SystemId;
use super::group::LateSimulation;

/// A child of a group, and where it is to be.
#[derive(Clone, Debug)]
pub(crate) struct OrderItem<'a> {
    /// What it is called, in errors.
    pub(crate) name: &'a str,
    /// The type of the function, struct or group. Several children may have the same.
    pub(crate) type_id: TypeId,
    /// Which of all systems of the world it is.
    pub(crate) id: SystemId,
    /// It is to be before all that are not.
    pub(crate) first: bool,
    /// It is to be after all that are not.
    pub(crate) last: bool,
    /// Siblings that are to be after it.
    pub(crate) before: &'a [SystemTarget],
    /// Siblings that are to be before it.
    pub(crate) after: &'a [SystemTarget],
}

/// Where a system is that is not a child of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// In another group, which is called so.
    InGroup(String),
    /// Nowhere: it is updated after every other.
    AmongPatches,
}

/// Whom a constraint is about. All siblings that it fits are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemTarget {
    /// Those of a type, which is called so.
    Type(TypeId, &'static str),
    /// One that was added.
    System(SystemId),
    /// Those that are called so.
    Name(String),
}

impl SystemTarget {
    /// In words. Only a name is at hand at once: targets are made in each frame, by who switches systems on and off.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Type(_, name) => Cow::Borrowed(name),
            Self::System(id) => Cow::Owned(format!("{id:?}")),
            Self::Name(name) => Cow::Borrowed(name),
        }
    }
}

/// Which part of a group a child is in. Parts run in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GroupPart {
    First,
    Middle,
    Last,
}

impl OrderItem<'_> {
    /// Whether it is the group for what runs after others.
    fn is_late(&self) -> bool {
        self.type_id == TypeId::of::<LateSimulation>()
    }

    fn part(&self) -> GroupPart {
        match (self.first, self.last) {
            (true, _) => GroupPart::First,
            (_, true) => GroupPart::Last,
            _ => GroupPart::Middle,
        }
    }
}

/// One child runs before another, since one of the two says so.
#[derive(Clone, Copy, Debug)]
struct Edge {
    before: u32,
    after: u32,
    said_by_after: bool,
}

/// The constraints of a group, once it is known whom they are about.
#[derive(Debug)]
pub(crate) struct Constraints {
    /// The part of each child.
    parts: Vec<GroupPart>,
    /// Sorted by `before`.
    edges: Vec<Edge>,
    /// Where the edges of each child begin in `edges`, and where those of the last end.
    starts: Vec<u32>,
}

/// The order in which the children of a group run, as places in `items`.
///
/// `elsewhere` is asked where a target is that is not among the children.
///
/// # Complexity
///
/// Proportional to children and constraints, and to the logarithm of the children that could be next.
pub(crate) fn sort(
    group: &str,
    items: &[OrderItem<'_>],
    elsewhere: &dyn Fn(&SystemTarget) -> Option<Elsewhere>,
) -> Result<Vec<usize>, OrderError> {
    Constraints::resolve(group, items, elsewhere)?.sort(group, items)
}

impl Constraints {
    /// Finds out whom the constraints are about.
    pub(crate) fn resolve(
        group: &str,
        items: &[OrderItem<'_>],
        elsewhere: &dyn Fn(&SystemTarget) -> Option<Elsewhere>,
    ) -> Result<Self, OrderError> {
        if let Some(item) = items.iter().find(|item| item.first && item.last) {
            return Err(OrderError(OrderFault::FirstAndLast {
                system: item.name.into(),
                group: group.into(),
            }));
        }
        let parts: Vec<_> = items.iter().map(OrderItem::part).collect();
        let siblings = Siblings::new(items);
        let mut edges = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let before = item.before.iter().map(|target| (target, true));
            let after = item.after.iter().map(|target| (target, false));
            for (target, is_before) in before.chain(after) {
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
                        return Err(OrderError::of_itself(said(item.name)));
                    }
                    let (earlier, later) = if is_before { (place, other) } else { (other, place) };
                    if parts[earlier] > parts[later] {
                        let is_late =
                            |target| siblings.matching(target).any(|at| items[at].is_late());
                        let suits_late = !is_before
                            && parts[place] == GroupPart::Middle
                            && items[other].before.iter().any(is_late);
                        let (said, parts) = (said(items[other].name), (parts[place], parts[other]));
                        return Err(OrderError::contradiction(said, parts, suits_late));
                    }
                    // Across parts there is nothing left to say.
                    if parts[earlier] == parts[later] {
                        let (before, after) = (earlier as u32, later as u32);
                        edges.push(Edge { before, after, said_by_after: !is_before });
                    }
                }
                if !found {
                    return Err(OrderError::not_here(said(&target.name()), elsewhere(target)));
                }
            }
        }
        Ok(Self::new(parts, edges))
    }

    /// Groups the edges by who runs first, in two passes over them.
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

    /// Those that one child says or is told to be before.
    fn edges_from(&self, place: usize) -> &[Edge] {
        &self.edges[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    /// The order of those that were added first.
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

    /// A cycle among those that still wait for others.
    ///
    /// Each of them waits for one that waits too. Going back from one to the next, one is met a second time, and what lies
    /// between is a cycle and nothing else.
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
        // It was walked backwards, and begins with the one that was added first.
        edges.reverse();
        let first = (0..edges.len()).min_by_key(|&at| edges[at].before).unwrap_or(0);
        edges.rotate_left(first);
        let name = |place: u32| String::from(items[place as usize].name);
        let links = edges.iter().map(|edge| CycleLink {
            before: name(edge.before),
            after: name(edge.after),
            said_by: name(if edge.said_by_after { edge.after } else { edge.before }),
        });
        OrderError(OrderFault::Cycle { group: group.into(), links: links.collect() })
    }
}

/// Finds children by what constraints call them. The maps are only asked, never gone through, so their order is nobody's.
struct Siblings<'a> {
    by_type: HashMap<TypeId, u32>,
    by_name: HashMap<&'a str, u32>,
    by_id: HashMap<SystemId, u32>,
    /// The next one of the same type, and of the same name.
    next: Vec<[Option<u32>; 2]>,
}

impl<'a> Siblings<'a> {
    fn new(items: &[OrderItem<'a>]) -> Self {
        let mut siblings = Self {
            by_type: HashMap::with_capacity(items.len()),
            by_name: HashMap::with_capacity(items.len()),
            by_id: HashMap::with_capacity(items.len()),
            next: vec![[None; 2]; items.len()],
        };
        // From the last to the first, so that each is put before those that were added after it.
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
        };
        let next = move |&place: &u32| same.and_then(|same: usize| self.next[place as usize][same]);
        std::iter::successors(first.copied(), next).map(|place| place as usize)
    }
}

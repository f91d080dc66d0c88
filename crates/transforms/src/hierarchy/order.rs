//! In which order the nodes of hierarchies are gone through: numbers alone, which know nothing of entities.
//!
//! Only nodes that others are below of have a place in the order, and roots: level by level, and on each level by their numbers.
//!
//! ```text
//! tree         a           order    a  b c  d
//!            /   \         parent   -  0 0  1
//!           b     c        stages   0  1    3  4
//!          / \     \
//!         d   .     .      (. have nobody below them, and no place)
//!         |
//!         .
//! ```
//!
//! Numbers are where nodes are in memory, so that a level is gone through as memory is. The other way is to have what is below a node
//! right after it: threads then need not wait for each other at each level, but jump about in memory, which took more time. That is
//! done only where many levels are narrow: [`branches`].
//!
//! When nodes come and go, the order need not be [built](Order::build) again. Places that are left become holes; new ones are taken at
//! the end, in the *tail*, where each comes after its parent, whatever their levels. [`edit`] has what is done to it.

mod branches;
mod edit;

use std::ops::Range;

pub(crate) use branches::PARTS;
use branches::Scratch;
pub(crate) use edit::Worn;

use crate::reused::Reused;

/// Nobody.
pub(crate) const NONE: u32 = u32::MAX;

/// The nodes that others are below of, and roots, so that each comes after its parent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// Which node is at a place, or [`NONE`], in a hole.
    pub(crate) nodes: Vec<u32>,
    /// The place of the parent, which is of an earlier stage, or earlier in the same part of one, or in the tail; or [`NONE`].
    pub(crate) parent: Vec<u32>,
    /// The place of each node, or [`NONE`].
    pub(crate) place: Vec<u32>,
    /// Where levels begin, and where the last one ends, while it is built.
    levels: Reused<Vec<u32>>,
    /// Where stages end: with the last one the tail begins.
    stages: Vec<StageEnd>,
    /// Where the parts of stages end.
    parts: Vec<u32>,
    /// How many places are no holes.
    live: usize,
    /// The holes of the tail, a bit for each place of it.
    free: Vec<u64>,
    /// The children of each place, as a part of the list of all.
    lists: Vec<List>,
    children: Vec<u32>,
    /// How much of the list of all is nobody's.
    garbage: usize,
    /// Where each node is in the list of its parent.
    position: Vec<u32>,
    /// Where the children of each node begin, while it is built.
    first_child: Reused<Vec<u32>>,
    scratch: Reused<Scratch>,
}

/// Where a stage ends.
#[derive(Clone, Copy, Debug)]
struct StageEnd {
    end: u32,
    /// Where its parts end in the list of all. Of a level there are none.
    parts: u32,
    /// How many places have parents in earlier stages.
    tops: u32,
}

/// Some room in the list of all children.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    start: u32,
    len: u32,
    capacity: u32,
}

impl List {
    fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// Some places, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stage<'a> {
    pub(crate) places: Range<usize>,
    pub(crate) shape: Shape<'a>,
}

/// Where the parents of a stage are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape<'a> {
    /// In earlier stages.
    Level,
    /// In earlier stages, or earlier in the same part. So many are in earlier stages.
    Branches { part_ends: &'a [u32], tops: usize },
    /// In earlier stages, or earlier in this one.
    Tail,
}

impl Order {
    /// Puts nodes in order, by the parent of each: another node, or [`NONE`]. Nodes that lead to no root have no place.
    pub(crate) fn build(&mut self, parents: &[u32], is_root: impl Fn(usize) -> bool) {
        self.list_children(parents);
        let Self { nodes, place, levels, first_child, children, .. } = self;
        place.clear();
        place.resize(parents.len(), NONE);
        levels.clear();
        levels.push(0);
        nodes.clear();
        let roots = (0..parents.len()).filter(|&node| parents[node] == NONE && is_root(node));
        nodes.extend(roots.map(|node| node as u32));
        let has_children =
            |child: &u32| first_child[*child as usize] < first_child[*child as usize + 1];
        let mut level = 0..nodes.len();
        while !level.is_empty() {
            levels.push(level.end as u32);
            for at in level.clone() {
                let node = nodes[at] as usize;
                place[node] = at as u32;
                let below = first_child[node] as usize..first_child[node + 1] as usize;
                nodes.extend(children[below].iter().copied().filter(has_children));
            }
            level = level.end..nodes.len();
            // Mostly they are in order already.
            nodes[level.clone()].sort();
        }
        self.find_parents(parents);
        self.find_stages(parents);
        self.list_places();
    }

    /// Finds the place of each parent.
    fn find_parents(&mut self, parents: &[u32]) {
        let Self { nodes, parent, place, .. } = self;
        parent.clear();
        parent.extend(nodes.iter().map(|&node| match parents[node as usize] {
            NONE => NONE,
            parent => place[parent as usize],
        }));
    }

    /// Notes which part of the list of all children is whose, now that places are known.
    fn list_places(&mut self) {
        let Self { nodes, lists, first_child, children, position, .. } = self;
        lists.clear();
        lists.extend(nodes.iter().map(|&node| {
            let (start, end) = (first_child[node as usize], first_child[node as usize + 1]);
            List { start, len: end - start, capacity: end - start }
        }));
        position.resize(self.place.len(), 0);
        for list in &*lists {
            for (at, &child) in (0..).zip(&children[list.range()]) {
                position[child as usize] = at;
            }
        }
        self.live = self.nodes.len();
        self.garbage = 0;
        self.free.clear();
    }

    /// What is gone through one after the other: levels, from that of the roots on, or several at once; and the tail.
    pub(crate) fn stages(&self) -> impl Iterator<Item = Stage<'_>> {
        let mut before = (0, 0);
        let stages = self.stages.iter().map(move |&StageEnd { end, parts, tops }| {
            let (start, parts_start) = std::mem::replace(&mut before, (end, parts));
            let part_ends = &self.parts[parts_start as usize..parts as usize];
            let shape = match part_ends {
                [] => Shape::Level,
                _ => Shape::Branches { part_ends, tops: tops as usize },
            };
            Stage { places: start as usize..end as usize, shape }
        });
        let tail = Stage { places: self.tail()..self.nodes.len(), shape: Shape::Tail };
        stages.chain([tail].into_iter().filter(|tail| !tail.places.is_empty()))
    }

    /// Where the tail begins.
    fn tail(&self) -> usize {
        self.stages.last().map_or(0, |stage| stage.end as usize)
    }

    /// How many nodes have a place.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// The nodes whose parent is at this place, in no order.
    pub(crate) fn children(&self, place: usize) -> &[u32] {
        &self.children[self.lists[place].range()]
    }

    /// Lists the nodes that have the same parent one after the other, by counting.
    fn list_children(&mut self, parents: &[u32]) {
        let Self { first_child, children, .. } = self;
        first_child.clear();
        first_child.resize(parents.len() + 2, 0);
        for &parent in parents.iter().filter(|parent| **parent != NONE) {
            first_child[parent as usize + 2] += 1;
        }
        for at in 2..first_child.len() {
            first_child[at] += first_child[at - 1];
        }
        children.clear();
        children.resize(first_child[parents.len() + 1] as usize, 0);
        for (node, &parent) in parents.iter().enumerate().filter(|(_, parent)| **parent != NONE) {
            // One ahead, where the next free place of each parent is while they are listed: in the end it is where its last one
            // ends.
            let next = &mut first_child[parent as usize + 1];
            children[*next as usize] = node as u32;
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::{NONE, Order, Shape};

    fn stages(order: &Order) -> Vec<Range<usize>> {
        order.stages().map(|stage| stage.places).collect()
    }

    #[test]
    fn level_by_level_and_by_their_numbers() {
        // The tree of the module documentation, with other numbers: a is 2, b 6, c 1, d 0, and the others nobody is below of.
        let mut order = Order::default();
        order.build(&[6, 2, NONE, 6, 1, 0, 2], |node| node == 2);
        assert_eq!(order.nodes, [2, 1, 6, 0]);
        assert_eq!(order.parent, [NONE, 0, 0, 2]);
        assert_eq!(order.place, [3, 1, 0, NONE, NONE, NONE, 2]);
        assert_eq!(stages(&order), [0..1, 1..3, 3..4]);
        assert_eq!(order.children(2), [0, 3]);
    }

    #[test]
    fn narrow_levels_are_divided_into_branches() {
        // A root, and 64 chains of 50 below it, of which the last has nobody below it: one after the other, and level by level.
        let one_by_one = |node: u32| if node % 50 == 1 { 0 } else { node - 1 };
        let by_level = |node: u32| node.saturating_sub(64);
        let parents_of: [&dyn Fn(u32) -> u32; 2] = [&one_by_one, &by_level];
        for parent_of in parents_of {
            let parents: Vec<u32> = [NONE].into_iter().chain((1..=3_200).map(parent_of)).collect();
            let mut order = Order::default();
            order.build(&parents, |node| node == 0);
            let stages: Vec<_> = order.stages().collect();
            assert_eq!((stages.len(), stages[0].places.clone()), (2, 0..1));
            let Shape::Branches { part_ends, tops } = stages[1].shape else { panic!("{stages:?}") };
            assert_eq!((tops, part_ends.len(), part_ends[7]), (64, 8, 3_137));
            let mut start = 1;
            for &end in part_ends {
                // Eight chains each, in the order of memory.
                assert_eq!(end - start, 392);
                let part = start as usize..end as usize;
                assert!(order.nodes[part.clone()].is_sorted());
                for (at, &parent) in part.clone().zip(&order.parent[part]) {
                    assert!(parent == 0 || (start..at as u32).contains(&parent));
                }
                start = end;
            }
            assert!(order.is_after(5, 4) && order.is_after(5, 0) && !order.is_after(400, 5));
        }
    }

    #[test]
    fn one_branch_is_not_divided_but_below_it() {
        // A chain of 10, below which there are 100 chains of 50.
        let parent_of = |node: u32| if node < 110 { (node - 1).min(9) } else { node - 100 };
        let parents: Vec<u32> = [NONE].into_iter().chain((1..5_010).map(parent_of)).collect();
        let mut order = Order::default();
        order.build(&parents, |node| node == 0);
        let stages: Vec<_> = order.stages().collect();
        assert_eq!(stages.len(), 11);
        assert!(stages[..10].iter().all(|stage| stage.shape == Shape::Level));
        assert!(matches!(stages[10].shape, Shape::Branches { tops: 100, .. }));
        // And not at all if there is but one.
        let parents: Vec<u32> = [NONE].into_iter().chain(0..5_000).collect();
        order.build(&parents, |node| node == 0);
        assert_eq!(order.stages().count(), 5_000);
    }

    #[test]
    fn who_leads_to_no_root_has_no_place() {
        let mut order = Order::default();
        order.build(&[NONE, 0, 1, NONE, 3], |node| node != 0);
        assert_eq!(order.nodes, [3]);
        assert_eq!(order.place, [NONE, NONE, NONE, 0, NONE]);
    }

    #[test]
    fn nobody_is_in_an_order_of_nobody() {
        let mut order = Order::default();
        order.build(&[], |_| true);
        assert_eq!(stages(&order), []);
    }
}

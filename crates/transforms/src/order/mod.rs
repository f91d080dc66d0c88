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
//! right after it: threads then need not wait for each other at each level, but jump about in memory, which took more time.
//!
//! When nodes come and go, the order need not be [built](Order::build) again. Places that are left become holes; new ones are taken at
//! the end, in the *tail*, where each comes after its parent, whatever their levels. [`edit`] has what is done to it.

mod edit;

use std::ops::Range;

pub(crate) use edit::Worn;

/// Nobody.
pub(crate) const NONE: u32 = u32::MAX;

/// The nodes that others are below of, and roots, so that each comes after its parent.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// Which node is at a place, or [`NONE`], in a hole.
    pub(crate) nodes: Vec<u32>,
    /// The place of the parent, which is of an earlier stage, or earlier in the tail; or [`NONE`].
    pub(crate) parent: Vec<u32>,
    /// The place of each node, or [`NONE`].
    pub(crate) place: Vec<u32>,
    /// Where levels begin, and where the last one ends, and with it the tail begins.
    levels: Vec<u32>,
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
    first_child: Vec<u32>,
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
pub(crate) struct Stage {
    pub(crate) places: Range<usize>,
    pub(crate) shape: Shape,
}

/// Where the parents of a stage are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// In earlier stages.
    Level,
    /// In earlier stages, or earlier in this one.
    Tail,
}

impl Order {
    /// Puts nodes in order, by the parent of each: another node, or [`NONE`]. Nodes that lead to no root have no place.
    pub(crate) fn build(&mut self, parents: &[u32], is_root: impl Fn(usize) -> bool) {
        self.list_children(parents);
        let Self { nodes, parent, place, levels, first_child, children, .. } = self;
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
        parent.clear();
        parent.extend(nodes.iter().map(|&node| match parents[node as usize] {
            NONE => NONE,
            parent => place[parent as usize],
        }));
        self.list_places();
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

    /// What is gone through one after the other: the places of each level, from that of the roots on, and the tail.
    pub(crate) fn stages(&self) -> impl Iterator<Item = Stage> {
        let levels = self.levels.windows(2).map(|ends| ends[0] as usize..ends[1] as usize);
        let levels = levels.map(|places| Stage { places, shape: Shape::Level });
        let tail = Stage { places: self.tail()..self.nodes.len(), shape: Shape::Tail };
        levels.chain([tail].into_iter().filter(|tail| !tail.places.is_empty()))
    }

    /// Where the tail begins.
    fn tail(&self) -> usize {
        self.levels.last().map_or(0, |end| *end as usize)
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

    use super::{NONE, Order};

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

//! In which order the nodes of hierarchies are gone through: numbers alone, which know nothing of entities.
//!
//! Only nodes that others are below of have a place in the order, and roots. What is below a node comes right after it:
//!
//! ```text
//! tree         a           order    a b d c
//!            /   \         parent   - 0 1 0
//!           b     c
//!          / \     \
//!         d   .     .      (. have nobody below them, and no place)
//!         |
//!         .
//! ```

use std::ops::Range;

/// Nobody.
pub(crate) const NONE: u32 = u32::MAX;

/// The nodes that others are below of, and roots, each before those below it.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// Which node is at a place.
    pub(crate) nodes: Vec<u32>,
    /// The place of the parent, which is before, or [`NONE`].
    pub(crate) parent: Vec<u32>,
    /// The place of each node, or [`NONE`].
    pub(crate) place: Vec<u32>,
    /// Kept for their memory.
    first_child: Vec<u32>,
    children: Vec<u32>,
    stack: Vec<u32>,
}

impl Order {
    /// Puts nodes in order, by the parent of each: another node, or [`NONE`]. Those that do not take part are not roots, and nobody
    /// is below them. Nodes that lead to no root have no place.
    ///
    /// Nodes with the same parent stay in their order.
    pub(crate) fn build(&mut self, parents: &[u32], is_root: impl Fn(usize) -> bool) {
        self.list_children(parents);
        self.nodes.clear();
        self.parent.clear();
        self.place.clear();
        self.place.resize(parents.len(), NONE);
        for root in 0..parents.len() {
            if parents[root] != NONE || !is_root(root) {
                continue;
            }
            self.stack.push(root as u32);
            while let Some(node) = self.stack.pop() {
                let parent = match parents[node as usize] {
                    NONE => NONE,
                    parent => self.place[parent as usize],
                };
                self.place[node as usize] = self.nodes.len() as u32;
                self.nodes.push(node);
                self.parent.push(parent);
                let Self { first_child, children, stack, .. } = self;
                let has_children =
                    |child: &u32| first_child[*child as usize] < first_child[*child as usize + 1];
                let range = children_of(first_child, node);
                stack.extend(children[range].iter().rev().copied().filter(has_children));
            }
        }
    }

    /// The nodes whose parent is this one, in their order.
    pub(crate) fn children(&self, node: u32) -> &[u32] {
        &self.children[children_of(&self.first_child, node)]
    }

    /// Lists the nodes that have the same parent one after the other, by counting.
    fn list_children(&mut self, parents: &[u32]) {
        let Self { first_child, children, .. } = self;
        first_child.clear();
        first_child.resize(parents.len() + 2, 0);
        let has_parent = |parent: &&u32| **parent != NONE;
        for &parent in parents.iter().filter(has_parent) {
            first_child[parent as usize + 2] += 1;
        }
        for at in 2..first_child.len() {
            first_child[at] += first_child[at - 1];
        }
        children.clear();
        children.resize(first_child[parents.len() + 1] as usize, 0);
        for (node, &parent) in parents.iter().enumerate().filter(|(_, parent)| **parent != NONE) {
            // One place ahead, where the next free place of each parent is while they are listed: then it is where its last one
            // ends.
            let next = &mut first_child[parent as usize + 1];
            children[*next as usize] = node as u32;
            *next += 1;
        }
    }
}

fn children_of(first_child: &[u32], node: u32) -> Range<usize> {
    first_child[node as usize] as usize..first_child[node as usize + 1] as usize
}

/// The places that batches of an order begin at depend on: all ancestors of those places.
///
/// Once those are done, batches can be done by any thread, without waiting for each other: a parent is in the same batch, or it is
/// one of these.
#[derive(Debug, Default)]
pub(crate) struct Stems {
    /// How many places a batch has.
    pub(crate) batch: usize,
    /// The places of the ancestors, rising.
    pub(crate) places: Vec<u32>,
    /// Which of them is the parent of each, or [`NONE`].
    pub(crate) parents: Vec<u32>,
}

impl Stems {
    /// Divides an order into batches.
    pub(crate) fn divide(&mut self, order: &Order) {
        let count = order.nodes.len();
        // So few that the ancestors of their beginnings are not many, also if branches are long, and enough for all threads.
        self.batch = count.div_ceil(64).next_power_of_two().max(256);
        self.places.clear();
        for start in (0..count).step_by(self.batch) {
            // The ancestors of a place are before it, the closest last. Those of an earlier beginning that are ancestors of this one,
            // too, are there already, and so are all above them.
            let sorted = self.places.len();
            let mut at = order.parent[start];
            while at != NONE && self.places[..sorted].binary_search(&at).is_err() {
                self.places.push(at);
                at = order.parent[at as usize];
            }
            // Others below them may be there, so that they are not all behind.
            self.places.sort_unstable();
        }
        self.parents.clear();
        for &place in &self.places {
            let parent = order.parent[place as usize];
            let parent = if parent == NONE { NONE } else { self.find(parent) };
            self.parents.push(parent);
        }
    }

    /// Which of them is at a place. It is one of them.
    pub(crate) fn find(&self, place: u32) -> u32 {
        self.places.partition_point(|&other| other < place) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::{NONE, Order, Stems};

    fn order_of(parents: &[u32]) -> Order {
        let mut order = Order::default();
        order.build(parents, |node| parents[node] == NONE);
        order
    }

    #[test]
    fn what_is_below_a_node_comes_right_after_it() {
        // The tree of the module documentation: a b c d, and three that nobody is below of.
        let order = order_of(&[NONE, 0, 0, 1, 1, 2, 3]);
        assert_eq!(order.nodes, [0, 1, 3, 2]);
        assert_eq!(order.parent, [NONE, 0, 1, 0]);
        assert_eq!(order.place, [0, 1, 3, 2, NONE, NONE, NONE]);
        assert_eq!(order.children(1), [3, 4]);
    }

    #[test]
    fn who_leads_to_no_root_has_no_place() {
        let mut order = Order::default();
        order.build(&[NONE, 0, 1, NONE, 3], |node| node != 0);
        assert_eq!(order.nodes, [3]);
        assert_eq!(order.place, [NONE, NONE, NONE, 0, NONE]);
    }

    #[test]
    fn parents_are_in_the_batch_or_stems() {
        // Chains of 700 nodes, each with a twig at every tenth.
        let mut parents = Vec::new();
        for _ in 0..20 {
            parents.push(NONE);
            for depth in 1..700_u32 {
                let last = parents.len() as u32 - if depth % 10 == 2 { 2 } else { 1 };
                parents.push(last);
            }
        }
        let order = order_of(&parents);
        let mut stems = Stems::default();
        stems.divide(&order);
        assert!(order.nodes.len() > 4 * stems.batch);
        assert!(stems.places.is_sorted());
        for (at, &parent) in order.parent.iter().enumerate().filter(|(_, parent)| **parent != NONE)
        {
            let start = at / stems.batch * stems.batch;
            assert!(
                parent as usize >= start || stems.places[stems.find(parent) as usize] == parent
            );
        }
        for (at, &parent) in stems.parents.iter().enumerate() {
            let expected = order.parent[stems.places[at] as usize];
            assert_eq!(if parent == NONE { NONE } else { stems.places[parent as usize] }, expected);
        }
    }
}

//! The order in which matrices of nodes are computed. This module uses numbers of nodes only, no entities.
//!
//! Only roots and nodes with children have a place in the order: level by level, and by number within a level.
//!
//! ```text
//! tree         a           order    a  b c  d
//!            /   \         parent   -  0 0  1
//!           b     c        stages   0  1    3  4
//!          / \     \
//!         d   .     .      (. are leaves, and have no place)
//!         |
//!         .
//! ```
//!
//! Numbers follow the memory order of nodes, so a level is visited in memory order. The alternative is depth-first order: threads
//! wait less for each other, but memory accesses jump, which was slower. It is used only for many consecutive narrow levels.
//!
//! When single nodes are added or removed, the order is not [built](Order::build) again. Freed places become holes. New places are
//! taken at the end, in the *tail*, where each node comes after its parent, regardless of levels.

use std::ops::Range;

use crate::scratch::Reused;

/// No node, or no place.
pub(crate) const NONE: u32 = u32::MAX;

/// Roots and nodes with children, ordered so that each comes after its parent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// The node at each place, or [`NONE`] in a hole.
    pub(crate) nodes: Vec<u32>,
    /// The place of each place's parent, or [`NONE`]. The parent is in an earlier stage, earlier in the same part, or earlier in
    /// the tail.
    pub(crate) parent: Vec<u32>,
    /// The place of each node, or [`NONE`].
    pub(crate) place: Vec<u32>,
    /// The start of each level and the end of the last level, during a build.
    levels: Reused<Vec<u32>>,
    /// The ends of stages. The tail begins at the end of the last stage.
    stages: Vec<StageEnd>,
    /// The ends of the parts of stages.
    parts: Vec<u32>,
    /// The number of places that are not holes.
    live: usize,
    /// The holes of the tail, as one bit per place.
    free: Vec<u64>,
    /// The children of each place, as a range of `children`.
    lists: Vec<List>,
    children: Vec<u32>,
    /// The number of unused entries in `children`.
    garbage: usize,
    /// The position of each node in the list of its parent.
    position: Vec<u32>,
    /// The index of the first child of each node, during a build.
    first_child: Reused<Vec<u32>>,
    scratch: Reused<BranchScratch>,
}

/// The end of a stage.
#[derive(Clone, Copy, Debug)]
struct StageEnd {
    end: u32,
    /// The end of the stage's parts in the list of parts. A level has no parts.
    parts: u32,
    /// The number of places whose parents are in earlier stages.
    tops: u32,
}

/// A range with spare capacity in the list of all children.
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

/// A range of places that are computed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stage<'a> {
    pub(crate) places: Range<usize>,
    pub(crate) shape: Shape<'a>,
}

/// The location of the parents of a stage's places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape<'a> {
    /// All parents are in earlier stages.
    Level,
    /// Parents are in earlier stages, or earlier in the same part. `tops` is the number of places with parents in earlier stages.
    Branches { part_ends: &'a [u32], tops: usize },
    /// Parents are in earlier stages, or earlier in this one.
    Tail,
}

impl Order {
    /// Builds the order from the parent of each node, which is another node or [`NONE`]. Nodes that are not below a root get no
    /// place.
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
            // The nodes are usually sorted already.
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

    /// Assigns each place its range of `children`.
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

    /// Iterates over the stages: levels from the roots down, groups of narrow levels, and the tail.
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

    /// Returns the place at which the tail begins.
    fn tail(&self) -> usize {
        self.stages.last().map_or(0, |stage| stage.end as usize)
    }

    /// Returns the number of nodes with a place.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Returns the nodes whose parent is at a place, in arbitrary order.
    pub(crate) fn children(&self, place: usize) -> &[u32] {
        &self.children[self.lists[place].range()]
    }

    /// Groups the nodes by parent, with a counting sort.
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
            // The entries are shifted by one: each is the next free position of its parent, and finally the end of the parent's
            // children.
            let next = &mut first_child[parent as usize + 1];
            children[*next as usize] = node as u32;
            *next += 1;
        }
    }
}

// Branches, which threads compute independently of each other.
//
// Threads wait for each other after each level. In many consecutive narrow levels, such as chains below one root, they would wait
// longer than they work. Such levels form one stage, which is divided into independent parts of whole branches.
//
// ```text
// levels      a b c d      stage     a b  A B  1 2 | c d  C D  3 4
//             A B C D      parts     0             6              12
//             1 2 3 4
// ```
//
// The number of parts is limited so that each part has many branches: in a narrow part, memory accesses jump from level to level.
// The nodes of a part are in memory order if parents come before their children in it, and level by level otherwise.

/// The maximum number of parts of a stage.
pub(crate) const MAX_PARTS: usize = 32;

/// Levels with fewer nodes are narrow: waiting at the end of such a level costs about as much as computing its nodes.
const NARROW_LEVEL: usize = 4_096;

/// The minimum number of consecutive narrow levels that are divided. `MIN_NODES` is the minimum number of their nodes.
const MIN_LEVELS: usize = 8;
const MIN_NODES: usize = 2_048;

/// Returns the number of parts for a number of branches. It does not depend on the number of threads, so that places are the same
/// on all machines.
fn part_count(branches: usize) -> usize {
    (branches / 32).clamp(8, MAX_PARTS)
}

/// Scratch memory of the division into branches.
#[derive(Debug, Default)]
pub(super) struct BranchScratch {
    /// The number of nodes of each branch, by its top.
    weights: Vec<u32>,
    part_of: Vec<u8>,
    nodes: Vec<u32>,
}

impl Order {
    /// Groups narrow levels into stages. Places of these levels change.
    pub(super) fn find_stages(&mut self, parents: &[u32]) {
        self.stages.clear();
        self.parts.clear();
        let count = self.levels.len() - 1;
        let mut level = 0;
        while level < count {
            let is_narrow = |level: &usize| self.level(*level).len() < NARROW_LEVEL;
            let run = level..level + (level..count).take_while(is_narrow).count();
            let top = self.find_top(&run).unwrap_or(run.end.max(level + 1));
            let before = self.parts.len() as u32;
            let ends = &self.levels[1..][level..top];
            self.stages.extend(ends.iter().map(|&end| StageEnd { end, parts: before, tops: 0 }));
            level = top;
            if top < run.end {
                self.divide(&(top..run.end));
                level = run.end;
            }
        }
        if !self.parts.is_empty() {
            self.find_parents(parents);
        }
    }

    fn level(&self, level: usize) -> Range<usize> {
        self.levels[level] as usize..self.levels[level + 1] as usize
    }

    /// Finds the best level at which narrow levels are divided into branches: few nodes are above it, and no branch is much larger
    /// than the others.
    fn find_top(&mut self, run: &Range<usize>) -> Option<usize> {
        let (start, end) = (self.levels[run.start] as usize, self.levels[run.end] as usize);
        if run.len() < MIN_LEVELS || end - start < MIN_NODES {
            return None;
        }
        let weights = &mut self.scratch.weights;
        weights.clear();
        weights.resize(end - start, 1);
        for at in (start..end).rev() {
            let parent = self.parent[at] as usize;
            if parent != NONE as usize && parent >= start {
                weights[parent - start] += weights[at - start];
            }
        }
        // Estimates the time if the number of threads is the number of parts.
        let cost = |level: &usize| {
            let places = self.level(*level);
            let weights = &self.scratch.weights[places.start - start..places.end - start];
            let heaviest = weights.iter().max().map_or(0, |weight| *weight as usize);
            (places.start - start)
                + heaviest.max((end - places.start).div_ceil(part_count(places.len())))
        };
        let top = run.clone().min_by_key(cost)?;
        (cost(&top) * 2 <= end - start).then_some(top)
    }

    /// Divides levels into parts of whole branches. The weights of the branches were computed before.
    fn divide(&mut self, levels: &Range<usize>) {
        let tops = self.level(levels.start);
        let count = part_count(tops.len());
        let (start, end) = (tops.start, self.levels[levels.end] as usize);
        let Self { nodes, parent, place, parts, stages, scratch, .. } = self;
        let scratch = &mut **scratch;
        // The weights may begin at an earlier level.
        let weights = &scratch.weights[scratch.weights.len() - (end - start)..];
        let part_of = &mut scratch.part_of;
        part_of.clear();
        let mut before = 0;
        part_of.extend(weights[..tops.len()].iter().map(|&weight| {
            let part = before * count / (end - start);
            before += weight as usize;
            part as u8
        }));
        // True for each part in which parents come before their children in memory order.
        let mut is_sorted = [true; MAX_PARTS];
        for at in tops.end..end {
            let above = parent[at] as usize;
            let part = part_of[above - start];
            part_of.push(part);
            is_sorted[part as usize] &= nodes[above] < nodes[at];
        }
        let mut ends = [0; MAX_PARTS];
        part_of.iter().for_each(|part| ends[*part as usize] += 1);
        let mut next = ends;
        let mut sum = 0;
        for (end, next) in ends.iter_mut().zip(&mut next) {
            *next = sum;
            sum += *end;
            *end = sum;
        }
        scratch.nodes.clear();
        scratch.nodes.extend_from_slice(&nodes[start..end]);
        let nodes = &mut nodes[start..end];
        for (&node, part) in scratch.nodes.iter().zip(part_of) {
            let next = &mut next[*part as usize];
            nodes[*next] = node;
            *next += 1;
        }
        let mut first = 0;
        for (&end, is_sorted) in ends.iter().zip(is_sorted) {
            if is_sorted {
                nodes[first..end].sort_unstable();
            }
            first = end;
        }
        for (at, &node) in (start as u32..).zip(&*nodes) {
            place[node as usize] = at;
        }
        parts.extend(ends[..count].iter().map(|&end| (start + end) as u32));
        let tops = tops.len() as u32;
        stages.push(StageEnd { end: end as u32, parts: parts.len() as u32, tops });
    }
}

/// Signals that the cache has to be rebuilt: a patch is impossible, or the order is fragmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NeedsRebuild;

/// The number of holes, or of places in the tail, that is tolerated in an order of any size.
const SLACK: usize = 32;

impl Order {
    /// Reserves room for nodes with numbers below `nodes`. New nodes have no place.
    pub(crate) fn grow(&mut self, nodes: usize) {
        self.place.resize(nodes, NONE);
        self.position.resize(nodes, 0);
    }

    /// Tests whether holes, the tail or unused list entries have grown too large.
    pub(crate) fn is_fragmented(&self) -> bool {
        let tail = self.nodes.len() - self.tail();
        tail > self.tail() / 8 + SLACK
            || self.nodes.len() > self.live * 2 + SLACK
            || self.garbage * 2 > self.children.len() + 16 * SLACK
    }

    /// Allocates a place for a node after the place of its parent, which may be [`NONE`].
    pub(crate) fn allocate_place(&mut self, node: u32, parent: u32) -> u32 {
        let place = match self.take_free_place(parent) {
            Some(hole) => hole,
            None => {
                self.nodes.push(NONE);
                self.parent.push(NONE);
                self.lists.push(List::default());
                self.nodes.len() as u32 - 1
            }
        };
        self.live += 1;
        self.nodes[place as usize] = node;
        self.parent[place as usize] = parent;
        self.place[node as usize] = place;
        place
    }

    /// Takes the first hole of the tail after a place, or returns `None`.
    fn take_free_place(&mut self, place: u32) -> Option<u32> {
        let tail = self.tail();
        let from = if place == NONE { 0 } else { (place as usize + 1).saturating_sub(tail) };
        let mut words = self.free.iter_mut().enumerate().skip(from / 64);
        words.find_map(|(number, word)| {
            let all = if number == from / 64 { u64::MAX << (from % 64) } else { u64::MAX };
            let bit = (*word & all).trailing_zeros();
            (bit < 64).then(|| {
                *word &= !(1 << bit);
                (tail + number * 64) as u32 + bit
            })
        })
    }

    /// Frees a place. Its node has no place afterwards, unless the node has moved to another place.
    pub(crate) fn free_place(&mut self, place: u32) {
        let at = place as usize;
        let node = std::mem::replace(&mut self.nodes[at], NONE);
        if let Some(of_node) = self.place.get_mut(node as usize).filter(|of| **of == place) {
            *of_node = NONE;
        }
        self.parent[at] = NONE;
        self.live -= 1;
        match at.checked_sub(self.tail()) {
            // The next node at this place reuses the capacity of the list.
            Some(hole) => {
                self.lists[at].len = 0;
                self.free.resize(self.free.len().max(hole / 64 + 1), 0);
                self.free[hole / 64] |= 1 << (hole % 64);
            }
            None => self.garbage += std::mem::take(&mut self.lists[at]).capacity as usize,
        }
    }

    /// Moves a node with its children to a place after the place of its parent. Returns the new place.
    pub(crate) fn move_place(&mut self, place: u32) -> u32 {
        let at = place as usize;
        let (node, parent) = (self.nodes[at], self.parent[at]);
        let children = std::mem::take(&mut self.lists[at]);
        let to = self.allocate_place(node, parent);
        let room = std::mem::replace(&mut self.lists[to as usize], children);
        self.garbage += room.capacity as usize;
        self.free_place(place);
        to
    }

    /// Tests whether a place is computed after another place, so that the other one can be its parent.
    pub(crate) fn is_after(&self, place: u32, parent: u32) -> bool {
        let stage = |place: u32| self.stages.partition_point(|stage| stage.end <= place);
        let (own, above) = (stage(place), stage(parent));
        if own != above {
            return above < own;
        }
        let is_level = self.stages.get(own).is_some_and(|stage| stage.tops == 0);
        let part = |place: u32| self.parts.partition_point(|end| *end <= place);
        !is_level && parent < place && part(parent) == part(place)
    }

    /// Adds a node to the children of a place.
    pub(crate) fn add_child(&mut self, place: u32, node: u32) {
        let Self { lists, children, garbage, position, .. } = self;
        let list = &mut lists[place as usize];
        if list.len == list.capacity {
            let start = children.len() as u32;
            children.extend_from_within(list.range());
            *garbage += list.capacity as usize;
            let capacity = list.len + list.len / 2 + 4;
            children.resize((start + capacity) as usize, NONE);
            *list = List { start, len: list.len, capacity };
        }
        position[node as usize] = list.len;
        children[(list.start + list.len) as usize] = node;
        list.len += 1;
    }

    /// Removes a node from the children of a place.
    pub(crate) fn remove_child(&mut self, place: u32, node: u32) {
        let list = &mut self.lists[place as usize];
        let children = &mut self.children[list.range()];
        let position = self.position[node as usize];
        debug_assert_eq!(children[position as usize], node);
        if let Some(&last) = children.last() {
            children[position as usize] = last;
            self.position[last as usize] = position;
            list.len -= 1;
        }
    }

    /// Returns the position of a node in the list of its parent.
    pub(crate) fn position(&self, node: u32) -> u32 {
        self.position[node as usize]
    }

    /// Changes the number of a child, by its position in the list of a place.
    pub(crate) fn renumber_child(&mut self, place: u32, position: u32, node: u32) {
        let at = (self.lists[place as usize].start + position) as usize;
        self.children[at] = node;
        self.position[node as usize] = position;
    }

    /// Changes the number of the node at a place.
    pub(crate) fn renumber(&mut self, place: u32, node: u32) {
        self.nodes[place as usize] = node;
        self.place[node as usize] = place;
    }

    /// Tests whether a place is `above`, or below it in the hierarchy.
    pub(crate) fn is_below(&self, place: u32, above: u32) -> bool {
        let next = |place: &u32| Some(self.parent[*place as usize]).filter(|place| *place != NONE);
        std::iter::successors(Some(place), next).any(|place| place == above)
    }

    /// Returns the range of a place in the list of all children.
    pub(crate) fn child_range(&self, place: u32) -> Range<usize> {
        self.lists[place as usize].range()
    }

    /// Returns an entry of the list of all children.
    pub(crate) fn child_at(&self, at: usize) -> u32 {
        self.children[at]
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
        // The tree of the module documentation, with other numbers: a is 2, b 6, c 1, d 0; the others are leaves.
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
        // A root with 64 chains of 50 nodes below it: numbered chain by chain, and level by level.
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
        // A single chain is not divided.
        let parents: Vec<u32> = [NONE].into_iter().chain(0..5_000).collect();
        order.build(&parents, |node| node == 0);
        assert_eq!(order.stages().count(), 5_000);
    }

    #[test]
    fn nodes_without_a_root_have_no_place() {
        let mut order = Order::default();
        order.build(&[NONE, 0, 1, NONE, 3], |node| node != 0);
        assert_eq!(order.nodes, [3]);
        assert_eq!(order.place, [NONE, NONE, NONE, 0, NONE]);
    }

    #[test]
    fn an_empty_order_has_no_stages() {
        let mut order = Order::default();
        order.build(&[], |_| true);
        assert_eq!(stages(&order), []);
    }
}

//! How an order follows when single nodes come and go.

use std::ops::Range;

use super::{List, NONE, Order};

/// An order that has been edited so much that it had better be built again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worn;

/// So many are few, however few nodes there are.
const FEW: usize = 32;

impl Order {
    /// Has room for nodes with the numbers below this. Those that are new have no place.
    pub(crate) fn grow(&mut self, nodes: usize) {
        self.place.resize(nodes, NONE);
        self.position.resize(nodes, 0);
    }

    /// Whether holes, the tail, or what is nobody's in the list of all children are more than a part of it all.
    pub(crate) fn is_worn(&self) -> bool {
        let tail = self.nodes.len() - self.tail();
        tail > self.tail() / 8 + FEW
            || self.nodes.len() > self.live * 2 + FEW
            || self.garbage * 2 > self.children.len() + 16 * FEW
    }

    /// Gives a node a place after that of its parent, which may be [`NONE`].
    pub(crate) fn take_place(&mut self, node: u32, parent: u32) -> u32 {
        let place = match self.take_hole(parent) {
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

    /// Takes the first hole of the tail that is after a place, if there is one.
    fn take_hole(&mut self, place: u32) -> Option<u32> {
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

    /// Makes a place a hole. Who was there has no place, unless it has another one already.
    pub(crate) fn leave_place(&mut self, place: u32) {
        let at = place as usize;
        let node = std::mem::replace(&mut self.nodes[at], NONE);
        if let Some(of_node) = self.place.get_mut(node as usize).filter(|of| **of == place) {
            *of_node = NONE;
        }
        self.parent[at] = NONE;
        self.live -= 1;
        match at.checked_sub(self.tail()) {
            // Who takes it takes the room for its children, too.
            Some(hole) => {
                self.lists[at].len = 0;
                self.free.resize(self.free.len().max(hole / 64 + 1), 0);
                self.free[hole / 64] |= 1 << (hole % 64);
            }
            None => self.garbage += std::mem::take(&mut self.lists[at]).capacity as usize,
        }
    }

    /// Has a node and all that is below it be at another place, after that of its parent. Returns it.
    pub(crate) fn change_place(&mut self, place: u32) -> u32 {
        let at = place as usize;
        let (node, parent) = (self.nodes[at], self.parent[at]);
        let children = std::mem::take(&mut self.lists[at]);
        let to = self.take_place(node, parent);
        let room = std::mem::replace(&mut self.lists[to as usize], children);
        self.garbage += room.capacity as usize;
        self.leave_place(place);
        to
    }

    /// Whether what is at a place may have its parent at another one.
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

    /// Takes a node from the children of a place.
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

    /// Where a node is in the list of its parent.
    pub(crate) fn position(&self, node: u32) -> u32 {
        self.position[node as usize]
    }

    /// Has a child of a place, by its position in the list, have another number.
    pub(crate) fn renumber_child(&mut self, place: u32, position: u32, node: u32) {
        let at = (self.lists[place as usize].start + position) as usize;
        self.children[at] = node;
        self.position[node as usize] = position;
    }

    /// Has who is at a place have another number.
    pub(crate) fn renumber(&mut self, place: u32, node: u32) {
        self.nodes[place as usize] = node;
        self.place[node as usize] = place;
    }

    /// Whether a place is this one, or below it.
    pub(crate) fn is_below(&self, place: u32, above: u32) -> bool {
        let next = |place: &u32| Some(self.parent[*place as usize]).filter(|place| *place != NONE);
        std::iter::successors(Some(place), next).any(|place| place == above)
    }

    /// The part of the list of all children that is a place's.
    pub(crate) fn child_range(&self, place: u32) -> Range<usize> {
        self.lists[place as usize].range()
    }

    /// A child, by where it is in the list of all.
    pub(crate) fn child_at(&self, at: usize) -> u32 {
        self.children[at]
    }
}

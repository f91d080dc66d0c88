//! The values of all keys, in one vector, linked to those of the same key.

use std::ops::Range;

use allocator_api2::vec::Vec as RawVec;

use super::iter::{MultiMapValues, MultiMapValuesMut};
use super::lane::Group;
use crate::allocator::Allocator;
use crate::error::AllocationError;

/// The link of the last node of a chain.
pub(super) const NIL: u32 = u32::MAX;

/// Maximum number of nodes that can be distinguished from [`NIL`]. No more memory than that is ever
/// requested.
const MAX: usize = NIL as usize;

pub(super) struct Nodes<V> {
    nodes: RawVec<Node<V>, Allocator>,
    /// The first node without a value. The nodes without a value are linked, too.
    free: u32,
    free_count: usize,
}

/// A value, or the free place of a removed one.
#[derive(Clone)]
pub(super) struct Node<V> {
    pub(super) value: Option<V>,
    pub(super) next: u32,
}

/// The nodes of one key, from the first to the last.
#[derive(Clone, Copy)]
pub(super) struct Chain {
    pub(super) first: u32,
    last: u32,
    pub(super) count: u32,
}

impl Chain {
    /// A chain that is about to get its first values.
    pub(super) const EMPTY: Self = Self { first: NIL, last: NIL, count: 0 };
}

impl<V> Nodes<V> {
    pub(super) const fn new_in(allocator: Allocator) -> Self {
        Self { nodes: RawVec::new_in(allocator), free: NIL, free_count: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free_count
    }

    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.nodes.capacity()
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.free == NIL && self.nodes.len() == self.nodes.capacity()
    }

    /// Reserves room for `additional` more values, with spare capacity.
    pub(super) fn try_reserve(&mut self, additional: usize) -> Result<(), AllocationError> {
        let needed = self.len().saturating_add(additional);
        if needed <= self.capacity() {
            return Ok(());
        }
        let doubled = self.capacity().saturating_mul(2).min(MAX);
        self.try_reserve_exact(needed.max(doubled).max(4) - self.len())
    }

    /// Reserves room for `additional` more values.
    pub(super) fn try_reserve_exact(&mut self, additional: usize) -> Result<(), AllocationError> {
        let elements = self.len().saturating_add(additional);
        let more = elements.saturating_sub(self.nodes.len());
        if elements <= MAX && self.nodes.try_reserve_exact(more).is_ok() {
            return Ok(());
        }
        Err(AllocationError::of::<Node<V>>(self.nodes.allocator().name(), elements))
    }

    /// Adds a value, for which the caller made room, to a chain.
    #[inline]
    pub(super) fn append(&mut self, chain: &mut Chain, value: V) {
        let place = self.put(value);
        self.lengthen(chain, place..place + 1);
    }

    /// Returns whether nodes of removed values are free for reuse.
    #[inline]
    pub(super) fn has_gaps(&self) -> bool {
        self.free != NIL
    }

    /// Links places to the end of a chain.
    #[inline]
    pub(super) fn lengthen(&mut self, chain: &mut Chain, places: Range<u32>) {
        match self.nodes.get_mut(chain.last as usize) {
            Some(last) => last.next = places.start,
            None => chain.first = places.start,
        }
        chain.last = places.end - 1;
        chain.count += places.end - places.start;
    }

    /// Adds values, for which the caller made room, each at the next place of its group. The groups
    /// are the places after all nodes, one after the other, up to `end`. The values of a group
    /// without a place are dropped.
    pub(super) fn fill(
        &mut self,
        end: u32,
        groups: &mut [Group],
        values: impl Iterator<Item = (u32, V)>,
    ) {
        self.nodes.resize_with(end as usize, || Node { value: None, next: NIL });
        for (group, value) in values {
            let Group { next: place, end } = &mut groups[group as usize];
            let Some(node) = self.nodes.get_mut(*place as usize) else { continue };
            node.value = Some(value);
            *place += 1;
            node.next = if place == end { NIL } else { *place };
        }
    }

    #[inline]
    fn put(&mut self, value: V) -> u32 {
        let node = Node { value: Some(value), next: NIL };
        if self.free == NIL {
            let place = self.nodes.len() as u32;
            self.nodes.push(node);
            return place;
        }
        let place = self.free;
        let vacant = &mut self.nodes[place as usize];
        self.free = vacant.next;
        self.free_count -= 1;
        *vacant = node;
        place
    }

    /// Returns the value of a node, and the link to the next. A chain's last node has no next.
    pub(super) fn get_mut(&mut self, place: u32) -> Option<(&mut V, u32)> {
        let node = self.nodes.get_mut(place as usize)?;
        Some((node.value.as_mut()?, node.next))
    }

    /// Takes the value at `place` out of a chain, in which `before` is the preceding node, if any.
    pub(super) fn take(&mut self, chain: &mut Chain, before: u32, place: u32) -> Option<V> {
        let next = self.nodes[place as usize].next;
        match self.nodes.get_mut(before as usize) {
            Some(before) => before.next = next,
            None => chain.first = next,
        }
        if chain.last == place {
            chain.last = before;
        }
        chain.count -= 1;
        self.vacate(place)
    }

    fn vacate(&mut self, place: u32) -> Option<V> {
        let node = &mut self.nodes[place as usize];
        node.next = self.free;
        self.free = place;
        self.free_count += 1;
        node.value.take()
    }

    /// Drops the values of a chain that no key leads to any more.
    pub(super) fn discard(&mut self, chain: Chain) {
        /// A guard that drops the remaining values if dropping one panics.
        struct Rest<'m, V>(&'m mut Nodes<V>, u32);

        impl<V> Rest<'_, V> {
            fn run(&mut self) {
                while self.1 != NIL {
                    let place = self.1;
                    self.1 = self.0.nodes[place as usize].next;
                    drop(self.0.vacate(place));
                }
            }
        }

        impl<V> Drop for Rest<'_, V> {
            fn drop(&mut self) {
                self.run();
            }
        }

        Rest(self, chain.first).run();
    }

    /// Drops all values; no key leads to them any more.
    pub(super) fn clear(&mut self) {
        self.free = NIL;
        self.free_count = 0;
        self.nodes.clear();
    }

    /// Moves the values to memory for `capacity` values, which is enough, and updates the chains.
    /// The values of each chain are then contiguous.
    pub(super) fn compact<'c>(
        &mut self,
        capacity: usize,
        chains: impl Iterator<Item = &'c mut Chain>,
    ) -> Result<(), AllocationError> {
        let mut moved = Self::new_in(self.nodes.allocator().clone());
        moved.try_reserve_exact(capacity)?;
        for chain in chains {
            let mut place = chain.first;
            chain.first = moved.nodes.len() as u32;
            while let Some(node) = self.nodes.get_mut(place as usize) {
                place = node.next;
                let next = if place == NIL { NIL } else { moved.nodes.len() as u32 + 1 };
                moved.nodes.push(Node { value: node.value.take(), next });
            }
            chain.last = moved.nodes.len() as u32 - 1;
        }
        *self = moved;
        Ok(())
    }

    /// Iterates over the values of a chain of this vector.
    #[inline]
    pub(super) fn values(&self, chain: Option<Chain>) -> MultiMapValues<'_, V> {
        MultiMapValues::new(&self.nodes, chain)
    }

    /// Returns the address and the number of the nodes.
    #[inline(always)]
    pub(super) fn memory(&self) -> (*mut Node<V>, usize) {
        (self.nodes.as_ptr().cast_mut(), self.nodes.len())
    }

    #[inline]
    pub(super) fn values_mut(&mut self, chain: Option<Chain>) -> MultiMapValuesMut<'_, V> {
        MultiMapValuesMut::new(&mut self.nodes, chain)
    }
}

impl<V: Clone> Nodes<V> {
    /// Copies the nodes to the same places. Cloning the vector would abort if the allocator
    /// refuses.
    pub(super) fn try_clone(&self) -> Result<Self, AllocationError> {
        let mut copy = Self::new_in(self.nodes.allocator().clone());
        copy.try_reserve_exact(self.nodes.len())?;
        copy.nodes.extend_from_slice(&self.nodes);
        (copy.free, copy.free_count) = (self.free, self.free_count);
        Ok(copy)
    }
}

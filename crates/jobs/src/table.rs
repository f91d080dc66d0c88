//! The table of all nodes of a pool.
#![expect(unsafe_code, reason = "hands out references to blocks that are freed with the table")]

use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::node::Node;
use crate::primitive::{AtomicPtr, Ordering};

/// The number of nodes in a block.
pub(crate) const BLOCK: usize = 64;

/// The table of all nodes. Blocks of nodes are created when they are first needed, leased to schedulers, returned when a scheduler
/// ends, and freed with the table. So the address of a node stays valid, and a stale ticket always leads to a node.
pub(crate) struct NodeTable {
    /// The address of each block's first node, or null for blocks that are not created yet.
    blocks: Box<[AtomicPtr<Node>]>,
    leases: Mutex<Leases>,
}

struct Leases {
    made: usize,
    free: Vec<u32>,
    /// A number that is higher than every sequence number of a returned node.
    next_sequence: u64,
}

impl NodeTable {
    /// Creates an empty table with room for `nodes` nodes, rounded up to whole blocks.
    pub(crate) fn new(nodes: usize) -> Self {
        let blocks = nodes.div_ceil(BLOCK).clamp(1, u32::MAX as usize / BLOCK);
        Self {
            blocks: (0..blocks).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
            leases: Mutex::new(Leases { made: 0, free: Vec::new(), next_sequence: 1 }),
        }
    }

    /// Returns the capacity in nodes.
    pub(crate) fn capacity(&self) -> usize {
        self.blocks.len() * BLOCK
    }

    /// Returns a node of a block that has been leased before.
    ///
    /// Indices come only from `lease`, and reach this table again in handles, tickets and edges of the same pool. So they are
    /// checked only in debug builds, because this function is called several times for every job.
    #[inline]
    pub(crate) fn node(&self, index: u32) -> &Node {
        let index = index as usize;
        debug_assert!(index < self.capacity(), "an index of another table");
        // SAFETY: the index came from `lease`, so the block is within the table.
        let block = unsafe { self.blocks.get_unchecked(index / BLOCK) };
        // Acquire pairs with the release in `lease`: the block is initialised before its address is visible.
        let block = block.load(Ordering::Acquire);
        debug_assert!(!block.is_null(), "an index of a block that was not leased");
        // SAFETY: the block was leased, so this is the address of `BLOCK` nodes that live as long as the table, and
        // no mutable reference to them exists.
        unsafe { &*block.add(index % BLOCK) }
    }

    /// Leases a block. Returns its number, and the first sequence number to use. The nodes of block `b` have the indices from `b *
    /// BLOCK` on.
    #[cold]
    pub(crate) fn lease(&self) -> Option<(u32, u64)> {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = leases.free.pop() {
            return Some((block, leases.next_sequence));
        }
        let place = self.blocks.get(leases.made)?;
        let block: Box<[Node]> = (0..BLOCK).map(|_| Node::new()).collect();
        place.store(Box::into_raw(block).cast(), Ordering::Release);
        leases.made += 1;
        Some((leases.made as u32 - 1, leases.next_sequence))
    }

    /// Takes back blocks. All their nodes are free, and all their sequence numbers are below `next_sequence`.
    pub(crate) fn give_back(&self, blocks: &[u32], next_sequence: u64) {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        leases.free.extend(blocks.iter().rev());
        leases.next_sequence = leases.next_sequence.max(next_sequence);
    }
}

impl Drop for NodeTable {
    fn drop(&mut self) {
        for place in &self.blocks {
            let block = place.load(Ordering::Relaxed);
            if !block.is_null() {
                let block = ptr::slice_from_raw_parts_mut(block, BLOCK);
                // SAFETY: the block was created by `Box::into_raw` from a slice of `BLOCK` nodes in `lease`, and is dropped only
                // here.
                drop(unsafe { Box::from_raw(block) });
            }
        }
    }
}

//! A bounded work-stealing deque of tickets.
//!
//! The algorithm is Chase and Lev's ("Dynamic Circular Work-Stealing Deque", 2005) with the
//! orderings of Lê, Pop, Cohen and Nardelli ("Correct and Efficient Work-Stealing for Weak Memory
//! Models", 2013), on a ring that never grows. Slots are atomics, so nothing here is `unsafe`, and
//! loom sees all of it.
//!
//! A ticket is only a hint that a node may have work: the thread that takes it must still enter the node's gate. So
//! the deque passes no data between threads. Its orderings only have to ensure that no ticket is lost.

use crossbeam_utils::CachePadded;

use crate::primitive::{AtomicU32, AtomicUsize, Ordering, fence};

/// A deque whose owner pushes and pops at the bottom, while all other threads steal from the top.
#[derive(Debug)]
pub(crate) struct Deque {
    /// The index of the next ticket to be stolen. Never decreases.
    top: CachePadded<AtomicUsize>,
    /// The index after that of the newest ticket. Written only by the owner.
    bottom: CachePadded<AtomicUsize>,
    /// A ring of slots; its length is a power of two.
    slots: Box<[AtomicU32]>,
}

impl Deque {
    /// Creates a deque for `capacity` tickets, which must be a power of two.
    pub(crate) fn new(capacity: usize) -> Self {
        assert!(capacity.is_power_of_two());
        Self {
            top: CachePadded::new(AtomicUsize::new(0)),
            bottom: CachePadded::new(AtomicUsize::new(0)),
            slots: (0..capacity).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Adds a ticket at the bottom. If the ring is full, returns the ticket as an error. Only the owner calls this method.
    pub(crate) fn push(&self, ticket: u32) -> Result<(), u32> {
        let bottom = self.bottom.load(Ordering::Relaxed);
        // Acquire pairs with the compare-exchange of `steal`: the slot is reused only after the
        // thief that emptied it has read it.
        let top = self.top.load(Ordering::Acquire);
        if bottom.wrapping_sub(top) >= self.slots.len() {
            return Err(ticket);
        }
        self.slot(bottom).store(ticket, Ordering::Relaxed);
        // Release pairs with the acquire of `bottom` in `steal`: the slot is written before it counts.
        self.bottom.store(bottom.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Takes the newest ticket. Only the owner calls this method.
    pub(crate) fn pop(&self) -> Option<u32> {
        let bottom = self.bottom.load(Ordering::Relaxed).wrapping_sub(1);
        self.bottom.store(bottom, Ordering::Relaxed);
        // Pairs with the fence of `steal`: either the thief sees the decreased bottom, or this thread sees the increased top.
        fence(Ordering::SeqCst);
        let top = self.top.load(Ordering::Relaxed);
        let left = bottom.wrapping_sub(top).cast_signed();
        if left < 0 {
            self.bottom.store(bottom.wrapping_add(1), Ordering::Relaxed);
            return None;
        }
        let ticket = self.slot(bottom).load(Ordering::Relaxed);
        if left > 0 {
            return Some(ticket);
        }
        // Thieves may compete for the last ticket, so it is taken from the top.
        let won = self.advance_top(top);
        self.bottom.store(bottom.wrapping_add(1), Ordering::Relaxed);
        won.then_some(ticket)
    }

    /// Takes the oldest ticket. Any thread may call this method.
    pub(crate) fn steal(&self) -> Option<u32> {
        loop {
            let top = self.top.load(Ordering::Acquire);
            fence(Ordering::SeqCst);
            let bottom = self.bottom.load(Ordering::Acquire);
            if bottom.wrapping_sub(top).cast_signed() <= 0 {
                return None;
            }
            let ticket = self.slot(top).load(Ordering::Relaxed);
            if self.advance_top(top) {
                return Some(ticket);
            }
        }
    }

    /// Returns whether the deque looked empty at some moment during the call.
    pub(crate) fn is_empty(&self) -> bool {
        let top = self.top.load(Ordering::Relaxed);
        let bottom = self.bottom.load(Ordering::Relaxed);
        bottom.wrapping_sub(top).cast_signed() <= 0
    }

    fn slot(&self, position: usize) -> &AtomicU32 {
        &self.slots[position & (self.slots.len() - 1)]
    }

    fn advance_top(&self, top: usize) -> bool {
        self.top
            .compare_exchange(top, top.wrapping_add(1), Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }
}

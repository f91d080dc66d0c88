//! The queue through which schedulers hand tickets to the workers.
//!
//! The injector has two queues behind one lock. A flush adds all its tickets at once, and a worker takes several tickets at once,
//! so the lock is taken rarely and held briefly. Idle workers read a separate count to check for tickets without the lock.
//!
//! An owner that waits for jobs also works on them. It does not look for their tickets, which become stale. Afterwards the owner
//! removes its stale urgent tickets. Workers soon remove the other stale tickets, unless all workers are busy for a long time. So a
//! full queue drops stale tickets before it grows.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;

use crate::deque::Deque;
use crate::primitive::{AtomicUsize, Ordering};

/// The maximum number of tickets that a worker takes at once.
const TAKE_LIMIT: usize = 32;

/// The initial capacity, in tickets.
const ROOM: usize = 4096;

/// The queue shared by all schedulers and workers of a pool.
#[derive(Debug)]
pub(crate) struct Injector {
    length: CachePadded<AtomicUsize>,
    tickets: Mutex<Tickets>,
}

/// The two queues. The oldest ticket of a queue is taken first, because an owner that waits works from the other end.
#[derive(Debug)]
struct Tickets {
    /// Tickets of jobs that an owner waits for. Taken first.
    urgent: VecDeque<u32>,
    /// All other tickets.
    ordinary: VecDeque<u32>,
}

impl Injector {
    pub(crate) fn new() -> Self {
        Self {
            length: CachePadded::new(AtomicUsize::new(0)),
            tickets: Mutex::new(Tickets {
                urgent: VecDeque::with_capacity(ROOM),
                ordinary: VecDeque::with_capacity(ROOM),
            }),
        }
    }

    /// Returns whether the queue looked empty during the call.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: calls that must not miss a ticket follow the fences of `sleep`.
        self.length.load(Ordering::Relaxed) == 0
    }

    /// Adds tickets to a queue. Urgent tickets are taken before ordinary ones. `is_open` returns whether the gate of a ticket is
    /// open.
    pub(crate) fn push(
        &self,
        tickets: impl ExactSizeIterator<Item = u32>,
        urgent: bool,
        is_open: impl Fn(u32) -> bool,
    ) {
        let mut queues = self.lock();
        let queue = if urgent { &mut queues.urgent } else { &mut queues.ordinary };
        if queue.len() + tickets.len() > queue.capacity() {
            prune(queue, is_open);
        }
        queue.extend(tickets);
        self.count(&queues);
    }

    /// Removes the urgent tickets whose gates are shut.
    pub(crate) fn take_back(&self, is_open: impl Fn(u32) -> bool) {
        let mut queues = self.lock();
        queues.urgent.retain(|&ticket| is_open(ticket));
        self.count(&queues);
    }

    /// Takes a ticket, and moves further tickets into `local`, the deque of the calling worker.
    pub(crate) fn take(&self, local: &Deque) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let mut queues = self.lock();
        let first = queues.take();
        if first.is_some() {
            let more = (queues.length() / 2).min(TAKE_LIMIT);
            for _ in 0..more {
                let Some(ticket) = queues.take() else { break };
                if let Err(ticket) = local.push(ticket) {
                    queues.urgent.push_front(ticket);
                    break;
                }
            }
        }
        self.count(&queues);
        first
    }

    fn lock(&self) -> MutexGuard<'_, Tickets> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, queues: &Tickets) {
        self.length.store(queues.length(), Ordering::Relaxed);
    }
}

impl Tickets {
    fn take(&mut self) -> Option<u32> {
        self.urgent.pop_front().or_else(|| self.ordinary.pop_front())
    }

    fn length(&self) -> usize {
        self.urgent.len() + self.ordinary.len()
    }
}

/// Removes the tickets whose gates are shut, and keeps one ticket for each node. An open gate may be that of a later job than the
/// job for which most of the tickets were created. Then fewer threads join a parallel job, which is better than a growing queue.
fn prune(queue: &mut VecDeque<u32>, is_open: impl Fn(u32) -> bool) {
    queue.make_contiguous().sort_unstable();
    let mut last = None;
    queue.retain(|&ticket| last.replace(ticket) != Some(ticket) && is_open(ticket));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_and_doubled_tickets_are_dropped() {
        let mut queue = VecDeque::from([5, 3, 5, 8, 3, 5, 1]);
        prune(&mut queue, |ticket| ticket != 8);
        assert_eq!(queue, [1, 3, 5]);
    }

    #[test]
    fn a_queue_of_stale_tickets_does_not_grow() {
        let injector = Injector::new();
        for _ in 0..1000 {
            injector.push(0..100_u32, false, |_| true);
        }
        assert!(injector.lock().ordinary.capacity() < 2 * ROOM);
    }
}

//! The queue through which schedulers hand tickets to the workers.
//!
//! A lock around two queues: a flush hands over all its tickets at once, and a worker takes several
//! at once, so the lock is taken rarely and held briefly. The count beside it lets idle workers look
//! without taking it.
//!
//! An owner that waits for jobs works on them too, without looking for their tickets, which go stale.
//! The workers soon take those out, unless they are busy for long; so a queue that has grown drops the
//! tickets whose gates are shut before it grows further.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;

use crate::deque::Deque;
use crate::primitive::{AtomicUsize, Ordering};

/// How many tickets a worker takes at once, at most.
const TAKE_LIMIT: usize = 32;

/// A queue is not searched for stale tickets before it is this long.
const PRUNE_FROM: usize = 4096;

/// The queue.
#[derive(Debug)]
pub(crate) struct Injector {
    length: CachePadded<AtomicUsize>,
    tickets: Mutex<Tickets>,
}

/// Both queues are taken from oldest first: an owner that waits works from the other end.
#[derive(Debug)]
struct Tickets {
    /// What an owner waits for. Taken first.
    urgent: VecDeque<u32>,
    /// All else.
    ordinary: VecDeque<u32>,
    /// How long both may become together before stale tickets are dropped.
    prune_at: usize,
}

impl Injector {
    pub(crate) fn new() -> Self {
        Self {
            length: CachePadded::new(AtomicUsize::new(0)),
            tickets: Mutex::new(Tickets {
                urgent: VecDeque::new(),
                ordinary: VecDeque::new(),
                prune_at: PRUNE_FROM,
            }),
        }
    }

    /// Says whether the queue looked empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: a look that must not miss a ticket is behind the fences of `sleep`.
        self.length.load(Ordering::Relaxed) == 0
    }

    /// Adds tickets: before all others if they are urgent, behind them if not. `is_open` says whether a
    /// ticket's gate is.
    pub(crate) fn push(
        &self,
        tickets: impl IntoIterator<Item = u32>,
        urgent: bool,
        is_open: impl Fn(u32) -> bool,
    ) {
        let mut queues = self.lock();
        if queues.length() > queues.prune_at {
            queues.urgent.retain(|&ticket| is_open(ticket));
            queues.ordinary.retain(|&ticket| is_open(ticket));
            queues.prune_at = (queues.length() * 2).max(PRUNE_FROM);
        }
        let queue = if urgent { &mut queues.urgent } else { &mut queues.ordinary };
        queue.extend(tickets);
        self.count(&queues);
    }

    /// Takes a ticket, and moves some more into `local`, which is the calling worker's own.
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

//! The queue through which schedulers hand tickets to the workers.
//!
//! A lock around two queues: a flush hands over all its tickets at once, and a worker takes several
//! at once, so the lock is taken rarely and held briefly. The count beside it lets idle workers look
//! without taking it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;

use crate::deque::Deque;
use crate::primitive::{AtomicUsize, Ordering};

/// How many tickets a worker takes at once, at most.
const TAKE_LIMIT: usize = 32;

/// The queue.
#[derive(Debug)]
pub(crate) struct Injector {
    length: CachePadded<AtomicUsize>,
    tickets: Mutex<Tickets>,
}

#[derive(Debug)]
struct Tickets {
    /// What an owner waits for. Taken first, newest first: the owner works from the other end.
    urgent: VecDeque<u32>,
    /// All else, oldest first.
    ordinary: VecDeque<u32>,
}

impl Injector {
    pub(crate) fn new() -> Self {
        Self {
            length: CachePadded::new(AtomicUsize::new(0)),
            tickets: Mutex::new(Tickets {
                urgent: VecDeque::new(),
                ordinary: VecDeque::new(),
            }),
        }
    }

    /// Says whether the queue looked empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: a look that must not miss a ticket is behind the fences of `sleep`.
        self.length.load(Ordering::Relaxed) == 0
    }

    /// Adds tickets: before all others if they are urgent, behind them if not.
    pub(crate) fn push(&self, tickets: impl IntoIterator<Item = u32>, urgent: bool) {
        let mut queues = self.lock();
        let queue = if urgent {
            &mut queues.urgent
        } else {
            &mut queues.ordinary
        };
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
                    queues.urgent.push_back(ticket);
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
        self.urgent.pop_back().or_else(|| self.ordinary.pop_front())
    }

    fn length(&self) -> usize {
        self.urgent.len() + self.ordinary.len()
    }
}

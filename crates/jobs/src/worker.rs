//! The main loop of a worker thread.

use std::sync::Arc;

use crate::participant::Participant;
use crate::pool::PoolShared;
use crate::primitive::{Ordering, relax};

/// Runs jobs until the pool is shut down. `worker` counts from zero.
pub(crate) fn work(pool: &Arc<PoolShared>, worker: usize) {
    let local = &pool.workers[worker];
    let participant = Participant { pool, thread: worker + 1, local: Some(local), walk: None };
    loop {
        // Searching, the state of every worker when it starts and when it wakes.
        match search(pool, worker) {
            Some(ticket) => {
                pool.sleep.found(|| pool.has_work());
                participant.try_run(ticket);
                while let Some(ticket) = find(pool, worker) {
                    participant.try_run(ticket);
                }
                pool.sleep.search();
            }
            None => {
                if pool.shutdown.load(Ordering::Acquire) != 0 {
                    return;
                }
                pool.sleep.sleep(worker, || {
                    pool.has_work() || pool.shutdown.load(Ordering::Acquire) != 0
                });
            }
        }
    }
}

/// Searches for a ticket until one is found or the spin limit is reached.
fn search(pool: &PoolShared, worker: usize) -> Option<u32> {
    for _ in 0..pool.spin {
        if pool.has_work()
            && let Some(ticket) = find(pool, worker)
        {
            return Some(ticket);
        }
        relax();
    }
    find(pool, worker)
}

/// Looks once in its own queue, the shared queue, and the other workers' queues.
fn find(pool: &PoolShared, worker: usize) -> Option<u32> {
    let local = &pool.workers[worker];
    if let Some(ticket) = local.pop() {
        return Some(ticket);
    }
    if let Some(ticket) = pool.injector.take(local) {
        return Some(ticket);
    }
    let others = pool.workers.len();
    (1..others).find_map(|step| pool.workers[(worker + step) % others].steal())
}

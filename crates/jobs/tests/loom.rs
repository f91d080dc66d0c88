//! Models of the parts that share memory between threads, checked by loom in every interleaving.
//!
//! Run with `cargo xtask loom`. The files under test are compiled here a second time, against loom's
//! atomics; see `src/primitive.rs`. Each model is kept so small that it is exhausted within seconds
//! with three preemptions (`LOOM_MAX_PREEMPTIONS=3`).
#![cfg(loom)]
#![allow(dead_code, reason = "a model uses only a part of the files it includes")]
#![expect(unsafe_code, reason = "loom checks its own cells; lists follow pointers")]

#[path = "../src/dependents.rs"]
mod dependents;
#[path = "../src/deque.rs"]
mod deque;
#[path = "../src/gate.rs"]
mod gate;
#[path = "../src/parker.rs"]
mod parker;
#[path = "../src/primitive.rs"]
mod primitive;
#[path = "../src/ranges.rs"]
mod ranges;
#[path = "../src/sequence.rs"]
mod sequence;
#[path = "../src/sleep/mod.rs"]
mod sleep;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use dependents::{Dependents, Edge};
use deque::Deque;
use gate::{Entry, Gate};
use ranges::Ranges;
use sequence::Sequence;
use sleep::Sleep;

/// Data that a job writes, and that loom watches for races.
struct Data(UnsafeCell<u32>);

// SAFETY: loom checks every access, and fails the model on a data race.
unsafe impl Sync for Data {}

impl Data {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn add(&self, value: u32) {
        // SAFETY: loom fails the model if another thread accesses the cell meanwhile.
        self.0.with_mut(|data| unsafe { *data += value });
    }

    fn get(&self) -> u32 {
        // SAFETY: loom fails the model if another thread writes the cell meanwhile.
        self.0.with(|data| unsafe { *data })
    }
}

/// The owner links a job to one that is being finished. Either the finisher releases the edge, or the push is
/// refused. Either way, the first job's writes are visible then.
#[test]
fn an_edge_is_released_once_or_refused() {
    loom::model(|| {
        struct Job {
            dependents: Dependents,
            data: Data,
        }
        let job = Arc::new(Job { dependents: Dependents::new(), data: Data::new() });
        let edge = Box::into_raw(Box::new(Edge::new(7, true)));

        let finisher = {
            let job = Arc::clone(&job);
            thread::spawn(move || {
                job.data.add(1);
                let mut released = job.dependents.close();
                let mut indices = Vec::new();
                while let Some((index, passes_failure)) = released.next() {
                    assert!(passes_failure);
                    indices.push(index);
                }
                indices
            })
        };
        // SAFETY: the edge lives until the end of the model, and is in no other list.
        let linked = unsafe { job.dependents.push(edge) };
        if !linked {
            assert_eq!(job.data.get(), 1);
        }
        let released = finisher.join().unwrap();
        assert_eq!(released, if linked { vec![7] } else { vec![] });
        assert!(job.dependents.is_closed());
        // SAFETY: made by `Box::into_raw` above; the finisher no longer uses it.
        drop(unsafe { Box::from_raw(edge) });
    });
}

/// A job with two dependencies and a hold is started by the thread that releases it last, which sees the writes of
/// both.
#[test]
fn the_last_dependency_starts_the_job() {
    loom::model(|| {
        struct Graph {
            pending: AtomicU32,
            gate: Gate,
            data: [Data; 2],
            started: AtomicU32,
        }
        let graph = Arc::new(Graph {
            pending: AtomicU32::new(3),
            gate: Gate::new(),
            data: [Data::new(), Data::new()],
            started: AtomicU32::new(0),
        });
        let let_go = |graph: &Graph| {
            if graph.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                graph.gate.open();
            }
            if graph.gate.enter().is_some() {
                assert_eq!(graph.data[0].get() + graph.data[1].get(), 2);
                graph.started.fetch_add(1, Ordering::Relaxed);
            }
        };
        let threads = [0, 1].map(|at| {
            let graph = Arc::clone(&graph);
            thread::spawn(move || {
                graph.data[at].add(1);
                let_go(&graph);
            })
        });
        let_go(&graph);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(graph.started.load(Ordering::Relaxed), 1);
    });
}

/// An owner that requests a wake-up is woken, unless the request is refused because the job has finished.
#[test]
fn a_waiting_owner_is_woken() {
    loom::model(|| {
        let shared = Arc::new((Dependents::new(), parker::Parker::new()));
        let finisher = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                if shared.0.close().owner_waits {
                    shared.1.unpark();
                }
            })
        };
        if shared.0.wait_for() {
            shared.1.park();
        }
        assert!(shared.0.is_closed());
        finisher.join().unwrap();
    });
}

/// Of several threads at a gate, one starts the job, and the others join or stay out. The last one to leave sees the
/// writes of all.
#[test]
fn the_last_one_out_sees_all() {
    loom::model(|| {
        struct Job {
            gate: Gate,
            ranges: Ranges,
            data: [Data; 2],
            finished: AtomicU32,
        }
        let job = Arc::new(Job {
            gate: Gate::new(),
            ranges: Ranges::new(2),
            data: [Data::new(), Data::new()],
            finished: AtomicU32::new(0),
        });
        let work = |job: &Job, lane: usize| {
            match job.gate.enter() {
                None => return,
                Some(Entry::First) => {
                    job.ranges.start(lane, 2);
                    job.gate.widen();
                }
                Some(Entry::Joined) => {}
            }
            loop {
                while let Some(claimed) = job.ranges.claim(lane, 64) {
                    claimed.for_each(|batch| job.data[batch as usize].add(1));
                }
                if !job.ranges.steal(lane, 0) {
                    break;
                }
            }
            if job.gate.leave() {
                assert_eq!([job.data[0].get(), job.data[1].get()], [1, 1]);
                job.finished.fetch_add(1, Ordering::Relaxed);
            }
        };
        job.gate.open();
        let helper = {
            let job = Arc::clone(&job);
            thread::spawn(move || work(&job, 1))
        };
        work(&job, 0);
        helper.join().unwrap();
        assert_eq!(job.finished.load(Ordering::Relaxed), 1);
    });
}

/// A ticket that its owner pops while a thief steals it goes to exactly one of them.
#[test]
fn no_ticket_is_lost_or_doubled() {
    loom::model(|| {
        let deque = Arc::new(Deque::new(2));
        deque.push(1).unwrap();
        deque.push(2).unwrap();
        assert_eq!(deque.push(3), Err(3));
        let thief = {
            let deque = Arc::clone(&deque);
            thread::spawn(move || deque.steal())
        };
        let mut taken = vec![deque.pop(), deque.pop()];
        taken.push(thief.join().unwrap());
        let mut taken: Vec<u32> = taken.into_iter().flatten().collect();
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
        assert!(deque.is_empty());
    });
}

/// A slot of the ring is reused only after the thief that emptied it has read it.
#[test]
fn a_reused_slot_was_read() {
    loom::model(|| {
        let deque = Arc::new(Deque::new(1));
        deque.push(1).unwrap();
        let thief = {
            let deque = Arc::clone(&deque);
            thread::spawn(move || deque.steal())
        };
        let pushed = deque.push(2).is_ok();
        let stolen = thief.join().unwrap();
        let left = deque.pop();
        match (stolen, pushed) {
            (Some(1), true) => assert_eq!(left, Some(2)),
            (Some(1), false) => assert_eq!(left, None),
            other => panic!("the thief found {other:?}"),
        }
    });
}

/// A container on another thread that sees the job of a node completed sees the job's writes, even if the node
/// already has the next job.
#[test]
fn a_recycled_node_shows_that_its_job_was_completed() {
    loom::model(|| {
        let shared = Arc::new((Sequence::new(), Data::new()));
        shared.0.set(1);
        let owner = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.add(1);
                shared.0.set(0);
                shared.0.set(2);
            })
        };
        if !shared.0.is(1) {
            assert_eq!(shared.1.get(), 1);
        }
        owner.join().unwrap();
    });
}

/// Work that is published while a worker falls asleep is found: either the worker's last check sees it, or the worker
/// is woken.
#[test]
fn no_wake_up_is_lost() {
    loom::model(|| {
        let shared = Arc::new((Sleep::new(1), AtomicU32::new(0)));
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (sleep, work) = &*shared;
                while work.load(Ordering::Relaxed) == 0 {
                    sleep.sleep(0, || work.load(Ordering::Relaxed) != 0);
                }
            })
        };
        shared.1.store(1, Ordering::Relaxed);
        shared.0.notify();
        worker.join().unwrap();
    });
}

/// Two pieces of work, published one after the other, do not both wait for one searcher. The searcher that takes the
/// first piece wakes another for the second.
#[test]
fn a_searcher_that_found_work_is_replaced() {
    loom::model(|| {
        struct Shared {
            sleep: Sleep,
            work: Deque,
            done: AtomicU32,
        }
        let shared =
            Arc::new(Shared { sleep: Sleep::new(2), work: Deque::new(2), done: AtomicU32::new(0) });
        let workers = [0, 1].map(|worker| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                loop {
                    if let Some(_ticket) = shared.work.steal() {
                        shared.sleep.found(|| !shared.work.is_empty());
                        // Each thread takes one piece and ends, like one that is busy for long.
                        shared.done.fetch_add(1, Ordering::Relaxed);
                        return;
                    }
                    shared.sleep.sleep(worker, || !shared.work.is_empty());
                }
            })
        });
        for ticket in [1, 2] {
            shared.work.push(ticket).unwrap();
            shared.sleep.notify();
        }
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!(shared.done.load(Ordering::Relaxed), 2);
    });
}

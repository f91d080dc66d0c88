//! A queue of fixed capacity.

use crate::common::model;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use ancho_collections::{NativeRingQueue, QueueFull, Rejected, RingQueue};
use ancho_jobs::{JobPool, JobScheduler};
use model::{cases, time_is_up};
use proptest::prelude::*;

#[test]
fn a_full_queue_returns_refused_values() {
    let mut queue = RingQueue::with_capacity(3);
    for name in ["Ada", "Grace", "Edsger"] {
        queue.try_enqueue(name.to_owned()).unwrap();
    }
    let Rejected { value, error } = queue.try_enqueue("Tony".to_owned()).unwrap_err();
    assert_eq!((value.as_str(), error), ("Tony", QueueFull { capacity: 3 }));
    assert_eq!(
        error.to_string(),
        "A0019: the ring queue is full with 3 elements; dequeue some, or make it larger"
    );
    assert_eq!(queue.dequeue().as_deref(), Some("Ada"));
    queue.enqueue(value);
    assert!(queue.iter().eq(["Grace", "Edsger", "Tony"]));
}

#[test]
fn to_enqueue_in_a_full_queue_panics() {
    let mut queue = RingQueue::with_capacity(1);
    queue.enqueue(1);
    let panic = catch_unwind(AssertUnwindSafe(|| queue.enqueue(2))).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.starts_with("A0019: the ring queue is full with 1 elements; "), "{message}");
    assert_eq!(queue.to_list()[..], [1]);
}

#[test]
fn a_queue_without_capacity_is_full_and_empty() {
    let mut queue = RingQueue::with_capacity(0);
    assert!(queue.is_full() && queue.is_empty());
    assert_eq!(queue.try_enqueue(1).unwrap_err().value, 1);
    assert_eq!((queue.dequeue(), queue.peek(), queue.capacity()), (None, None, 0));
}

#[test]
fn the_capacity_stays_as_requested() {
    for capacity in [1, 2, 3, 5, 8, 100] {
        let mut queue = RingQueue::with_capacity(capacity);
        assert_eq!((0..1000).filter(|&i| queue.try_enqueue(i).is_ok()).count(), capacity);
        assert_eq!(
            (queue.len(), queue.capacity(), queue.clone().capacity()),
            (capacity, capacity, capacity)
        );
    }
    let mut units = RingQueue::with_capacity(3);
    assert_eq!((0..10).filter(|_| units.try_enqueue(()).is_ok()).count(), 3);
}

#[test]
fn remaining_values_are_dropped() {
    let shared = Rc::new(());
    let mut queue = RingQueue::with_capacity(3);
    for _ in 0..5 {
        queue.dequeue();
        queue.enqueue(Rc::clone(&shared));
    }
    queue.enqueue(Rc::clone(&shared));
    assert!(queue.try_enqueue(Rc::clone(&shared)).is_ok());
    assert!(queue.try_enqueue(Rc::clone(&shared)).is_err());
    assert_eq!(Rc::strong_count(&shared), 4);
    drop(queue);
    assert_eq!(Rc::strong_count(&shared), 1);
}

#[test]
fn a_full_queue_fails_the_job_that_writes_it() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut queue = NativeRingQueue::with_capacity(2).named("frames");
    assert!(queue.label().to_string().starts_with("`frames` (NativeRingQueue<u32> made at "));
    let job = jobs.schedule(&[], queue.write(), |queue| (0..3_u32).for_each(|i| queue.enqueue(i)));
    let failed = jobs.try_complete(job.unwrap()).unwrap_err();
    assert!(failed.to_string().contains("A0019: the ring queue is full with 2 elements"));
    assert!(queue.get().unwrap().iter().eq(&[0, 1]));
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_ring_queue_is_a_deque_with_a_limit(
        capacity in 0_usize..20,
        steps in prop::collection::vec(any::<Option<u8>>(), 0..200),
    ) {
        if time_is_up() {
            return Ok(());
        }
        let mut queue = RingQueue::with_capacity(capacity);
        let mut model = VecDeque::new();
        for step in steps {
            match step {
                Some(value) if model.len() < capacity => {
                    prop_assert!(queue.try_enqueue(value).is_ok());
                    model.push_back(value);
                }
                Some(value) => prop_assert_eq!(queue.try_enqueue(value).unwrap_err().value, value),
                None => prop_assert_eq!(queue.dequeue(), model.pop_front()),
            }
            prop_assert!(queue.iter().eq(&model));
            prop_assert_eq!(queue.is_full(), model.len() == capacity);
        }
        prop_assert!(queue.drain().eq(model));
    }
}

//! Results of parallel writers of queues and streams, on any number of threads.

use ancho_collections::{LaneWriter, NativeQueue, NativeStream, Queue, Stream};
use ancho_jobs::{ExecutionMode, JobPool, JobScheduler};

const COUNT: usize = 3000;

/// Calls the function with schedulers of any kind: no workers, one, several, and any order.
fn with_schedulers(check: impl Fn(&mut JobScheduler, usize)) {
    for workers in [0, 1, 2, 4] {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        let mut jobs = JobScheduler::new(&pool);
        for batch in [1, 7, 64, 5000] {
            check(&mut jobs, batch);
        }
        for seed in 0..5 {
            jobs.set_mode(ExecutionMode::Shuffle { seed });
            check(&mut jobs, 16);
        }
        jobs.set_mode(ExecutionMode::Serial);
        check(&mut jobs, 16);
    }
}

/// Returns the elements that index `i` adds: none, one or several.
fn added(i: usize) -> impl Iterator<Item = String> {
    (0..i % 4).map(move |n| format!("{i}.{n}"))
}

#[test]
fn a_queue_is_filled_in_the_order_of_the_indices() {
    let expected: Queue<_> =
        std::iter::once("before".to_owned()).chain((0..COUNT).flat_map(added)).collect();
    with_schedulers(|jobs, batch| {
        let mut queue = NativeQueue::from(["before".to_owned()]);
        let job = jobs.schedule_for_each(&[], queue.writer(), COUNT, batch, |queue, i| {
            added(i).for_each(|text| queue.enqueue(text));
        });
        jobs.complete(job.unwrap());
        assert_eq!(*queue.get().unwrap(), expected);
    });
}

#[test]
fn jobs_one_after_the_other_fill_a_queue_that_wraps_around() {
    with_schedulers(|jobs, batch| {
        let mut queue = NativeQueue::new();
        let mut expected = std::collections::VecDeque::new();
        for round in 0..5 {
            let job = jobs.schedule_for_each(&[], queue.writer(), 100, batch, move |queue, i| {
                queue.enqueue(round * 100 + i);
            });
            jobs.complete(job.unwrap());
            expected.extend(round * 100..round * 100 + 100);
            let queue = queue.get_mut().unwrap();
            for _ in 0..90 {
                assert_eq!(queue.dequeue(), expected.pop_front());
            }
            assert!(queue.iter().eq(&expected));
        }
    });
}

#[test]
fn elements_without_bytes_are_all_there() {
    with_schedulers(|jobs, batch| {
        let mut queue = NativeQueue::new();
        let job =
            jobs.schedule_for_each(&[], queue.writer(), COUNT, batch, |queue, _| queue.enqueue(()));
        jobs.complete(job.unwrap());
        assert_eq!(queue.get().unwrap().len(), COUNT);
    });
}

#[test]
fn values_written_before_a_panic_are_kept_in_order() {
    let jobs = JobScheduler::new(&JobPool::builder().workers(2).build().unwrap());
    let mut queue = NativeQueue::new();
    let job = jobs.schedule_for_each(&[], queue.writer(), 100, 10, |queue, i| {
        queue.enqueue(Box::new(i));
        assert_ne!(i, 55, "on purpose");
    });
    jobs.try_complete(job.unwrap()).unwrap_err();
    let written = queue.get().unwrap().to_list();
    assert!(written.is_sorted() && written.contains(&Box::new(55)));
    assert!(!written.contains(&Box::new(56)));
}

/// Writes values of several types, whose number depends on the index.
fn write_lane(mut lane: LaneWriter<'_>, i: usize) {
    for n in 0..i % 4 {
        lane.write(n as u8);
        lane.write([i as f32; 3]);
    }
    lane.write(i);
}

#[test]
fn a_stream_is_the_same_as_if_one_thread_had_written_it() {
    let mut expected = Stream::new(COUNT);
    // The order of the lanes makes no difference.
    for i in (0..COUNT).rev() {
        write_lane(expected.lane(i), i);
    }
    with_schedulers(|jobs, batch| {
        let mut stream = NativeStream::new(COUNT);
        for _ in 0..2 {
            let job = jobs.schedule_for_each(&[], stream.writer(), COUNT, batch, write_lane);
            jobs.complete(job.unwrap());
            assert_eq!(*stream.get().unwrap(), expected);
            assert_eq!(stream.get().unwrap().count(), expected.count());
            stream.get_mut().unwrap().clear(COUNT);
        }
        let job =
            jobs.schedule_parallel(&[], stream.writer(), COUNT, batch, |mut stream, range| {
                range.rev().for_each(|i| write_lane(stream.lane(i), i));
            });
        jobs.complete(job.unwrap());
        assert_eq!(*stream.get().unwrap(), expected);
    });
}

//! ancho: native containers, which are borrowed once for each operation, as a job borrows them.
//!
//! All safety checks are on, as they are for users.

use std::hint::black_box;
use std::iter;
use std::ops::Range;

use ancho_collections::{
    MapLane, NativeHashMap, NativeList, NativeQueue, ParallelWriter, QueueLane, Temp,
};
use ancho_jobs::{JobPool, JobScheduler};

use super::work::{self, BLOCK, FRAME, FRAMES, OPERATIONS};
use crate::harness::{Cell, Reading};

type MapWriter<'v> = ParallelWriter<'v, MapLane<u64, u64>>;
type QueueWriter<'v> = ParallelWriter<'v, QueueLane<u64>>;

/// Number of elements that a batch of a parallel job adds. Two threads share 62 batches.
const BATCH: usize = 1 << 14;

pub(super) fn list_push(cell: Cell) -> Reading {
    let operation = |list: &mut NativeList<u64>| {
        let list = list.get_mut().expect("no job");
        for value in 0..OPERATIONS {
            list.push(value);
        }
    };
    let result =
        |list: &mut NativeList<u64>| work::in_order(list.get().expect("no job").iter().copied());
    cell.run_afresh(NativeList::new, operation, result)
}

pub(super) fn list_iterate(cell: Cell) -> Reading {
    let list: NativeList<u64> = (0..OPERATIONS).collect();
    let operation = |sum: &mut u64| {
        *sum += black_box(work::sum(black_box(&list).get().expect("no job").iter()));
    };
    cell.run(0, operation, |sum| *sum)
}

pub(super) fn map_insert(cell: Cell) -> Reading {
    let operation = |map: &mut NativeHashMap<u64, u64>| {
        let map = map.get_mut().expect("no job");
        for (key, value) in work::pairs() {
            map.insert(key, value);
        }
    };
    cell.run_afresh(NativeHashMap::new, operation, |map| map_result(map))
}

pub(super) fn map_lookup(cell: Cell) -> Reading {
    let map: NativeHashMap<u64, u64> = work::pairs().collect();
    let keys = work::shuffled_keys();
    let operation = |sum: &mut u64| {
        let map = black_box(&map).get().expect("no job");
        *sum += black_box(
            keys.iter().map(|key| map.get(key).expect("all keys are there")).sum::<u64>(),
        );
    };
    cell.run(0, operation, |sum| *sum)
}

pub(super) fn map_iterate(cell: Cell) -> Reading {
    let map: NativeHashMap<u64, u64> = work::pairs().collect();
    let operation = |sum: &mut u64| {
        *sum += black_box(black_box(&map).get().expect("no job").values().sum::<u64>());
    };
    cell.run(0, operation, |sum| *sum)
}

pub(super) fn queue_push_pop(cell: Cell) -> Reading {
    let operation = |(queue, sum): &mut (NativeQueue<u64>, u64)| {
        let queue = queue.get_mut().expect("no job");
        for value in 0..OPERATIONS {
            queue.enqueue(value);
        }
        *sum += black_box(iter::from_fn(|| queue.dequeue()).sum::<u64>());
    };
    let result = |(queue, sum): &mut (NativeQueue<u64>, u64)| {
        let queue = queue.get_mut().expect("no job");
        queue.extend(0..OPERATIONS);
        *sum ^ work::in_order(iter::from_fn(|| queue.dequeue()))
    };
    cell.run((NativeQueue::new(), 0), operation, result)
}

pub(super) fn map_insert_2t(cell: Cell) -> Reading {
    type State = (NativeHashMap<u64, u64>, u64);
    let jobs = JobScheduler::new(&pool());
    let make = || (NativeHashMap::with_capacity(OPERATIONS as usize), 0);
    let operation = |(map, found): &mut State| {
        let add = |mut map: MapWriter<'_>, range: Range<usize>| {
            for index in range {
                map.try_add(work::key(index as u64), index as u64);
            }
        };
        let job = jobs.schedule_parallel(&[], map.writer(), OPERATIONS as usize, BATCH, add);
        jobs.complete(job.expect("no conflict"));
        *found = map.get().expect("completed")[&work::read_back()];
    };
    let result = |(map, found): &mut State| *found ^ map_result(map);
    cell.run_afresh(make, operation, result)
}

pub(super) fn queue_push_2t(cell: Cell) -> Reading {
    type State = (NativeQueue<u64>, u64);
    let jobs = JobScheduler::new(&pool());
    let make = || (NativeQueue::new(), 0);
    let operation = |(queue, first): &mut State| {
        let add = |mut queue: QueueWriter<'_>, range: Range<usize>| {
            for index in range {
                queue.enqueue(index as u64);
            }
        };
        let job = jobs.schedule_parallel(&[], queue.writer(), OPERATIONS as usize, BATCH, add);
        jobs.complete(job.expect("no conflict"));
        *first = queue.get_mut().expect("completed").dequeue().expect("it was filled");
    };
    let result = |(queue, first): &mut State| {
        work::in_any_order(queue.get().expect("completed").iter().copied().chain([*first]))
    };
    cell.run_afresh(make, operation, result)
}

pub(super) fn temp_alloc(cell: Cell) -> Reading {
    let operation = |(temp, sum): &mut (Temp, u64)| {
        for _ in 0..FRAMES {
            *sum += (0..FRAME).map(|index| write_block(temp, index as u8)).sum::<u64>();
            temp.reset();
        }
    };
    cell.run((Temp::new(), 0), operation, |(_, sum)| *sum)
}

/// Allocates a block, writes its first byte, and reads it back.
#[inline]
fn write_block(temp: &Temp, byte: u8) -> u64 {
    let block = temp.slice_uninit::<u8>(BLOCK);
    u64::from(*black_box(block[0].write(byte)))
}

fn map_result(map: &NativeHashMap<u64, u64>) -> u64 {
    work::map_result(map.get().expect("no job").iter().map(|(&key, &value)| (key, value)))
}

fn pool() -> JobPool {
    JobPool::builder().workers(1).build().expect("a worker")
}

//! The standard library: vector, double-ended queue, and the map with its default hasher.

use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::iter;

use super::work::{self, OPERATIONS};
use crate::harness::{Cell, Reading};

pub(super) fn list_push(cell: Cell) -> Reading {
    let operation = |list: &mut Vec<u64>| {
        for value in 0..OPERATIONS {
            list.push(value);
        }
    };
    let result = |list: &mut Vec<u64>| work::in_order(list.iter().copied());
    cell.run_afresh(Vec::new, operation, result)
}

pub(super) fn list_iterate(cell: Cell) -> Reading {
    let list: Vec<u64> = (0..OPERATIONS).collect();
    let operation = |sum: &mut u64| {
        *sum += black_box(work::sum(black_box(&list).iter()));
    };
    cell.run(0, operation, |sum| *sum)
}

pub(super) fn map_insert(cell: Cell) -> Reading {
    let operation = |map: &mut HashMap<u64, u64>| {
        for (key, value) in work::pairs() {
            map.insert(key, value);
        }
    };
    let result = |map: &mut HashMap<u64, u64>| {
        work::map_result(map.iter().map(|(&key, &value)| (key, value)))
    };
    cell.run_afresh(HashMap::new, operation, result)
}

pub(super) fn map_lookup(cell: Cell) -> Reading {
    let map: HashMap<u64, u64> = work::pairs().collect();
    let keys = work::shuffled_keys();
    let operation = |sum: &mut u64| {
        let map = black_box(&map);
        *sum += black_box(
            keys.iter().map(|key| map.get(key).expect("all keys are there")).sum::<u64>(),
        );
    };
    cell.run(0, operation, |sum| *sum)
}

pub(super) fn map_iterate(cell: Cell) -> Reading {
    let map: HashMap<u64, u64> = work::pairs().collect();
    let operation = |sum: &mut u64| {
        *sum += black_box(black_box(&map).values().sum::<u64>());
    };
    cell.run(0, operation, |sum| *sum)
}

pub(super) fn queue_push_pop(cell: Cell) -> Reading {
    let operation = |(queue, sum): &mut (VecDeque<u64>, u64)| {
        for value in 0..OPERATIONS {
            queue.push_back(value);
        }
        *sum += black_box(iter::from_fn(|| queue.pop_front()).sum::<u64>());
    };
    let result = |(queue, sum): &mut (VecDeque<u64>, u64)| {
        queue.extend(0..OPERATIONS);
        *sum ^ work::in_order(iter::from_fn(|| queue.pop_front()))
    };
    cell.run((VecDeque::new(), 0), operation, result)
}

//! dashmap with the hasher that ancho's map has, room for all keys, and two threads that each insert
//! half of them.

use dashmap::DashMap;
use foldhash::fast::FixedState;

use super::work::{self, OPERATIONS};
use crate::harness::{Cell, Reading};

type Map = DashMap<u64, u64, FixedState>;

/// Number of shards. With the default, which is four times the number of threads, an operation
/// takes half as long again.
const SHARDS: usize = 256;

pub(super) fn map_insert_2t(cell: Cell) -> Reading {
    let make = || {
        let hasher = FixedState::default();
        (Map::with_capacity_and_hasher_and_shard_amount(OPERATIONS as usize, hasher, SHARDS), 0)
    };
    let operation = |(map, found): &mut (Map, u64)| {
        let shared = &*map;
        work::on_two_threads(|half| {
            for index in half {
                shared.insert(work::key(index), index);
            }
        });
        *found = *map.get(&work::read_back()).expect("all keys are there");
    };
    let result = |(map, found): &mut (Map, u64)| {
        *found ^ work::map_result(map.iter().map(|pair| (*pair.key(), *pair.value())))
    };
    cell.run_afresh(make, operation, result)
}

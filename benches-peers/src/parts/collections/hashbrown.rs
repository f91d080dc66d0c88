//! hashbrown's map with the hasher of ancho's map, so that only the maps differ.

use std::hint::black_box;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::work;
use crate::harness::{Cell, Reading};

type Map = HashMap<u64, u64, FixedState>;

pub(super) fn map_insert(cell: Cell) -> Reading {
    let operation = |map: &mut Map| {
        for (key, value) in work::pairs() {
            map.insert(key, value);
        }
    };
    let result = |map: &mut Map| work::map_result(map.iter().map(|(&key, &value)| (key, value)));
    cell.run_afresh(Map::default, operation, result)
}

pub(super) fn map_lookup(cell: Cell) -> Reading {
    let map: Map = filled();
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
    let map = filled();
    let operation = |sum: &mut u64| {
        *sum += black_box(black_box(&map).values().sum::<u64>());
    };
    cell.run(0, operation, |sum| *sum)
}

fn filled() -> Map {
    work::pairs().collect()
}

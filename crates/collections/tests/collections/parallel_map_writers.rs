//! Parallel writers of maps and sets: the same result on any number of threads.

use crate::common::model;

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ancho_collections::{
    Map, MapLane, MultiMap, MultiMapLane, NativeHashMap, NativeHashSet, NativeMultiHashMap,
};
use ancho_jobs::{ExecutionMode, JobPool, JobScheduler};
use model::{cases, time_is_up};
use proptest::prelude::*;

/// Runs with several numbers of workers and in several modes, and returns the common result.
fn the_same_everywhere<R: PartialEq + std::fmt::Debug>(run: impl Fn(&JobScheduler) -> R) -> R {
    let mut results = Vec::new();
    for workers in [0, 1, 2, 4] {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        for mode in [
            ExecutionMode::Parallel,
            ExecutionMode::Serial,
            ExecutionMode::Shuffle { seed: 1 },
            ExecutionMode::Shuffle { seed: 2 },
        ] {
            let jobs = JobScheduler::new(&pool);
            jobs.set_mode(mode);
            results.push(run(&jobs));
            assert_eq!(results[0], results[results.len() - 1], "{workers} workers, {mode:?}");
        }
    }
    results.swap_remove(0)
}

fn scattered(i: usize) -> u64 {
    (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

#[test]
fn maps_have_the_same_order_for_any_threads() {
    let pairs = the_same_everywhere(|jobs| {
        let mut map = NativeHashMap::with_capacity(5000);
        map.get_mut().unwrap().extend((0..100).map(|i| (scattered(i), usize::MAX)));
        for start in [0, 2000] {
            let job = jobs.schedule_for_each(&[], map.writer(), 2000, 16, move |map, i| {
                map.try_add(scattered(start + i), start + i);
            });
            jobs.complete(job.unwrap());
        }
        map.into_inner().unwrap().into_iter().collect::<Vec<_>>()
    });
    let mut serial = Map::with_capacity(5000);
    serial.extend((0..100).map(|i| (scattered(i), usize::MAX)));
    (0..4000).for_each(|i| _ = serial.try_add(scattered(i), i));
    assert_eq!(pairs, serial.into_iter().collect::<Vec<_>>());
}

#[test]
fn of_several_writers_of_a_key_the_lowest_batch_wins_and_in_it_the_first() {
    let first = the_same_everywhere(|jobs| {
        let mut map = NativeHashMap::with_capacity(20);
        map.get_mut().unwrap().add(3, (usize::MAX, "before")).unwrap();
        let job = jobs.schedule_for_each(&[], map.writer(), 1000, 8, |map, i| {
            map.try_add(i % 20, (i, "first"));
            map.try_add(i % 20, (i, "second"));
        });
        jobs.complete(job.unwrap());
        (0..20).map(|key| map.get().unwrap()[&key]).collect::<Vec<_>>()
    });
    for (key, value) in first.into_iter().enumerate() {
        assert_eq!(value, if key == 3 { (usize::MAX, "before") } else { (key, "first") });
    }
}

#[test]
fn a_full_map_keeps_the_first_pairs_and_overflows_the_others_in_order() {
    let (message, pairs, overflow) = the_same_everywhere(|jobs| {
        let mut map = NativeHashMap::with_capacity(14).named("squares");
        map.get_mut().unwrap().extend([(1000, 0), (1001, 0)]);
        let job = jobs.schedule_for_each(&[], map.writer(), 100, 3, |map, i| {
            map.try_add(i / 2, i);
            map.try_add(1000, i);
        });
        let failed = jobs.try_complete(job.unwrap()).unwrap_err();
        let map = map.get_mut().unwrap();
        let overflow = map.take_overflow();
        assert!(map.take_overflow().is_empty());
        let pairs = map.iter().map(|(key, value)| (*key, *value)).collect::<Vec<_>>();
        assert!(map.try_add(5000, 0), "the owner may let it grow");
        (failed.message().to_string(), pairs, overflow)
    });
    let (start, end) = message.split_once(" (NativeHashMap<usize, usize> made at ").unwrap();
    assert_eq!(start, "A0015: parallel writers wrote 50 new keys to `squares`");
    assert!(
        end.ends_with(
            "), which had room for 12 more; raise its capacity before the job is scheduled"
        ),
        "{end}"
    );
    let found: HashMap<_, _> = pairs.into_iter().collect();
    assert_eq!(found.len(), 14);
    assert!((0..12).all(|key| found[&key] == key * 2));
    assert_eq!(overflow, (12..50).map(|key| (key, key * 2)).collect::<Vec<_>>());
}

#[test]
fn room_of_removed_keys_is_reused() {
    let jobs = JobScheduler::new(&JobPool::builder().workers(1).build().unwrap());
    let mut map = NativeHashMap::<usize, usize>::with_capacity(448);
    // Full, including the tombstones of removed keys.
    map.get_mut().unwrap().extend((0..448).map(|i| (i, i)));
    map.get_mut().unwrap().retain(|key, _| key % 4 == 0);
    let job = jobs.schedule_for_each(&[], map.writer(), 336, 16, |map, i| map.try_add(1000 + i, i));
    jobs.complete(job.unwrap());
    let map = map.get().unwrap();
    assert_eq!((map.len(), map.capacity()), (448, 448));
    assert!((0..448).step_by(4).all(|key| map[&key] == key));
    assert!((0..336).all(|i| map[&(1000 + i)] == i));
}

#[test]
fn a_full_map_accepts_present_keys() {
    let jobs = JobScheduler::new(&JobPool::builder().workers(2).build().unwrap());
    let mut map: NativeHashMap<usize, usize> = (0..7).map(|i| (i, i)).collect();
    assert_eq!(map.get().unwrap().capacity(), 7);
    let job = jobs.schedule_for_each(&[], map.writer(), 70, 4, |map, i| map.try_add(i % 7, 99));
    jobs.complete(job.unwrap());
    assert!(map.get().unwrap().iter().all(|(key, value)| key == value));
}

#[test]
fn values_of_a_key_have_the_order_of_batches_and_calls() {
    let pairs = the_same_everywhere(|jobs| {
        let mut map = NativeMultiHashMap::with_capacity(3000);
        map.get_mut().unwrap().add(0, usize::MAX);
        let job = jobs.schedule_for_each(&[], map.writer(), 1000, 16, |map, i| {
            map.add(scattered(i) % 64, i);
            map.add(scattered(i) % 7, i + 1000);
        });
        jobs.complete(job.unwrap());
        map.get().unwrap().iter().map(|(key, value)| (*key, *value)).collect::<Vec<_>>()
    });
    let mut serial = MultiMap::with_capacity(3000);
    serial.add(0, usize::MAX);
    for i in 0..1000 {
        serial.add(scattered(i) % 64, i);
        serial.add(scattered(i) % 7, i + 1000);
    }
    assert_eq!(pairs, serial.iter().map(|(key, value)| (*key, *value)).collect::<Vec<_>>());
}

#[test]
fn a_full_multi_map_keeps_the_first_pairs_and_overflows_the_others_in_order() {
    let (message, values, overflow) = the_same_everywhere(|jobs| {
        let mut map = NativeMultiHashMap::with_capacity(10).named("cells");
        map.get_mut().unwrap().add(0, 99);
        let job = jobs.schedule_for_each(&[], map.writer(), 16, 2, |map, i| map.add(i % 2, i));
        let failed = jobs.try_complete(job.unwrap()).unwrap_err();
        let map = map.get_mut().unwrap();
        let overflow = map.take_overflow();
        let values = [0, 1].map(|key| map.values_for(&key).copied().collect::<Vec<_>>());
        overflow.iter().for_each(|&(key, value)| map.add(key, value));
        assert_eq!(map.len(), 17);
        (failed.message().to_string(), values, overflow)
    });
    assert!(
        message.starts_with("A0015: parallel writers wrote 16 values to `cells` ("),
        "{message}"
    );
    assert!(message.contains("), which had room for 9 more; "), "{message}");
    assert_eq!(values, [vec![99, 0, 2, 4, 6, 8], vec![1, 3, 5, 7]]);
    assert_eq!(overflow, (9..16).map(|i| (i % 2, i)).collect::<Vec<_>>());
}

#[test]
fn places_of_removed_values_are_used_before_the_others() {
    let values = the_same_everywhere(|jobs| {
        let mut map = NativeMultiHashMap::with_capacity(40);
        map.get_mut().unwrap().extend((0..20).map(|i| (i % 2, i)));
        map.get_mut().unwrap().remove(&0);
        let job =
            jobs.schedule_for_each(&[], map.writer(), 30, 4, |map, i| map.add(i % 3, 100 + i));
        jobs.complete(job.unwrap());
        let map = map.get().unwrap();
        assert_eq!((map.len(), map.capacity()), (40, 40));
        [0, 1, 2].map(|key| map.values_for(&key).copied().collect::<Vec<_>>())
    });
    let added = |key| (0..30).filter(move |i| i % 3 == key).map(|i| i + 100);
    let odd = (0..20).filter(|i| i % 2 == 1);
    assert_eq!(
        values,
        [added(0).collect(), odd.chain(added(1)).collect(), added(2).collect::<Vec<_>>()]
    );
}

#[test]
fn a_map_of_many_values_is_filled_and_cleared_frame_after_frame() {
    let jobs = JobScheduler::new(&JobPool::builder().workers(2).build().unwrap());
    let mut cells = NativeMultiHashMap::<u64, usize>::with_capacity(1000);
    for frame in 0..5 {
        cells.get_mut().unwrap().clear();
        let job = jobs.schedule_for_each(&[], cells.writer(), 1000, 32, move |cells, i| {
            cells.add(scattered(i + frame) % 100, i);
        });
        jobs.complete(job.unwrap());
        let cells = cells.get().unwrap();
        assert_eq!((cells.len(), cells.capacity()), (1000, 1000));
        for (key, value) in cells {
            assert_eq!(scattered(value + frame) % 100, *key);
        }
    }
}

#[test]
fn sets_have_the_same_order_for_any_threads() {
    let (values, overflow) = the_same_everywhere(|jobs| {
        let mut set = NativeHashSet::with_capacity(448).named("seen");
        let job = jobs.schedule_for_each(&[], set.writer(), 2000, 16, |set, i| set.add(i / 4));
        let failed = jobs.try_complete(job.unwrap()).unwrap_err();
        let message = failed.message();
        assert!(message.starts_with("A0015: parallel writers wrote 500 new values to `seen` ("));
        assert!(message.contains("room for 448 more"), "{message}");
        let set = set.get_mut().unwrap();
        (set.to_list().to_vec(), set.take_overflow())
    });
    assert_eq!((values.len(), values.iter().max()), (448, Some(&447)));
    assert_eq!(overflow, (448..500).collect::<Vec<_>>());
}

thread_local! {
    static IN_BATCH: Cell<bool> = const { Cell::new(false) };
}

/// A counted key that panics when it is compared or hashed while that is forbidden.
#[derive(Clone)]
struct Fragile {
    number: u32,
    panics: Arc<AtomicBool>,
}

impl PartialEq for Fragile {
    fn eq(&self, other: &Self) -> bool {
        if self.number == other.number && self.panics.load(Relaxed) {
            panic!("compared");
        }
        self.number == other.number
    }
}

impl Eq for Fragile {}

impl Hash for Fragile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.panics.load(Relaxed) && !IN_BATCH.get() {
            panic!("hashed");
        }
        self.number.hash(state);
    }
}

#[test]
fn a_key_that_panics_while_settling_fails_the_job_and_leaves_the_map_consistent() {
    for workers in [0, 2] {
        let jobs = JobScheduler::new(&JobPool::builder().workers(workers).build().unwrap());
        let panics = Arc::new(AtomicBool::new(false));
        let mut map = NativeHashMap::with_capacity(100);
        let mut many = NativeMultiHashMap::with_capacity(100);
        let write = {
            let panics = Arc::clone(&panics);
            move |number: u32| {
                IN_BATCH.set(true);
                Fragile { number, panics: Arc::clone(&panics) }
            }
        };
        panics.store(true, Relaxed);
        // The keys 0 to 9 come twice, so the second 0 is compared with the first.
        let keys = write.clone();
        let tokens = (map.writer(), many.writer());
        let job = jobs.schedule_for_each(&[], tokens, 20, 4, move |(map, many), i| {
            map.try_add(keys(i as u32 % 10), i);
            many.add(keys(i as u32 % 10), i);
            IN_BATCH.set(false);
        });
        let failed = jobs.try_complete(job.unwrap()).unwrap_err();
        assert_eq!(failed.message(), "compared");
        panics.store(false, Relaxed);

        // The pairs added before are in the map, and the others are dropped, with their keys.
        assert_eq!((map.get().unwrap().len(), many.get().unwrap().len()), (10, 10));
        assert!(map.get_mut().unwrap().take_overflow().is_empty());
        assert_eq!(Arc::strong_count(&panics), 22, "the keys, this one, and that of the closure");
        let job = jobs.schedule_for_each(&[], (map.writer(), many.writer()), 20, 4, {
            move |(map, many), i| {
                map.try_add(write(i as u32), i + 100);
                many.add(write(i as u32), i + 100);
                IN_BATCH.set(false);
            }
        });
        jobs.complete(job.unwrap());
        let mut values = map.get().unwrap().values().copied().collect::<Vec<_>>();
        values.sort_unstable();
        assert!(values.into_iter().eq((0..10).chain(110..120)));
        assert_eq!(many.get().unwrap().len(), 30);
    }
}

#[test]
fn a_panic_of_the_hash_while_settling_loses_no_key_that_was_there() {
    let jobs = JobScheduler::new(&JobPool::builder().workers(1).build().unwrap());
    let panics = Arc::new(AtomicBool::new(false));
    let key = {
        let panics = Arc::clone(&panics);
        move |number| Fragile { number, panics: Arc::clone(&panics) }
    };
    let mut map = NativeHashMap::with_capacity(448);
    map.get_mut().unwrap().extend((0..448).map(|i| (key(i), i)));
    map.get_mut().unwrap().retain(|key, _| key.number % 4 == 0);
    panics.store(true, Relaxed);
    let write = key.clone();
    // The tombstones of the removed keys have to be removed, for which all keys are hashed again.
    let job = jobs.schedule_for_each(&[], map.writer(), 336, 16, move |map, i| {
        IN_BATCH.set(true);
        map.try_add(write(1000 + i as u32), 0);
        IN_BATCH.set(false);
    });
    assert_eq!(jobs.try_complete(job.unwrap()).unwrap_err().message(), "hashed");
    panics.store(false, Relaxed);
    let map = map.get().unwrap();
    assert!((0..448).step_by(4).all(|number| map[&key(number)] == number));
    assert_eq!(map.len(), map.iter().count());
}

#[test]
fn a_batch_that_panics_loses_its_remaining_writes() {
    let jobs = JobScheduler::new(&JobPool::builder().workers(2).build().unwrap());
    let mut map = NativeHashMap::with_capacity(100);
    let job = jobs.schedule_for_each(&[], map.writer(), 100, 10, |map, i| {
        assert_ne!(i, 55, "on purpose");
        map.try_add(i, i);
    });
    assert!(jobs.try_complete(job.unwrap()).is_err());
    let map = map.get().unwrap();
    assert!(map.contains_key(&54) && !map.contains_key(&55));
}

/// The keys that each index of a job writes, with many duplicates.
fn writes() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(0_u8..60, 0..4), 0..120)
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn parallel_writers_give_the_result_of_one_writer(
        writes in writes(),
        before in prop::collection::vec(0_u8..60, 0..20),
        removed in prop::collection::vec(0_u8..60, 0..10),
        capacity in 0_usize..60,
        batch in 1_usize..20,
        seed in any::<u64>(),
    ) {
        if time_is_up() {
            return Ok(());
        }
        let writes = Arc::new(writes);
        let pool = JobPool::builder().workers(2).build().unwrap();
        for mode in [ExecutionMode::Parallel, ExecutionMode::Shuffle { seed }] {
            let jobs = JobScheduler::new(&pool);
            jobs.set_mode(mode);
            let mut map = NativeHashMap::<u8, usize>::with_capacity(capacity);
            let mut many = NativeMultiHashMap::<u8, usize>::with_capacity(capacity);
            map.get_mut().unwrap().extend(before.iter().map(|key| (*key, usize::MAX)));
            many.get_mut().unwrap().extend(before.iter().map(|key| (*key, usize::MAX)));
            for key in &removed {
                map.get_mut().unwrap().remove(key);
                many.get_mut().unwrap().remove(key);
            }
            let mut model = map.get().unwrap().clone();
            let mut many_model = many.get().unwrap().clone();
            let room = (map.get().unwrap().capacity(), many.get().unwrap().capacity());

            let tokens = (map.writer(), many.writer());
            let script = Arc::clone(&writes);
            type Lanes<'b> = (&'b mut MapLane<u8, usize>, &'b mut MultiMapLane<u8, usize>);
            let write = move |(map, many): Lanes<'_>, i: usize| {
                for &key in &script[i] {
                    map.try_add(key, i);
                    many.add(key, i);
                }
            };
            let job = jobs.schedule_for_each(&[], tokens, writes.len(), batch, write);
            let done = jobs.try_complete(job.unwrap());

            let mut overflow = Vec::<(u8, usize)>::new();
            let mut many_overflow = Vec::new();
            for (i, keys) in writes.iter().enumerate() {
                for &key in keys {
                    let late = overflow.iter().any(|(other, _)| *other == key);
                    if model.contains_key(&key) || late {
                        // An earlier writer added the key.
                    } else if model.len() < room.0 {
                        model.insert(key, i);
                    } else {
                        overflow.push((key, i));
                    }
                    if many_model.len() < room.1 {
                        many_model.add(key, i);
                    } else {
                        many_overflow.push((key, i));
                    }
                }
            }
            prop_assert_eq!(done.is_ok(), overflow.is_empty() && many_overflow.is_empty());
            let (map, many) = (map.get_mut().unwrap(), many.get_mut().unwrap());
            prop_assert_eq!(&*map, &model);
            prop_assert_eq!(&*many, &many_model);
            prop_assert_eq!((map.capacity(), many.capacity()), room);
            prop_assert_eq!(map.take_overflow(), overflow);
            prop_assert_eq!(many.take_overflow(), many_overflow);
        }
    }
}

//! Parallel jobs over the keys of a multi-map.

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ancho_collections::{MultiMap, NativeArray, NativeList, NativeMultiHashMap};
use common::{Counted, Drops, schedulers};

fn filled(keys: usize, values: usize) -> NativeMultiHashMap<usize, usize> {
    let mut map = NativeMultiHashMap::new();
    map.get_mut().unwrap().extend((0..values).map(|i| (i * 7 % keys.max(1), i)));
    map
}

#[test]
fn each_key_is_visited_once_with_all_its_values() {
    for (mode, jobs) in schedulers() {
        for (keys, values) in [(1, 0), (1, 1), (3, 100), (500, 3000), (1000, 1000)] {
            let map = filled(keys, values);
            let mut seen = NativeList::with_capacity(keys);
            let job = jobs.named("Visit");
            let job =
                map.schedule_for_each_key(job, &[], seen.writer(), 16, |key, values, seen| {
                    seen.push((*key, values.copied().collect::<Vec<_>>()));
                });
            jobs.complete(job.unwrap());
            let mut expected = BTreeMap::<usize, Vec<usize>>::new();
            for i in 0..values {
                expected.entry(i * 7 % keys).or_default().push(i);
            }
            let mut seen = seen.get().unwrap().to_vec();
            // The order is that of the keys of the map, for any number of threads.
            assert!(seen.iter().map(|(key, _)| key).eq(map.get().unwrap().keys()), "{mode}");
            seen.sort();
            assert!(seen.into_iter().eq(expected), "{mode}, {keys} keys");
        }
    }
}

#[test]
fn batches_change_the_values_of_their_keys() {
    for (mode, jobs) in schedulers() {
        let mut map = filled(200, 5000);
        let factors: NativeArray<usize> = NativeArray::from((0..200).collect::<Vec<_>>());
        for _ in 0..3 {
            let job = map.schedule_for_each_key_mut(
                jobs.named("Change"),
                &[],
                factors.read(),
                8,
                |key, values, factors| values.for_each(|value| *value += factors[*key]),
            );
            jobs.complete(job.unwrap());
        }
        let map = map.get().unwrap();
        assert_eq!(map.len(), 5000, "{mode}");
        for key in 0..200 {
            let expected = (0..5000).filter(|i| i * 7 % 200 == key).map(|i| i + 3 * key);
            assert!(map.values_for(&key).copied().eq(expected), "{mode}, key {key}");
        }
    }
}

#[test]
fn the_keys_are_those_that_earlier_jobs_have_left() {
    for (mode, jobs) in schedulers() {
        let mut map = NativeMultiHashMap::new();
        // The table grows while the second job is scheduled already.
        let fill = jobs.schedule(&[], map.write(), |map: &mut MultiMap<usize, usize>| {
            map.extend((0..4000).map(|i| (i % 1000, 1)));
        });
        let fill = fill.unwrap();
        let double = map.schedule_for_each_key_mut(
            jobs.named("Double"),
            &[fill],
            (),
            32,
            |key, values, ()| {
                values.for_each(|value| *value += *key);
            },
        );
        let double = double.unwrap();
        let (visits, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counted, summed) = (visits.clone(), seen.clone());
        let sum = map.schedule_for_each_key(
            jobs.named("Sum"),
            &[double],
            (),
            32,
            move |_, values, ()| {
                counted.fetch_add(1, Relaxed);
                summed.fetch_add(values.sum::<usize>(), Relaxed);
            },
        );
        jobs.complete(sum.unwrap());
        assert_eq!(
            (visits.load(Relaxed), seen.load(Relaxed)),
            (1000, 4 * (499_500 + 1000)),
            "{mode}"
        );
    }
}

#[test]
fn jobs_that_conflict_are_refused() {
    let jobs = common::scheduler(1);
    let mut map = filled(10, 100).named("cells");
    let read = map.schedule_for_each_key(jobs.named("Read"), &[], (), 4, |_, _, ()| {}).unwrap();
    let again = map.schedule_for_each_key(jobs.named("Again"), &[], (), 4, |_, _, ()| {}).unwrap();
    let refused = map.schedule_for_each_key_mut(jobs.named("Write"), &[], (), 4, |_, _, ()| {});
    let message = refused.unwrap_err().to_string();
    assert!(message.starts_with("A0001: ") && message.contains("`cells`"), "{message}");
    let write =
        map.schedule_for_each_key_mut(jobs.named("Write"), &[read, again], (), 4, |_, _, ()| {});
    let write = write.unwrap();
    assert!(map.get().unwrap_err().to_string().starts_with("A0003: "));
    let refused = map.schedule_for_each_key(jobs.named("Late"), &[], (), 4, |_, _, ()| {});
    assert!(refused.unwrap_err().to_string().starts_with("A0001: "));
    let refused = map.schedule_for_each_key(jobs.named("None"), &[write], (), 0, |_, _, ()| {});
    assert!(refused.unwrap_err().to_string().starts_with("A0007: "));
    jobs.complete(write);
    assert_eq!(map.get().unwrap().len(), 100);
}

#[test]
fn a_panic_fails_the_job_and_keeps_the_values() {
    for (mode, jobs) in schedulers() {
        let counts = Drops::default();
        let mut map: NativeMultiHashMap<usize, Counted> = NativeMultiHashMap::new();
        let pairs = (0..300).map(|i| (i % 30, counts.value(i)));
        map.get_mut().unwrap().extend(pairs);
        let job =
            map.schedule_for_each_key_mut(jobs.named("Fail"), &[], (), 4, |key, values, ()| {
                let first = values.into_iter().next();
                assert!(*key != 13, "not this key, {}", first.is_some());
            });
        let error = jobs.try_complete(job.unwrap()).unwrap_err().to_string();
        assert!(error.contains("not this key, true"), "{mode}: {error}");
        assert_eq!((map.get().unwrap().len(), counts.alive()), (300, 300), "{mode}");
        drop(map);
        assert_eq!(counts.alive(), 0, "{mode}");
    }
}

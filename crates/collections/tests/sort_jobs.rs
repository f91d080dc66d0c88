//! Sorting with all threads (N12).

#[path = "common/model.rs"]
mod model;

use ancho_collections::{NativeArray, NativeList, SharedValues};
use ancho_jobs::{ExecutionMode, JobPool, JobScheduler};
use model::cases;
use proptest::prelude::*;

const WORKERS: [usize; 4] = [0, 1, 2, 4];

fn scheduler(workers: usize) -> JobScheduler {
    JobScheduler::new(&JobPool::builder().workers(workers).build().unwrap())
}

/// Numbers without a pattern, the same on every run.
fn numbers(length: usize, below: u64) -> Vec<(u64, u32)> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let numbers = (0..length as u32).map(|index| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 33) % below, index)
    });
    numbers.collect()
}

#[test]
fn arrays_of_any_length_are_sorted_as_a_stable_sort_does() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        for length in [0, 1, 2, 3, 4095, 4096, 4097, 16_384, 16_385, 50_000, 100_003] {
            for below in [1, 10, u64::MAX >> 33] {
                let mut expected = numbers(length, below);
                let mut array = NativeArray::from(expected.clone());
                expected.sort_by_key(|&(number, _)| number);
                let by_number = |one: &(u64, u32), two: &(u64, u32)| one.0.cmp(&two.0);
                jobs.complete(array.sort_job_by(&jobs, &[], by_number).unwrap());
                assert!(array.get().unwrap() == expected, "{length} numbers, {workers} workers");
            }
        }
    }
}

#[test]
fn shuffled_batches_sort_the_same() {
    let expected = {
        let mut expected = numbers(60_000, 50);
        expected.sort_by_key(|&(number, _)| number);
        expected
    };
    for seed in 0..10 {
        let jobs = scheduler(2);
        jobs.set_mode(ExecutionMode::Shuffle { seed });
        let mut list = NativeList::from_iter(numbers(60_000, 50));
        let by_number = |one: &(u64, u32), two: &(u64, u32)| one.0.cmp(&two.0);
        jobs.complete(list.sort_job_by(&jobs, &[], by_number).unwrap());
        assert!(list.get().unwrap()[..] == expected, "seed {seed}");
    }
}

#[test]
fn a_list_is_sorted_after_the_job_that_fills_it() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut list = NativeList::new();
        let fill = jobs.schedule(&[], list.write(), |list| list.extend((0..20_000_u32).rev()));
        let sorted = list.sort_job(&jobs, &[fill.unwrap()]).unwrap();
        assert!(list.get().is_err());
        jobs.complete(sorted);
        assert!(list.get().unwrap().iter().copied().eq(0..20_000));
    }
}

#[test]
fn sorting_must_be_ordered_after_a_job_that_writes_the_array() {
    let jobs = scheduler(1);
    let mut array = NativeArray::<u32>::new(10_000);
    let fill = jobs.named("Fill").schedule(&[], array.write(), |all| all.fill(1)).unwrap();
    let refused = array.sort_job(&jobs, &[]).unwrap_err().to_string();
    assert!(refused.starts_with("A0001: job `SortRuns` writes the NativeArray<u32>"), "{refused}");
    jobs.complete(array.sort_job(&jobs, &[fill]).unwrap());
}

#[test]
fn an_order_that_panics_fails_the_job_and_leaves_the_array_usable() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut array = NativeArray::from_fn(20_000, |i| (i * 7) % 20_000);
        let order = |one: &usize, two: &usize| {
            assert!(*one != 777, "no sevens");
            one.cmp(two)
        };
        let sorted = array.sort_job_by(&jobs, &[], order).unwrap();
        assert!(jobs.try_complete(sorted).unwrap_err().to_string().contains("no sevens"));
        assert_eq!(array.get().unwrap().len(), 20_000);
        jobs.complete(array.sort_job(&jobs, &[]).unwrap());
    }
}

#[test]
fn an_order_that_contradicts_itself_gives_some_order_or_a_failed_job() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut array = NativeArray::from_fn(30_000, |i| i);
        let order = |one: &usize, two: &usize| (one ^ 3).wrapping_mul(*two).cmp(&(two ^ 5));
        let sorted = array.sort_job_by(&jobs, &[], order).unwrap();
        _ = jobs.try_complete(sorted);
        assert!(array.get().unwrap().iter().all(|&number| number < 30_000));
    }
}

#[test]
fn shared_values_are_counted_and_found() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut shared = SharedValues::new();
        for (length, below) in [(0, 1), (1, 1), (10_000, 1), (10_000, 7), (10_000, u64::MAX >> 33)]
        {
            let values: Vec<u64> =
                numbers(length, below).iter().map(|&(number, _)| number).collect();
            let array = NativeArray::from(values.clone());
            jobs.complete(shared.schedule(&jobs, &[], &array).unwrap());
            let groups = shared.groups().unwrap();
            let mut distinct = values.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(groups.values(), distinct);
            let listed: usize = (0..distinct.len()).map(|value| groups.indices(value).len()).sum();
            assert_eq!(listed, length);
            for (index, value) in values.iter().enumerate() {
                let number = groups.value_index(index);
                assert_eq!(groups.values()[number], *value);
                assert!(groups.indices(number).binary_search(&(index as u32)).is_ok());
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn any_numbers_are_sorted(mut numbers in prop::collection::vec(0_u16..500, 0..30_000)) {
        let jobs = scheduler(2);
        let mut list = NativeList::from_iter(numbers.iter().copied());
        jobs.complete(list.sort_job(&jobs, &[]).unwrap());
        numbers.sort_unstable();
        prop_assert!(list.get().unwrap()[..] == numbers);
    }
}

//! Parallel sorting.

use crate::common::model;

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ancho_collections::{NativeArray, NativeList, SharedValues};
use ancho_jobs::{ExecutionMode, JobPool, JobScheduler};
use model::{cases, time_is_up};
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
fn an_inconsistent_order_has_some_result_or_fails_the_job() {
    type Order = fn(&usize, &usize) -> Ordering;
    let orders: [Order; 3] = [
        |one, two| (one ^ 3).wrapping_mul(*two).cmp(&(two ^ 5)),
        // Inconsistent, as comparisons with NaN are.
        |one, two| if (one ^ two) % 7 == 0 { Ordering::Equal } else { one.cmp(two) },
        // A cyclic order.
        |one, two| (one % 3).cmp(&((two + 1) % 3)),
    ];
    for (workers, order) in
        WORKERS.into_iter().flat_map(|workers| orders.map(|order| (workers, order)))
    {
        let jobs = scheduler(workers);
        let mut array = NativeArray::from_fn(30_000, |i| i * 7919 % 30_000);
        let sorted = array.sort_job_by(&jobs, &[], order).unwrap();
        if let Err(failed) = jobs.try_complete(sorted) {
            let is_told = ["A0148: the order", "total order"]
                .iter()
                .any(|part| failed.message().contains(part));
            assert!(is_told, "{failed}");
        }
        let mut elements = array.get().unwrap().to_vec();
        elements.sort_unstable();
        assert!(elements.into_iter().eq(0..30_000));
    }
}

/// Sorted runs, merged by an order in which each may be before the other.
#[test]
fn an_inconsistent_order_is_reported() {
    let jobs = scheduler(2);
    let mut array = NativeArray::from_fn(30_000, |i| i);
    let order = |one: &usize, two: &usize| {
        // The runs are 7,500 numbers long.
        if one / 7500 == two / 7500 { one.cmp(two) } else { (one % 100).cmp(&(two % 99)) }
    };
    let sorted = array.sort_job_by(&jobs, &[], order).unwrap();
    assert_eq!(
        jobs.try_complete(sorted).unwrap_err().to_string(),
        "A0011: job `Sort` did not run, because job `Merge` panicked: A0148: the order of a sort contradicts itself, \
         so that merged runs would lose elements; compare by a total order, for floats by `total_cmp`"
    );
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
        if time_is_up() {
            return Ok(());
        }
        let jobs = scheduler(2);
        let mut list = NativeList::from_iter(numbers.iter().copied());
        jobs.complete(list.sort_job(&jobs, &[]).unwrap());
        numbers.sort_unstable();
        prop_assert!(list.get().unwrap()[..] == numbers);
    }
}

/// The panic may happen while runs are sorted, merged into other memory, or merged back.
#[test]
fn an_order_that_panics_doubles_and_loses_no_element() {
    let mut expected = numbers(17_000, 1000);
    expected.sort_unstable();
    // Panics at the comparison with a number. Returns the number of comparisons.
    let sort = |jobs: &JobScheduler, panic_at: usize| {
        let mut array = NativeArray::from(numbers(17_000, 1000));
        let count = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&count);
        let sorted = array.sort_job_by(jobs, &[], move |one, two| {
            assert_ne!(counts.fetch_add(1, Relaxed), panic_at, "no order");
            one.cmp(two)
        });
        let done = jobs.try_complete(sorted.unwrap());
        assert_eq!(done.is_err(), panic_at < count.load(Relaxed));
        if let Err(failed) = done {
            assert!(failed.message().contains("no order"));
        }
        let mut elements = array.get().unwrap().to_vec();
        elements.sort_unstable();
        assert!(elements == expected, "a panic at comparison {panic_at}");
        count.load(Relaxed)
    };
    // Sixteen runs, which are merged four times.
    for workers in [0, 5] {
        let jobs = scheduler(workers);
        let all = sort(&jobs, usize::MAX);
        (1..24).for_each(|part| _ = sort(&jobs, all / 24 * part));
        assert!(sort(&jobs, usize::MAX) > 0, "sorting works as before");
    }
}

/// A value whose comparison panics after five calls.
#[derive(Clone, Copy, Debug, Eq, PartialOrd, Ord)]
struct Tired(u32);

static QUESTIONS: AtomicUsize = AtomicUsize::new(0);

impl PartialEq for Tired {
    fn eq(&self, other: &Self) -> bool {
        assert!(QUESTIONS.fetch_add(1, Relaxed) < 5, "tired");
        self.0 == other.0
    }
}

#[test]
fn values_that_panic_when_compared_share_nothing() {
    let jobs = scheduler(0);
    let teams = NativeArray::from([7, 3, 7, 7, 3, 1].map(Tired));
    let mut shared = SharedValues::new();
    jobs.complete(shared.schedule(&jobs, &[], &teams).unwrap());
    assert_eq!(shared.groups().unwrap().indices(1), [1, 4]);
    // Five comparisons were made.
    let found = shared.schedule(&jobs, &[], &teams).unwrap();
    assert!(jobs.try_complete(found).is_err());
    assert!(shared.groups().unwrap().values().is_empty());
    QUESTIONS.store(3, Relaxed);
    let found = shared.schedule(&jobs, &[], &teams).unwrap();
    assert!(jobs.try_complete(found).is_err());
    assert!(shared.groups().unwrap().values().is_empty());
    QUESTIONS.store(0, Relaxed);
    jobs.complete(shared.schedule(&jobs, &[], &teams).unwrap());
    assert_eq!(shared.groups().unwrap().indices(2), [0, 2, 3]);
}

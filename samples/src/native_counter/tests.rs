//! Tests of both counters: one list, instantiated for each.

use super::*;
use crate::gallery::tests::{go_on, hash, options, run};

/// The list of tests. The numbers match the tests of Unity's counters.
macro_rules! tests_of {
    ($module:ident, $counter:ty) => {
        mod $module {
            use ancho::collections::Native;
            use ancho::jobs::{AccessError, JobPool, JobScheduler};

            use super::{Count, Increment};

            const WORKERS: [usize; 4] = [0, 1, 2, 4];

            fn counter() -> Native<$counter> {
                Native::of(Default::default())
            }

            fn scheduler(workers: usize) -> JobScheduler {
                JobScheduler::new(&JobPool::builder().workers(workers).build().unwrap())
            }

            /// Increments once for every other of `count` indices.
            fn count_half(jobs: &JobScheduler, counter: &mut Native<$counter>, count: usize) {
                let job = jobs.schedule_for_each(&[], counter.writer(), count, 64, |counter, i| {
                    if i % 2 == 0 {
                        counter.increment();
                    }
                });
                jobs.complete(job.unwrap());
            }

            #[test]
            fn a_count_is_what_it_was_set_to() {
                let mut counter = counter();
                assert_eq!(counter.get().unwrap().count(), 0);
                counter.get_mut().unwrap().set_count(42);
                assert_eq!(counter.get().unwrap().count(), 42);
                counter.get_mut().unwrap().set_count(3);
                assert_eq!(counter.get().unwrap().count(), 3);
            }

            #[test]
            fn the_owner_counts_up() {
                let mut counter = counter();
                counter.get_mut().unwrap().increment();
                assert_eq!(counter.get().unwrap().count(), 1);
                counter.get_mut().unwrap().increment();
                counter.get_mut().unwrap().increment();
                assert_eq!(counter.get().unwrap().count(), 3);
            }

            #[test]
            fn a_writer_counts_up() {
                let (jobs, mut counter) = (scheduler(1), counter());
                let job = jobs.schedule(&[], counter.writer(), |counter| {
                    counter.increment();
                    counter.increment();
                });
                jobs.complete(job.unwrap());
                assert_eq!(counter.get().unwrap().count(), 2);
            }

            #[test]
            fn counting_goes_on_from_what_was_set() {
                let mut counter = counter();
                counter.get_mut().unwrap().set_count(40);
                counter.get_mut().unwrap().increment();
                counter.get_mut().unwrap().increment();
                assert_eq!(counter.get().unwrap().count(), 42);
            }

            #[test]
            fn a_writer_goes_on_from_what_was_set() {
                let (jobs, mut counter) = (scheduler(1), counter());
                counter.get_mut().unwrap().set_count(41);
                let job = jobs.schedule(&[], counter.writer(), |counter| counter.increment());
                jobs.complete(job.unwrap());
                assert_eq!(counter.get().unwrap().count(), 42);
            }

            #[test]
            fn no_count_of_a_million_is_lost() {
                for workers in WORKERS {
                    let (jobs, mut counter) = (scheduler(workers), counter());
                    count_half(&jobs, &mut counter, 1_000_000);
                    assert_eq!(counter.get().unwrap().count(), 500_000);
                }
            }

            #[test]
            fn all_threads_go_on_from_what_was_set() {
                for workers in WORKERS {
                    let (jobs, mut counter) = (scheduler(workers), counter());
                    counter.get_mut().unwrap().set_count(42);
                    count_half(&jobs, &mut counter, 1000);
                    assert_eq!(counter.get().unwrap().count(), 542);
                    counter.get_mut().unwrap().set_count(7);
                    assert_eq!(counter.get().unwrap().count(), 7, "the parts were set to zero");
                }
            }

            #[test]
            fn nobody_reads_while_writers_count() {
                let (jobs, mut counter) = (scheduler(2), counter());
                let count = jobs.schedule(&[], counter.writer(), |counter| counter.increment());
                assert!(matches!(counter.get(), Err(AccessError::InUse { .. })));
                assert!(jobs.schedule(&[], counter.read(), |_| {}).is_err());
                jobs.complete(count.unwrap());
                assert_eq!(counter.get().unwrap().count(), 1);
            }
        }
    };
}

tests_of!(one_number, super::super::Counter);
tests_of!(a_number_for_each_thread, super::super::PerThreadCounter);

fn zeros(world: &World) -> i64 {
    world.query::<&Digit>().iter().filter(|digit| digit.value == 0).count() as i64
}

#[test]
fn both_count_as_many_zeros_as_there_are_in_every_frame() {
    let mut world = run(&SAMPLE, &options(1_000), 0);
    let mut counts = std::collections::BTreeSet::new();
    for _ in 0..20 {
        go_on(&mut world, 1);
        let tally = *world.singleton::<Tally>().unwrap();
        assert_eq!(tally.by_one_thread, zeros(&world));
        assert_eq!(tally.by_one_number, zeros(&world));
        assert_eq!(tally.by_a_number_for_each_thread, zeros(&world));
        // Roughly a tenth.
        assert!((50..150).contains(&tally.by_one_number), "{tally:?}");
        counts.insert(tally.by_one_number);
    }
    assert!(counts.len() > 5, "the numbers are not the same in each frame: {counts:?}");
}

#[test]
fn the_state_is_the_same_in_all_cases() {
    hash(&SAMPLE, 3_000, 20);
}

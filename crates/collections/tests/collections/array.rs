//! Arrays of fixed length: construction, borrowing and freeing.

use crate::common;

use std::thread;

use ancho_collections::{Allocator, NativeArray, NativeList};
use ancho_jobs::{AccessError, Kept, ScheduleError};
use common::source::limited;
use common::{
    Counted, Door, Drops, WORKERS, assert_refused, eventually, forget, numbers, panic_message,
    scheduler,
};

#[test]
fn an_array_is_filled_with_defaults_copies_or_results_of_a_function() {
    assert_eq!(NativeArray::<u32>::new(3).get().unwrap(), [0, 0, 0]);
    assert_eq!(NativeArray::<String>::new(2).get().unwrap(), ["", ""]);
    assert_eq!(NativeArray::filled(2, "x".to_owned()).get().unwrap(), ["x", "x"]);
    assert_eq!(NativeArray::from(vec![3, 1, 2]).get().unwrap(), [3, 1, 2]);
    let mut asked = Vec::new();
    let array = NativeArray::from_fn(4, |i| {
        asked.push(i);
        i * i
    });
    assert_eq!((array.get().unwrap(), asked), (&[0, 1, 4, 9][..], vec![0, 1, 2, 3]));
    let persistent = &Allocator::PERSISTENT;
    assert_eq!(NativeArray::<u8>::new_in(2, persistent).get().unwrap(), [0, 0]);
    assert_eq!(NativeArray::from_slice_in(&["a"], persistent).get().unwrap(), ["a"]);
    assert_eq!(NativeArray::from_fn_in(2, |i| i, persistent).get().unwrap(), [0, 1]);
}

#[test]
fn zeros_are_zeros_also_in_memory_that_was_used_before() {
    let (custom, ledger) = limited(1 << 20);
    for allocator in [Allocator::PERSISTENT, custom] {
        for length in [0, 1, 100, 10_000] {
            drop(NativeArray::from_fn_in(length, |_| u64::MAX, &allocator));
            let zeros = NativeArray::<u64>::zeroed_in(length, &allocator);
            assert_eq!(zeros.len(), length);
            assert!(zeros.get().unwrap().iter().all(|zero| *zero == 0));
        }
    }
    assert_eq!(ledger.out(), 0);
}

#[test]
fn a_length_never_changes_and_is_known_while_jobs_run() {
    let jobs = scheduler(1);
    let mut array = NativeArray::<u32>::new(5);
    let job = jobs.schedule(&[], array.write(), |all| assert_eq!(all.len(), 5)).unwrap();
    assert_eq!((array.len(), array.is_empty()), (5, false));
    jobs.complete(job);
    array.get_mut().unwrap()[4] = 7;
    assert_eq!(array.get().unwrap(), [0, 0, 0, 0, 7]);
    panic_message(|| array.get().unwrap()[5]);
}

#[test]
fn elements_begin_at_a_line_or_at_the_alignment_of_their_type() {
    #[derive(Clone, Copy, Default)]
    #[repr(align(128))]
    struct Wide(u8);

    let place = |array: &NativeArray<u8>| array.get().unwrap().as_ptr().addr();
    let many: Vec<_> = (1..100).map(NativeArray::<u8>::new).collect();
    assert!(many.iter().all(|array| place(array).is_multiple_of(64)));
    let (custom, ledger) = limited(1 << 20);
    for allocator in [&Allocator::PERSISTENT, &custom] {
        let many: Vec<_> = (1..20).map(|n| NativeArray::<Wide>::new_in(n, allocator)).collect();
        for array in many {
            assert!(array.get().unwrap().as_ptr().addr().is_multiple_of(128));
            assert!(array.get().unwrap().iter().all(|wide| wide.0 == 0));
            let vec = array.into_vec().unwrap();
            assert!(vec.as_ptr().addr().is_multiple_of(128));
        }
    }
    assert_eq!(ledger.out(), 0);
}

#[test]
fn an_array_of_no_elements_and_one_of_elements_without_a_size_take_no_memory() {
    let (allocator, ledger) = limited(0);
    let jobs = scheduler(1);
    let mut empty = NativeArray::<u64>::new_in(0, &allocator);
    let mut units = NativeArray::<()>::new_in(1000, &allocator);
    assert!(empty.get().unwrap().is_empty() && empty.is_empty());
    let data = (empty.write(), units.write());
    let job = jobs.schedule(&[], data, |(empty, units)| {
        assert_eq!((empty.len(), units.len()), (0, 1000));
    });
    jobs.complete(job.unwrap());
    let job = jobs.schedule_for_each(&[], units.write(), 1000, 7, |(), _| {}).unwrap();
    jobs.complete(job);
    assert_eq!(ledger.calls(), 0);
    assert_eq!((empty.into_vec().unwrap().len(), units.into_vec().unwrap().len()), (0, 1000));
    let most = NativeArray::<()>::zeroed_in(usize::MAX, &allocator);
    assert_eq!(most.get().unwrap().len(), usize::MAX);
}

#[test]
fn an_array_without_memory_is_refused() {
    for length in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8, 1 << 60] {
        assert_refused("A0017", || NativeArray::<u64>::new(length));
        assert_refused("A0017", || NativeArray::filled(length, 1_u64));
        assert_refused("A0017", || NativeArray::from_fn(length, |i| i));
        assert_refused("A0017", || NativeArray::<u64>::zeroed_in(length, &Allocator::PERSISTENT));
    }
    let (allocator, ledger) = limited(100);
    let drops = Drops::default();
    let message = panic_message(|| NativeArray::from_fn_in(100, |i| drops.value(i), &allocator));
    assert!(message.starts_with("A0017: the allocator `Limited` has no room for 100 elements"));
    assert_refused("A0017", || NativeArray::<u8>::new_in(101, &allocator));
    assert_refused("A0017", || NativeArray::from_slice_in(&[1_u64; 100], &allocator));
    assert_eq!((ledger.out(), drops.alive()), (0, 0));
    assert_eq!(NativeArray::<u8>::new_in(100, &allocator).len(), 100);
}

#[test]
fn elements_made_before_a_panic_are_dropped_once() {
    let (allocator, ledger) = limited(1 << 20);
    for allocator in [Allocator::PERSISTENT, allocator] {
        for at in [0, 1, 5, 9] {
            let drops = Drops::default();
            let half_way = |i| {
                assert!(i != at, "half way");
                drops.value(i)
            };
            let message = panic_message(|| NativeArray::from_fn_in(10, half_way, &allocator));
            assert_eq!((message.as_str(), drops.count(), drops.alive()), ("half way", at, 0));
        }
    }
    assert_eq!(ledger.out(), 0);
}

#[test]
fn a_copy_that_panics_loses_nothing() {
    struct Fragile(Counted);

    impl Clone for Fragile {
        fn clone(&self) -> Self {
            assert!(self.0.number != 3, "cannot be copied");
            Self(self.0.clone())
        }
    }

    let (allocator, ledger) = limited(1 << 20);
    let drops = Drops::default();
    let values: Vec<_> = (0..5).map(|number| Fragile(drops.value(number))).collect();
    let message = panic_message(|| NativeArray::from_slice_in(&values, &allocator));
    assert_eq!((message.as_str(), drops.alive(), ledger.out()), ("cannot be copied", 5, 0));
    assert_eq!(
        panic_message(|| NativeArray::filled(5, Fragile(drops.value(3)))),
        "cannot be copied"
    );
    assert_eq!(drops.alive(), 5);
}

/// Panics on drop if armed.
struct Grenade(#[expect(dead_code, reason = "counts itself")] Counted, bool);

impl Drop for Grenade {
    fn drop(&mut self) {
        assert!(!self.1 || thread::panicking(), "boom");
    }
}

#[test]
fn a_destructor_that_panics_loses_neither_elements_nor_memory() {
    let (allocator, ledger) = limited(1 << 20);
    let drops = Drops::default();
    let grenades = || NativeArray::from_fn_in(10, |i| Grenade(drops.value(i), i == 4), &allocator);
    assert_eq!(panic_message(|| drop(grenades())), "boom");
    assert_eq!((drops.alive(), ledger.out()), (0, 0));
    let mut list = NativeList::new_in(&allocator);
    list.get_mut().unwrap().extend((0..10).map(|i| Grenade(drops.value(i), i == 4)));
    assert_eq!(panic_message(|| drop(list)), "boom");
    assert_eq!((drops.alive(), ledger.out()), (0, 0));

    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut array = grenades();
        let job = jobs.schedule_for_each(&[], array.write(), 10, 3, |_, _| {}).unwrap();
        drop(array);
        let _ = jobs.try_complete(job);
        assert_eq!((drops.alive(), ledger.out()), (0, 0), "{workers} workers");
        jobs.complete(jobs.schedule(&[], (), |()| {}).unwrap());
    }
}

#[test]
fn elements_are_dropped_with_the_array() {
    let (allocator, ledger) = limited(1 << 20);
    let drops = Drops::default();
    let array = NativeArray::from_fn_in(10, |i| drops.value(i), &allocator);
    drop(array);
    assert_eq!(drops.alive(), 0);
    NativeArray::from(drops.values::<Vec<_>>(10)).dispose();
    assert_eq!(drops.alive(), 0);
    let copies = NativeArray::filled(5, drops.value(7));
    assert_eq!((drops.alive(), numbers(copies.get().unwrap())), (5, vec![7; 5]));
    drop(copies);
    assert_eq!((drops.alive(), ledger.out()), (0, 0));
}

#[test]
fn elements_can_be_taken_when_no_job_uses_them() {
    let (allocator, ledger) = limited(1 << 20);
    let jobs = scheduler(1);
    let drops = Drops::default();
    let array = NativeArray::from_fn_in(3, |i| drops.value(i), &allocator);
    let read = jobs.named("Read").schedule(&[], array.read(), |_| {}).unwrap();
    let Kept { container: array, error } = array.into_vec().unwrap_err();
    assert!(matches!(error, AccessError::InUse { job: "Read", .. }));
    jobs.complete(read);
    let mut vec = array.into_vec().unwrap();
    assert_eq!(ledger.out(), 0, "they are in a vector of the system's memory");
    vec.push(drops.value(3));
    assert_eq!((numbers(&vec), drops.count()), (vec![0, 1, 2, 3], 0));
}

#[test]
fn the_owner_may_read_containers_that_jobs_read_and_none_that_they_write() {
    let jobs = scheduler(1);
    let mut array = NativeArray::from([1, 2, 3]).named("scores");
    let label = array.label().to_string();
    let read = jobs.schedule(&[], array.read(), |_| {}).unwrap();
    assert_eq!(array.get().unwrap(), [1, 2, 3]);
    assert!(array.get_mut().is_err());
    let write = jobs.named("Write").schedule(&[read], array.write(), |all| all[0] = 9).unwrap();
    assert_eq!(
        array.get().unwrap_err().to_string(),
        format!(
            "A0003: {label} cannot be read now, because job `Write` writes it and was not completed; \
             complete `Write` first, by its \
             handle or, for containers, by `wait`"
        )
    );
    assert!(
        label.starts_with("`scores` (NativeArray<i32> made at ") && label.contains("array.rs:")
    );
    assert!(format!("{array:?}").contains("in use by job `Write`"));
    jobs.flush();
    eventually(|| jobs.is_completed(write));
    assert!(array.get().is_err(), "finished is not completed");
    jobs.complete(write);
    assert_eq!(array.get_mut().unwrap(), [9, 2, 3]);
}

#[test]
fn each_batch_writes_its_own_part_and_reads_all() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let source = NativeArray::from_fn(1000, |i| i);
        let mut target = NativeArray::<usize>::new(1000);
        let data = (target.write(), source.read());
        let job = jobs.schedule_parallel(&[], data, 1000, 64, |(part, all), range| {
            assert_eq!((part.len(), all.len()), (range.len(), 1000));
            for (target, i) in part.iter_mut().zip(range) {
                *target = all[999 - i];
            }
        });
        jobs.complete(job.unwrap());
        assert!(target.get().unwrap().iter().copied().eq((0..1000).rev()));
    }
}

#[test]
fn an_array_shorter_than_the_count_is_refused() {
    let jobs = scheduler(1);
    let mut array = NativeArray::<u32>::new(10).named("scores");
    let container = array.label();
    let refused = jobs.named("Raise").schedule_for_each(&[], array.write(), 11, 4, |_, _| {});
    let expected = ScheduleError::TooShort { container, job: "Raise", length: 10, count: 11 };
    assert_eq!(refused, Err(expected));
    assert!(expected.to_string().starts_with("A0010: "));
    array.get_mut().unwrap()[9] = 1;
    // Smaller counts are allowed, and so is any count for a job that only reads.
    let few = jobs.schedule_for_each(&[], array.write(), 3, 4, |element, _| *element = 7);
    jobs.complete(few.unwrap());
    assert_eq!(array.get().unwrap(), [7, 7, 7, 0, 0, 0, 0, 0, 0, 1]);
    let read = jobs.schedule_for_each(&[], array.read(), 100, 8, |all, _| assert_eq!(all[0], 7));
    jobs.complete(read.unwrap());
}

#[test]
fn an_array_is_disposed_of_after_the_jobs_that_use_it() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let (allocator, ledger) = limited(1 << 20);
        let drops = Drops::default();
        let mut array = NativeArray::from_fn_in(5, |i| drops.value(i), &allocator).named("five");
        let label = array.label();
        let write = jobs.named("Write").schedule(&[], array.write(), |_| {}).unwrap();
        let other = jobs.schedule(&[], (), |()| {}).unwrap();
        let Kept { container: array, error } = array.dispose_after(&jobs, &[other]).unwrap_err();
        let ScheduleError::Conflict { container, other: "Write", .. } = error else {
            panic!("{error}");
        };
        assert_eq!((container, array.label(), drops.count()), (label, label, 0));
        let disposed = array.dispose_after(&jobs, &[write]).unwrap();
        jobs.complete(write);
        jobs.complete(disposed);
        assert_eq!((drops.count(), drops.alive(), ledger.out()), (5, 0, 0));
    }
}

#[test]
fn an_array_no_job_uses_is_disposed_of_after_any_job() {
    let jobs = scheduler(1);
    let drops = Drops::default();
    let array = NativeArray::from(drops.values::<Vec<_>>(3));
    let fails = jobs.schedule(&[], (), |()| panic!("oh")).unwrap();
    let disposed = array.dispose_after(&jobs, &[fails]).unwrap();
    jobs.try_complete(disposed).unwrap_err();
    assert_eq!(drops.alive(), 0);
}

#[test]
fn dropping_an_array_in_use_never_waits_and_frees_it_once() {
    let jobs = scheduler(1);
    let (allocator, ledger) = limited(1 << 20);
    let (drops, door) = (Drops::default(), Door::default());
    let wait = door.waits();
    let mut array = NativeArray::from_fn_in(10, |i| drops.value(i), &allocator);
    let use_it = move |part: &mut [Counted], _| {
        wait();
        part[0].number = 5;
    };
    let job = jobs.schedule_parallel(&[], array.write(), 10, 5, use_it).unwrap();
    jobs.flush();
    eventually(|| door.arrived() > 0);
    // A drop that waits would hang, since the door opens later.
    drop(array);
    assert_eq!(drops.alive(), 10);
    door.open();
    jobs.complete(job);
    assert_eq!((drops.count(), drops.alive(), ledger.out()), (10, 0, 0));
}

#[test]
fn an_array_is_freed_by_its_last_job_on_any_thread() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let (allocator, ledger) = limited(1 << 20);
        let drops = Drops::default();
        let arrays: Vec<_> =
            (0..20).map(|_| NativeArray::from_fn_in(10, |i| drops.value(i), &allocator)).collect();
        let readers = arrays.iter().flat_map(|array| [array.read(), array.read(), array.read()]);
        for token in readers {
            let job = jobs.schedule_parallel(&[], token, 10, 3, |all, range| {
                assert_eq!(all[range.start].number, range.start);
            });
            let _ = job.unwrap();
        }
        drop(allocator);
        thread::spawn(move || drop(arrays)).join().unwrap();
        jobs.complete_everything();
        assert_eq!((drops.count(), drops.alive(), ledger.out()), (200, 0, 0));
    }
}

#[test]
fn jobs_that_do_not_run_release_arrays_too() {
    let jobs = scheduler(1);
    let drops = Drops::default();
    let mut array = NativeArray::from(drops.values::<Vec<_>>(10));
    let fails = jobs.schedule(&[], (), |()| panic!("oh")).unwrap();
    let job = jobs.schedule_for_each(&[fails], array.write(), 10, 3, |_, _| {}).unwrap();
    drop(array);
    jobs.try_complete(job).unwrap_err();
    assert_eq!((drops.count(), drops.alive()), (10, 0));
}

#[test]
fn an_array_that_is_forgotten_can_be_used_by_its_jobs() {
    let jobs = scheduler(1);
    let drops = Drops::default();
    let mut array = NativeArray::from(drops.values::<Vec<_>>(3));
    let job = jobs.schedule(&[], array.write(), |all| all[0].number = 9).unwrap();
    let token = array.read();
    drop(token);
    forget(array);
    jobs.complete(job);
    assert_eq!(drops.count(), 0);
}

//! Parallel writers of lists.

use crate::common;

use ancho_collections::{List, ListLane, NativeList, ParallelWriter, RewindableAllocator};
use ancho_jobs::{Access, AccessError, JobScheduler, ScheduleError};
use common::source::limited;
use common::{Drops, WORKERS, assert_refused, forget, numbers, scheduler, schedulers};

/// Returns the number of elements that the batch with this first index adds.
fn share(start: usize) -> usize {
    start * 7 % 11
}

/// Returns the elements that 1000 indices in batches of 13 add, in order.
fn expected() -> Vec<(usize, usize)> {
    (0..1000).step_by(13).flat_map(|start| (0..share(start)).map(move |n| (start, n))).collect()
}

/// Schedules and completes the job that adds them.
fn add(jobs: &JobScheduler, list: &mut NativeList<(usize, usize)>) {
    let job = jobs.schedule_parallel(&[], list.writer(), 1000, 13, |mut list, range| {
        for n in 0..share(range.start) {
            list.push((range.start, n));
        }
    });
    jobs.complete(job.unwrap());
}

#[test]
fn the_order_is_that_of_the_batches_on_any_threads() {
    let expected = expected();
    for (context, jobs) in schedulers() {
        let mut list = NativeList::with_capacity(1000);
        add(&jobs, &mut list);
        assert_eq!(list.get().unwrap()[..], expected, "{context}");
    }
}

#[test]
fn existing_elements_stay_in_front() {
    for (context, jobs) in schedulers() {
        let mut list = NativeList::from([(7, 7), (8, 8)]);
        list.get_mut().unwrap().set_capacity(2 + 2 * expected().len()).unwrap();
        let place = list.get().unwrap().as_ptr();
        add(&jobs, &mut list);
        add(&jobs, &mut list);
        let list = list.get().unwrap();
        assert_eq!(list[..2], [(7, 7), (8, 8)]);
        assert_eq!(list[2..], [expected(), expected()].concat(), "{context}");
        assert_eq!(list.as_ptr(), place, "writers never make a list grow");
        assert_eq!(list.len(), list.capacity(), "there was room for exactly these");
    }
}

#[test]
fn two_jobs_one_after_the_other_add_in_that_order() {
    for (context, jobs) in schedulers() {
        let mut list = NativeList::with_capacity(400);
        let first = jobs.schedule_for_each(&[], list.writer(), 200, 8, |list, i| list.push(i));
        let first = first.unwrap();
        let second = jobs.schedule_for_each(&[first], list.writer(), 200, 16, |list, i| {
            list.push(1000 + i);
        });
        let read = jobs.schedule(&[second.unwrap()], list.read(), |list| {
            assert!(list.iter().copied().eq((0..200).chain(1000..1200)), "settled before");
        });
        jobs.complete(read.unwrap());
        assert_eq!(list.get().unwrap().len(), 400, "{context}");
    }
}

#[test]
fn slices_can_be_added() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut list = NativeList::with_capacity(300);
        let job = jobs.schedule_for_each(&[], list.writer(), 100, 8, |list, i| {
            list.push(i as u32);
            list.extend_from_slice(&[0, i as u32]);
            list.extend_from_slice(&[]);
        });
        jobs.complete(job.unwrap());
        let list = list.get().unwrap();
        assert!((0..100).all(|i| list[3 * i as usize..][..3] == [i, 0, i]));
    }
}

#[test]
fn a_single_job_adds_through_a_writer() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut list = NativeList::with_capacity(10);
        let job = jobs.schedule(&[], list.writer(), |mut list| {
            list.push("one");
            list.push("two");
        });
        let again = jobs.schedule(&[job.unwrap()], list.writer(), |mut list| list.push("three"));
        jobs.complete(again.unwrap());
        assert_eq!(list.get().unwrap()[..], ["one", "two", "three"]);
    }
}

#[test]
fn a_job_of_no_batches_and_one_that_adds_nothing_change_nothing() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut list = NativeList::from([1, 2]);
        let none = jobs.schedule_for_each(&[], list.writer(), 0, 8, |list, _| list.push(9));
        let quiet = jobs.schedule_for_each(&[none.unwrap()], list.writer(), 100, 8, |_, _| {});
        jobs.complete(quiet.unwrap());
        assert_eq!(list.get().unwrap()[..], [1, 2]);
    }
}

#[test]
fn several_lists_in_one_job_are_each_in_order() {
    for (context, jobs) in schedulers() {
        let mut even = NativeList::with_capacity(500);
        let mut odd = NativeList::with_capacity(500);
        let tokens = (even.writer(), odd.writer());
        let job = jobs.schedule_for_each(&[], tokens, 1000, 7, |(even, odd), i| {
            if i % 2 == 0 { even.push(i) } else { odd.push(i) }
        });
        jobs.complete(job.unwrap());
        assert!(even.get().unwrap().iter().copied().eq((0..1000).step_by(2)), "{context}");
        assert!(odd.get().unwrap().iter().copied().eq((1..1000).step_by(2)), "{context}");
    }
}

#[test]
fn more_than_there_is_room_for_fails_the_job_and_is_kept() {
    for (context, jobs) in schedulers() {
        let mut list = NativeList::with_capacity(110).named("hits");
        list.get_mut().unwrap().push_repeated(usize::MAX, 10);
        let label = list.label();
        let job = jobs.named("Find").schedule_for_each(&[], list.writer(), 120, 16, |list, i| {
            list.push(i);
        });
        let dependant = jobs.schedule(&[job.unwrap()], list.read(), |_| panic!("ran")).unwrap();
        let failed = jobs.try_complete(dependant).unwrap_err();
        assert_eq!(failed.panicked_job(), "Find");
        assert_eq!(
            failed.message(),
            format!(
                "A0015: parallel writers wrote 120 elements to {label}, which had room for 100 more; \
                 raise its capacity before the job is scheduled"
            ),
            "{context}"
        );
        let full = list.get_mut().unwrap();
        assert_eq!((full.len(), full.capacity()), (110, 110));
        assert!(full[10..].iter().copied().eq(0..100), "{context}: the first ones are in");
        assert!(full.take_overflow().into_iter().eq(100..120), "{context}: the others are kept");
        assert!(full.take_overflow().is_empty(), "they were taken");

        full.clear();
        full.push(1);
        let job = jobs.schedule_for_each(&[], list.writer(), 100, 16, |list, i| list.push(i));
        jobs.complete(job.unwrap());
        assert!(list.get().unwrap()[1..].iter().copied().eq(0..100));
        assert!(list.get_mut().unwrap().take_overflow().is_empty());
    }
}

#[test]
fn a_list_without_room_keeps_everything_as_overflow() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut list = NativeList::new();
        for round in 0..2 {
            let job = jobs.schedule_for_each(&[], list.writer(), 50, 8, move |list, i| {
                list.push(round * 100 + i);
            });
            let failed = jobs.try_complete(job.unwrap()).unwrap_err();
            assert!(failed.message().contains("had room for 0 more"), "{failed}");
        }
        let list = list.get_mut().unwrap();
        assert!(list.is_empty() && list.clone().take_overflow().is_empty());
        assert!(list.take_overflow().into_iter().eq((0..50).chain(100..150)));
    }
}

#[test]
fn no_other_job_may_use_the_list_meanwhile() {
    let jobs = scheduler(1);
    let mut list = NativeList::<u32>::with_capacity(100).named("hits");
    let label = list.label();
    let write = jobs.named("Find").schedule_for_each(&[], list.writer(), 9, 1, |list, i| {
        list.push(i as u32);
    });
    let write = write.unwrap();
    let in_use = |access| AccessError::InUse {
        container: label,
        access,
        job: "Find",
        job_access: Access::Concurrent,
    };
    assert_eq!(list.get().unwrap_err(), in_use(Access::Read));
    assert_eq!(list.get_mut().unwrap_err(), in_use(Access::Write));
    assert!(list.get().unwrap_err().to_string().starts_with("A0003: `hits` (NativeList<u32> made"));
    let other = jobs.named("Other");
    let refused = [
        other.schedule(&[], list.read(), |_| {}),
        jobs.named("Other").schedule(&[], list.write(), |_| {}),
        jobs.named("Other").schedule(&[], list.read_elements(), |_| {}),
        jobs.named("Other").schedule(&[], list.write_elements(), |_| {}),
        jobs.named("Other").schedule_for_each(&[], list.writer(), 9, 1, |_, _| {}),
    ];
    for refused in refused {
        let refused = refused.unwrap_err();
        assert!(matches!(
            refused,
            ScheduleError::Conflict { other_access: Access::Concurrent, other: "Find", .. }
        ));
        assert!(refused.to_string().starts_with("A0001: job `Other` "), "{refused}");
        assert!(refused.to_string().contains(&label.to_string()), "{refused}");
    }
    jobs.complete(write);
    assert!(list.get().unwrap().iter().copied().eq(0..9));
}

#[test]
fn a_batch_that_panics_loses_nothing_of_the_others() {
    for (context, jobs) in schedulers() {
        let mut list = NativeList::with_capacity(100);
        let job =
            jobs.named("Find").schedule_parallel(&[], list.writer(), 100, 10, |mut list, range| {
                for i in range {
                    assert!(i != 35 && i != 70, "no {i}");
                    list.push(i);
                }
            });
        let failed = jobs.try_complete(job.unwrap()).unwrap_err();
        assert_eq!(failed.message(), "no 35", "{context}");
        let found: Vec<_> = list.get().unwrap().to_vec();
        let others = |i: &usize| !(30..40).contains(i) && !(70..80).contains(i);
        let expected: Vec<_> = (0..100).filter(others).collect();
        assert!(found.is_sorted(), "{context}: {found:?}");
        assert_eq!(found.iter().copied().filter(others).collect::<Vec<_>>(), expected, "{context}");
        // The writes of a batch that panicked are the first part of its elements.
        assert!(found.iter().filter(|i| !others(i)).all(|i| (30..35).contains(i)));
        assert!(list.get_mut().unwrap().take_overflow().is_empty());
    }
}

#[test]
fn writes_of_a_batch_before_its_panic_are_the_same_for_any_threads() {
    let written = schedulers().map(|(_, jobs)| {
        let mut list = NativeList::with_capacity(100);
        let job = jobs.schedule_for_each(&[], list.writer(), 100, 10, |list, i| {
            assert!(i % 10 != 7, "never mind");
            list.push(i);
        });
        jobs.try_complete(job.unwrap()).unwrap_err();
        list.get().unwrap().to_vec()
    });
    let mut written: Vec<_> = written.collect();
    written.dedup();
    assert_eq!(written.len(), 1);
}

#[test]
fn a_job_that_panics_and_overflows_reports_the_same_for_any_threads() {
    let messages = schedulers().map(|(context, jobs)| {
        let mut list = NativeList::with_capacity(20);
        let job = jobs.schedule_for_each(&[], list.writer(), 100, 10, |list, i| {
            assert!(i % 30 != 29, "no {i}");
            list.push(i);
        });
        let failed = jobs.try_complete(job.unwrap()).unwrap_err();
        let list = list.get_mut().unwrap();
        assert!(list.iter().copied().eq(0..20), "{context}");
        let overflow = list.take_overflow();
        assert!(overflow.is_sorted() && overflow.contains(&99), "{context}");
        (failed.message().split(" made at ").next().unwrap().to_owned(), overflow)
    });
    let mut messages: Vec<_> = messages.collect();
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
}

#[test]
fn two_lists_that_have_no_room_are_both_put_in_order() {
    for (context, jobs) in schedulers() {
        let mut one = NativeList::with_capacity(10).named("one");
        let mut two = NativeList::with_capacity(20).named("two");
        let mut three = NativeList::with_capacity(100);
        let tokens = (one.writer(), two.writer(), three.writer());
        let job = jobs.schedule_for_each(&[], tokens, 100, 7, |(one, two, three), i| {
            one.push(i);
            two.push(i);
            three.push(i);
        });
        let failed = jobs.try_complete(job.unwrap()).unwrap_err();
        assert!(failed.message().contains("100 elements to `one`"), "{context}: {failed}");
        for (list, room) in [(&mut one, 10), (&mut two, 20), (&mut three, 100)] {
            let list = list.get_mut().unwrap();
            assert!(list.iter().copied().eq(0..room), "{context}");
            assert!(list.take_overflow().into_iter().eq(room..100), "{context}");
        }
    }
}

#[test]
fn elements_are_dropped_once_in_every_case() {
    for (context, jobs) in schedulers() {
        let drops = Drops::default();
        let mut list = NativeList::with_capacity(30);
        let values = drops.clone();
        let job = jobs.schedule_for_each(&[], list.writer(), 50, 4, move |list, i| {
            list.push(values.value(i));
            assert!(i != 45, "on the way");
        });
        jobs.try_complete(job.unwrap()).unwrap_err();
        let inner = list.get_mut().unwrap();
        assert!(numbers(&*inner).into_iter().eq(0..30));
        let overflow = inner.take_overflow();
        assert_eq!(drops.alive(), 30 + overflow.len(), "{context}");
        drop(overflow);
        drop(list);
        assert_eq!(drops.alive(), 0, "{context}");
    }
}

#[test]
fn a_list_that_is_dropped_meanwhile_is_freed_with_the_job() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let (allocator, ledger) = limited(1 << 20);
        let drops = Drops::default();
        let mut list = NativeList::with_capacity_in(100, &allocator);
        let values = drops.clone();
        let job = jobs.schedule_for_each(&[], list.writer(), 100, 8, move |list, i| {
            list.push(values.value(i));
        });
        drop((list, allocator));
        jobs.complete(job.unwrap());
        assert_eq!((drops.count(), drops.alive(), ledger.out()), (100, 0, 0));
    }
}

#[test]
fn a_forgotten_writer_does_no_harm() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut list = NativeList::with_capacity(100);
        let job = jobs.schedule_parallel(&[], list.writer(), 10, 1, |mut list, range| {
            list.push(range.start);
            if range.start == 3 {
                // Its memory is invisible to leak checkers otherwise.
                forget(std::mem::take::<ListLane<usize>>(&mut list));
                std::mem::forget::<ParallelWriter<'_, _>>(list);
            }
        });
        jobs.complete(job.unwrap());
        assert_eq!(list.get().unwrap()[..], [0, 1, 2, 4, 5, 6, 7, 8, 9]);
        let again = jobs.schedule_for_each(&[], list.writer(), 10, 1, |list, i| list.push(i));
        jobs.complete(again.unwrap());
        assert!(list.get().unwrap()[9..].iter().copied().eq(0..10));
    }
}

#[test]
fn nothing_can_be_written_any_number_of_times() {
    let jobs = scheduler(2);
    let mut list = NativeList::<()>::with_capacity(10_000);
    let job = jobs.schedule_for_each(&[], list.writer(), 10_000, 100, |list, _| list.push(()));
    jobs.complete(job.unwrap());
    assert_eq!(list.get().unwrap().len(), 10_000);
}

#[test]
fn a_list_of_lists_is_written_in_parallel() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut paths = NativeList::with_capacity(50);
        let job = jobs.schedule_for_each(&[], paths.writer(), 50, 4, |paths, i| {
            paths.push((0..i).collect::<List<_>>());
        });
        jobs.complete(job.unwrap());
        let paths = paths.get().unwrap();
        assert!(paths.iter().enumerate().all(|(i, path)| path.iter().copied().eq(0..i)));
    }
}

#[test]
fn a_list_in_memory_that_is_rewound_meanwhile_is_written_to_the_end() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let level = RewindableAllocator::new();
        let mut list = NativeList::with_capacity_in(100, &level.allocator());
        let job = jobs.schedule_for_each(&[], list.writer(), 100, 8, |list, i| list.push(i));
        let read = jobs.schedule(&[job.unwrap()], list.read(), |list| {
            assert!(list.iter().copied().eq(0..100));
        });
        level.rewind();
        let refused = list.get().unwrap_err().to_string();
        assert!(refused.starts_with("A0013: "), "{refused}");
        jobs.complete(read.unwrap());
        assert!(list.get().unwrap_err().to_string().starts_with("A0013: "));
    }
}

#[test]
fn a_full_list_is_made_longer_by_its_owner_and_filled_up() {
    let jobs = scheduler(2);
    let mut list = NativeList::with_capacity(10);
    let job = jobs.schedule_for_each(&[], list.writer(), 100, 8, |list, i| list.push(i)).unwrap();
    assert_refused("A0011", || jobs.complete(job));
    let inner = list.get_mut().unwrap();
    let overflow = inner.take_overflow();
    inner.extend_from_slice(&overflow);
    assert!(inner.iter().copied().eq(0..100));
}

//! Containers whose memory was rewound, and jobs that still use it.

use crate::common;
use crate::common::model;

use std::thread;

use ancho_collections::{Native, NativeArray, NativeColumns, NativeList, RewindableAllocator};
use ancho_jobs::{AccessError, ScheduleError};
use common::{Door, Drops, WORKERS, assert_refused, eventually, numbers, scheduler};
use model::{cases, time_is_up};
use proptest::prelude::*;

#[test]
fn a_container_made_before_is_refused_to_its_owner() {
    let level = RewindableAllocator::new();
    let memory = level.allocator();
    let mut list = NativeList::<u32>::new_in(&memory).named("paths");
    let mut array = NativeArray::from_slice_in(&[1, 2, 3], &memory).named("scores");
    let mut table = NativeColumns::<(u8, u8)>::new_in(&memory);
    list.get_mut().unwrap().push(1);
    level.rewind();
    let label = list.label();
    let refused = list.get().unwrap_err();
    assert!(matches!(refused, AccessError::Expired { container, .. } if container == label));
    let text = refused.to_string();
    assert!(text.starts_with(&format!("A0013: {label} can no longer be used, because ")), "{text}");
    assert!(text.ends_with("has been rewound; make a new one"), "{text}");
    assert!(list.get_mut().is_err() && table.get().is_err() && table.get_mut().is_err());
    assert!(matches!(array.get(), Err(AccessError::Expired { .. })));
    assert!(matches!(array.get_mut(), Err(AccessError::Expired { .. })));
    assert_eq!(array.len(), 3, "this never changes");
    assert!(format!("{list:?}").contains("expired with"), "{list:?}");

    let kept = list.into_inner().unwrap_err();
    assert!(matches!(kept.error, AccessError::Expired { .. }));
    assert_eq!(kept.container.label(), label);
    let kept = array.into_vec().unwrap_err();
    assert!(matches!(kept.error, AccessError::Expired { .. }));
}

#[test]
fn a_container_made_before_is_refused_to_jobs() {
    let jobs = scheduler(1);
    let level = RewindableAllocator::new();
    let memory = level.allocator();
    let mut list = NativeList::<u32>::new_in(&memory).named("paths");
    let mut array = NativeArray::<u32>::new_in(10, &memory);
    let mut table = NativeColumns::<(u8, u8)>::new_in(&memory);
    let persistent = NativeList::<u32>::new();
    level.rewind();
    let named = || jobs.named("Walk");
    let refused = [
        named().schedule(&[], list.read(), |_| panic!("ran")),
        named().schedule(&[], list.write(), |_| panic!("ran")),
        named().schedule(&[], list.writer(), |_| panic!("ran")),
        named().schedule(&[], list.read_elements(), |_| panic!("ran")),
        named().schedule_for_each(&[], list.write_elements(), 0, 1, |_, _| panic!("ran")),
        named().schedule(&[], array.read(), |_| panic!("ran")),
        named().schedule_for_each(&[], array.write(), 10, 1, |_, _| panic!("ran")),
        named().schedule(&[], table.read_columns(), |_| panic!("ran")),
        named().schedule(&[], table.write_columns(), |_| panic!("ran")),
        named().schedule(&[], (persistent.read(), list.read()), |_| panic!("ran")),
    ];
    for refused in refused {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, ScheduleError::Expired { job: "Walk", .. }), "{refused}");
        assert!(refused.to_string().starts_with("A0013: job `Walk` takes "), "{refused}");
    }
    assert!(jobs.run(array.read(), |_| panic!("ran")).is_err());
    jobs.complete_everything();
    assert!(persistent.get().is_ok());
}

#[test]
fn a_container_made_after_works() {
    let jobs = scheduler(1);
    let level = RewindableAllocator::new();
    for round in 0..20_u32 {
        let memory = level.allocator();
        let mut list = NativeList::new_in(&memory);
        let array = NativeArray::from_fn_in(1000, |i| i as u32 + round, &memory);
        let copy = jobs.schedule(&[], (list.write(), array.read()), |(list, array)| {
            list.extend_from_slice(array);
        });
        jobs.complete(copy.unwrap());
        assert!(list.get().unwrap().iter().copied().eq(round..round + 1000));
        level.rewind();
        assert!(list.get().is_err());
    }
    assert!(level.bytes_reserved() <= 256 << 10, "dropped containers give their memory back");
}

#[test]
fn each_allocator_rewinds_only_its_own_containers() {
    let (one, two) = (RewindableAllocator::new(), RewindableAllocator::new());
    let first = NativeArray::<u8>::new_in(3, &one.allocator());
    let second = NativeArray::<u8>::new_in(3, &two.allocator());
    one.rewind();
    assert!(first.get().is_err());
    assert_eq!(second.get().unwrap(), [0, 0, 0]);
}

#[test]
fn jobs_scheduled_before_continue_and_finish_correctly() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let level = RewindableAllocator::new();
        let memory = level.allocator();
        let mut list = NativeList::new_in(&memory);
        let mut array = NativeArray::<usize>::new_in(1000, &memory);
        let mut result = NativeList::<usize>::new();
        let fill = jobs.schedule(&[], list.write(), |list| list.extend(0..1000_usize)).unwrap();
        let tokens = (array.write(), list.read());
        let add = jobs.schedule_for_each(&[fill], tokens, 1000, 64, |(own, list), i| {
            *own = list[i] + i;
        });
        let tokens = (result.write(), array.read());
        let copy = jobs.schedule(&[add.unwrap()], tokens, |(result, array)| {
            result.extend_from_slice(array);
        });
        level.rewind();
        // This would be the same memory, if no job used it.
        let other = NativeArray::from_fn_in(10_000, |_| usize::MAX, &memory);
        if workers % 2 == 0 {
            drop((list, array));
        }
        jobs.complete(copy.unwrap());
        assert!(result.get().unwrap().iter().copied().eq((0..1000).map(|i| 2 * i)));
        assert!(other.get().unwrap().iter().all(|value| *value == usize::MAX));
    }
}

#[test]
fn memory_is_not_used_again_while_a_job_is_in_the_middle_of_it() {
    let jobs = scheduler(1);
    let level = RewindableAllocator::new();
    let memory = level.allocator();
    let door = Door::default();
    let wait = door.waits();
    let mut array = NativeArray::from_fn_in(1000, |i| i, &memory);
    let job = jobs.schedule(&[], array.write(), move |array| {
        wait();
        assert!(array.iter().copied().eq(0..1000), "other code wrote here");
        array.fill(7);
    });
    jobs.flush();
    eventually(|| door.arrived() == 1);
    drop(array);
    for round in 0..50 {
        let other = NativeArray::from_fn_in(1000, |_| round, &memory);
        level.rewind();
        drop(other);
    }
    door.open();
    jobs.complete(job.unwrap());
    level.rewind();
    level.rewind();
    assert_eq!(level.bytes_reserved(), 0, "the job was the last");
}

#[test]
fn elements_of_a_container_that_has_expired_are_dropped_with_it() {
    let level = RewindableAllocator::new();
    let memory = level.allocator();
    let drops = Drops::default();
    let array = NativeArray::from_fn_in(10, |i| drops.value(i), &memory);
    let mut list = NativeList::new_in(&memory);
    list.get_mut().unwrap().extend(drops.values::<Vec<_>>(10));
    let fresh_drops = Drops::default();
    level.rewind();
    let fresh = NativeArray::from_fn_in(10, |i| fresh_drops.value(i), &memory);
    assert_eq!(drops.count(), 0);
    drop(array);
    thread::spawn(move || drop(list)).join().unwrap();
    assert_eq!((drops.count(), drops.alive()), (20, 0));
    assert!(numbers(fresh.get().unwrap()).into_iter().eq(0..10));
    drop(level);
    drop(fresh);
    assert_eq!(fresh_drops.alive(), 0);
}

#[test]
fn a_container_that_has_expired_is_dropped_and_not_disposed_of_later() {
    let jobs = scheduler(1);
    let level = RewindableAllocator::new();
    let drops = Drops::default();
    let mut array = NativeArray::from_fn_in(10, |i| drops.value(i), &level.allocator());
    let job = jobs.schedule(&[], array.write(), |_| {}).unwrap();
    level.rewind();
    let kept = array.dispose_after(&jobs, &[job]).unwrap_err();
    assert!(matches!(kept.error, ScheduleError::Expired { job: "Dispose", .. }), "{kept}");
    drop(kept.container);
    assert_eq!(drops.count(), 0);
    jobs.complete(job);
    assert_eq!((drops.count(), drops.alive()), (10, 0));
    assert_eq!(level.bytes_used(), 0);
}

#[test]
fn data_taken_out_of_a_container_outlives_a_rewind() {
    let level = RewindableAllocator::new();
    let memory = level.allocator();
    let mut list = NativeList::with_capacity_in(10, &memory);
    list.get_mut().unwrap().extend(0..10_u32);
    let mut list = list.into_inner().unwrap();
    level.rewind();
    let other = NativeArray::from_fn_in(10_000, |_| u32::MAX, &memory);
    list.extend(10..10_000);
    assert!(list.iter().copied().eq(0..10_000));
    // Its memory is valid, and a container that is made of it now is not expired.
    let list = Native::of_in(list, &memory);
    assert_eq!(list.get().unwrap().len(), 10_000);
    drop(level);
    drop(other);
    assert_eq!(list.get().unwrap()[9999], 9999);
}

#[test]
fn too_much_for_the_allocator_is_refused() {
    let level = RewindableAllocator::new();
    assert_refused("A0017", || NativeArray::<u64>::new_in(1 << 58, &level.allocator()));
    let mut list = NativeList::<u64>::new_in(&level.allocator());
    assert_refused("A0017", || list.get_mut().unwrap().resize(1 << 58, 1));
    list.get_mut().unwrap().push(1);
    assert_eq!(list.get().unwrap()[..], [1]);
}

/// A step of a random script with arrays in one rewindable allocator.
#[derive(Clone, Debug)]
enum Step {
    Make(usize),
    Drop(usize),
    Rewind,
    Schedule(usize),
    Complete,
}

proptest! {
    #![proptest_config(cases(48))]

    /// In any order of drops, jobs and rewinds, no container overwrites the elements of another
    /// one.
    #[test]
    fn no_two_live_containers_share_memory(
        steps in prop::collection::vec(
            prop_oneof![
                5 => (1..40_000_usize).prop_map(Step::Make),
                3 => any::<usize>().prop_map(Step::Drop),
                2 => Just(Step::Rewind),
                4 => any::<usize>().prop_map(Step::Schedule),
                1 => Just(Step::Complete),
            ],
            1..60,
        ),
    ) {
        if time_is_up() {
            return Ok(());
        }
        let jobs = scheduler(2);
        let level = RewindableAllocator::new();
        let memory = level.allocator();
        let mut live: Vec<(usize, NativeArray<usize>)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Make(length) => {
                    live.push((number, NativeArray::from_fn_in(length, |_| number, &memory)));
                }
                Step::Drop(which) if !live.is_empty() => drop(live.swap_remove(which % live.len())),
                Step::Schedule(which) if !live.is_empty() => {
                    let (number, array) = &live[which % live.len()];
                    let (number, length) = (*number, array.len());
                    let job = jobs.schedule_parallel(&[], array.read(), length, 1000, move |all, range| {
                        assert!(all[range].iter().all(|value| *value == number), "overwritten");
                    });
                    match job {
                        Ok(_) => {}
                        Err(error) => assert!(matches!(error, ScheduleError::Expired { .. }), "{error}"),
                    }
                    jobs.flush();
                }
                Step::Rewind => {
                    level.rewind();
                    prop_assert!(live.iter().all(|(_, array)| array.get().is_err()));
                }
                Step::Complete => jobs.complete_everything(),
                Step::Drop(_) | Step::Schedule(_) => {}
            }
            for (number, array) in &live {
                if let Ok(values) = array.get() {
                    prop_assert!(values.iter().all(|value| value == number));
                }
            }
        }
        jobs.complete_everything();
        drop(live);
        level.rewind();
        level.rewind();
        prop_assert_eq!((level.block_count(), level.bytes_reserved()), (0, 0));
    }
}

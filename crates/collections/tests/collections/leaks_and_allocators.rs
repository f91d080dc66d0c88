//! Reports of leaks, and the time at which memory is freed.

use crate::common;

use std::panic::Location;
use std::thread;

use ancho_collections::{
    Allocator, Columns, FrameMemory, List, LiveContainer, MAX_TEMP_JOB_FRAMES, Native, NativeArray,
    NativeColumns, NativeList,
};
use common::source::limited;
use common::{Door, Drops, WORKERS, eventually, forget, scheduler, schedulers};

/// Lets `frames` frames pass without a report.
#[track_caller]
fn pass(memory: &mut FrameMemory, frames: u64) {
    for _ in 0..frames {
        let report = memory.advance();
        assert!(report.leaks.is_empty(), "{report}");
    }
}

/// Returns the names of live containers.
fn names(live: &[LiveContainer]) -> Vec<String> {
    let names = live.iter().map(|live| live.label.to_string());
    names.map(|name| name.split(" made at ").next().unwrap().to_owned()).collect()
}

#[test]
fn a_container_for_a_moment_is_reported_once_when_it_is_five_frames_old() {
    let mut memory = FrameMemory::new("Game");
    pass(&mut memory, 3);
    let list = NativeList::<u32>::new_in(&memory.temp_job()).named("hits");
    pass(&mut memory, MAX_TEMP_JOB_FRAMES);
    let report = memory.advance();
    assert_eq!((report.world, report.frame), ("Game", 8));
    let expected = LiveContainer { label: list.label(), allocator: "TempJob", frame: 3 };
    assert_eq!(report.leaks, [expected]);
    assert_eq!(
        report.to_string(),
        format!(
            "A0020: {} from allocator `TempJob` of `Game` is 5 frames old, and may live for 4; drop it \
             earlier, or make it in persistent memory",
            list.label()
        )
    );
    pass(&mut memory, 10);
    assert_eq!(memory.live(), [expected], "it is alive all the same");
    assert!(list.get().unwrap().is_empty());
    drop(list);
    assert_eq!(memory.live(), []);
}

#[test]
fn a_container_that_is_dropped_in_time_is_not_reported() {
    let mut memory = FrameMemory::new("Game");
    let jobs = scheduler(1);
    let mut kept = Vec::new();
    for frame in 0..40_u32 {
        let allocator = memory.temp_job();
        let mut list = NativeList::new_in(&allocator);
        list.get_mut().unwrap().extend(0..frame);
        let array = NativeArray::<u8>::new_in(10, &allocator);
        let table = NativeColumns::<(u8, u32)>::new_in(&allocator);
        kept.push((list, array, table));
        if kept.len() > 4 {
            let (list, array, table) = kept.remove(0);
            let read = jobs.schedule(&[], (list.read(), array.read()), |_| {}).unwrap();
            let list = list.dispose_after(&jobs, &[read]).unwrap();
            table.dispose();
            drop(array);
            jobs.complete(list);
        }
        pass(&mut memory, 1);
    }
    assert_eq!(memory.live().len(), 12);
}

#[test]
fn containers_of_all_types_are_reported_in_the_order_in_which_they_were_made() {
    let mut memory = FrameMemory::new("Game");
    let allocator = memory.temp_job();
    let list = NativeList::<u32>::with_capacity_in(10, &allocator);
    pass(&mut memory, 1);
    let array = NativeArray::from_fn_in(3, |i| i, &allocator).named("array");
    let data = Native::of_in(List::<u8>::new_in(&allocator), &allocator).named("data");
    let persistent = NativeArray::<u8>::zeroed_in(3, &memory.persistent());
    let table = NativeColumns::<(u8, char)>::new_in(&allocator);
    let dropped = NativeArray::<u8>::new_in(3, &allocator);
    pass(&mut memory, 3);
    drop(dropped);
    assert_eq!(names(&memory.advance().leaks), ["the NativeList<u32>"]);
    let report = memory.advance();
    let late =
        ["`array` (NativeArray<usize>", "`data` (NativeList<u8>", "the NativeColumns<(u8, char)>"];
    assert_eq!(names(&report.leaks), late);
    assert_eq!(report.to_string().lines().count(), 3);
    assert!(report.to_string().lines().all(|line| line.contains(" is 5 frames old")), "{report}");
    pass(&mut memory, 5);
    drop((list, array, data, persistent, table));
    assert_eq!(memory.live(), []);
}

#[test]
fn a_name_set_later_is_reported_with_the_place_of_creation() {
    #[track_caller]
    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    let memory = FrameMemory::new("Game");
    let (list, place) = (NativeList::<u32>::new_in(&memory.persistent()), here());
    assert_eq!(names(&memory.live()), ["the NativeList<u32>"]);
    let list = list.named("first");
    let list = list.named("scores");
    let report = memory.leaks();
    let made = report.leaks[0].label.made();
    assert_eq!((made.file(), made.line()), (place.file(), place.line()));
    assert_eq!(
        report.to_string(),
        format!(
            "A0022: `scores` (NativeList<u32> made at {made}) from allocator `Persistent` of `Game` was \
             made in frame 0, and is alive in frame 0; drop it before the end"
        )
    );
    let array = NativeArray::<u8>::new_in(1, &memory.persistent()).named("bytes");
    assert_eq!(names(&memory.live())[1], "`bytes` (NativeArray<u8>");
    drop((list, array));
    assert_eq!(memory.leaks().to_string(), "");
}

#[test]
fn a_forgotten_container_is_a_leak_and_an_unwrapped_one_is_not() {
    let mut memory = FrameMemory::new("Game");
    let allocator = memory.persistent();
    forget(NativeArray::<u8>::new_in(3, &allocator).named("lost array"));
    forget(NativeList::<u8>::with_capacity_in(3, &allocator).named("lost list"));
    forget(NativeList::<u8>::with_capacity_in(3, &memory.temp_job()).named("lost for a moment"));
    let array = NativeArray::<u8>::new_in(3, &allocator).into_vec().unwrap();
    let list = NativeList::<u8>::with_capacity_in(3, &allocator).into_inner().unwrap();
    pass(&mut memory, 4);
    let reported = memory.advance();
    assert_eq!(names(&reported.leaks), ["`lost for a moment` (NativeList<u8>"]);
    let report = memory.leaks();
    assert_eq!(
        names(&report.leaks),
        [
            "`lost array` (NativeArray<u8>",
            "`lost list` (NativeList<u8>",
            "`lost for a moment` (NativeList<u8>"
        ]
    );
    let of = report.leaks.iter().map(|leak| leak.allocator);
    assert!(of.eq(["Persistent", "Persistent", "TempJob"]));
    assert_eq!((array.len(), list.capacity()), (3, 3));
}

#[test]
fn a_container_that_was_dropped_is_not_alive_though_a_job_still_uses_it() {
    let jobs = scheduler(1);
    let mut memory = FrameMemory::new("Game");
    let door = Door::default();
    let wait = door.waits();
    let mut list = NativeList::<u32>::with_capacity_in(100, &memory.temp_job()).named("late");
    let job = jobs.schedule(&[], list.write(), move |list| {
        wait();
        list.extend(0..1000);
    });
    jobs.flush();
    eventually(|| door.arrived() == 1);
    drop(list);
    assert_eq!(memory.live(), []);
    pass(&mut memory, 10);
    assert!(!format!("{memory:?}").contains("temp_job_bytes_used: 0"), "the job has it");
    door.open();
    jobs.complete(job.unwrap());
    assert_eq!(memory.live(), []);
    assert!(format!("{memory:?}").contains("temp_job_bytes_used: 0"), "{memory:?}");
}

#[test]
fn worlds_report_their_own() {
    let mut one = FrameMemory::new("one");
    let mut two = FrameMemory::new("two");
    let list = NativeList::<u8>::new_in(&one.temp_job());
    pass(&mut two, 10);
    pass(&mut one, 4);
    assert_eq!((one.advance().world, two.live()), ("one", vec![]));
    drop(one);
    drop(list);
}

#[test]
fn containers_outlive_the_frame_memory() {
    let memory = FrameMemory::new("Game");
    let mut list = NativeList::new_in(&memory.temp_job());
    let array = NativeArray::from_slice_in(&[1, 2, 3], &memory.persistent());
    drop(memory);
    list.get_mut().unwrap().extend(0..1000);
    assert!(list.get().unwrap().iter().copied().eq(0..1000));
    thread::spawn(move || assert_eq!(array.get().unwrap(), [1, 2, 3])).join().unwrap();
}

#[test]
fn persistent_memory_without_a_world_reports_nothing() {
    let memory = FrameMemory::new("Game");
    let list = NativeList::<u8>::new_in(&Allocator::PERSISTENT);
    let array = NativeArray::<u8>::new(3);
    assert_eq!(memory.live(), []);
    drop((list, array));
}

#[test]
fn memory_for_a_moment_begins_at_lines_and_is_used_again() {
    let mut memory = FrameMemory::new("Game");
    let jobs = scheduler(2);
    let mut used = Vec::new();
    for frame in 0..50_u64 {
        let mut array = NativeArray::from_fn_in(5000, |_| frame, &memory.temp_job());
        assert!(array.get().unwrap().as_ptr().addr().is_multiple_of(64));
        let job = jobs.schedule_for_each(&[], array.write(), 5000, 512, |value, _| *value += 1);
        jobs.complete(job.unwrap());
        assert!(array.get().unwrap().iter().all(|value| *value == frame + 1));
        used.push(array.get().unwrap().as_ptr().addr());
        drop(array);
        pass(&mut memory, 1);
    }
    used.sort_unstable();
    used.dedup();
    assert!(used.len() < 10, "{} places in 50 frames", used.len());
}

/// Makes containers of all types in an allocator, and drops them while jobs use them.
fn use_and_drop(allocator: &Allocator, jobs: &ancho_jobs::JobScheduler, drops: &Drops) {
    let mut list = NativeList::new_in(allocator);
    let mut array = NativeArray::from_fn_in(100, |i| drops.value(i), allocator);
    let mut table = NativeColumns::new_in(allocator);
    let mut nested = NativeList::new_in(allocator);
    let (own, values) = (allocator.clone(), drops.clone());
    let grow = jobs.schedule(&[], (list.write(), nested.write()), move |(list, nested)| {
        list.extend((0..300).map(|i| values.value(i)));
        nested.extend((0..20).map(|_| {
            let mut inner = List::new_in(&own);
            inner.extend(values.values::<Vec<_>>(20));
            inner
        }));
    });
    let values = drops.clone();
    let fill = jobs.schedule(&[], table.write(), move |table: &mut Columns<_>| {
        table.extend((0..100).map(|i| (values.value(i), i as u8)));
    });
    let (grow, fill) = (grow.unwrap(), fill.unwrap());
    let tokens = (array.write(), list.read(), table.read_columns(), nested.read());
    let mix = jobs.schedule_for_each(
        &[grow, fill],
        tokens,
        100,
        9,
        |(own, list, (column, _), nested), i| {
            own.number = list[i].number + column[i].number + nested[i % 20][0].number;
        },
    );
    let _ = mix.unwrap();
    drop((list, array, table, nested));
}

#[test]
fn every_byte_is_freed_by_the_last_owner() {
    for (context, jobs) in schedulers() {
        let (allocator, ledger) = limited(usize::MAX);
        let drops = Drops::default();
        use_and_drop(&allocator, &jobs, &drops);
        jobs.complete_everything();
        assert_eq!((drops.alive(), ledger.out()), (0, 0), "{context}");
        assert!(drops.count() >= 900 && ledger.calls() > 0, "{context}");
        use_and_drop(&allocator, &jobs, &drops);
        drop((jobs, allocator));
        assert_eq!((drops.alive(), ledger.out()), (0, 0), "{context}: the scheduler went first");
    }
}

#[test]
fn containers_are_dropped_on_other_threads() {
    let (allocator, ledger) = limited(usize::MAX);
    let drops = Drops::default();
    thread::scope(|scope| {
        for _ in 0..4 {
            let list: List<_> = {
                let mut list = List::new_in(&allocator);
                list.extend(drops.values::<Vec<_>>(100));
                list
            };
            let shared = Native::of_in(list.clone(), &allocator);
            let array = NativeArray::from_slice_in(&list, &allocator);
            scope.spawn(move || drop((list, shared, array)));
            let (allocator, drops) = (&allocator, &drops);
            scope.spawn(move || {
                let mut list = NativeList::new_in(allocator);
                list.get_mut().unwrap().extend(drops.values::<Vec<_>>(100));
            });
        }
    });
    assert_eq!((drops.alive(), ledger.out()), (0, 0));
}

#[test]
fn a_job_without_memory_fails_and_its_list_is_unchanged() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let (allocator, ledger) = limited(64);
        let mut list = NativeList::new_in(&allocator);
        list.get_mut().unwrap().extend_from_slice(&[1_u32, 2, 3]);
        let job = jobs.schedule(&[], list.write(), |list| list.resize(1000, 7)).unwrap();
        let failed = jobs.try_complete(job).unwrap_err();
        assert!(failed.message().starts_with("A0017: the allocator `Limited`"), "{failed}");
        assert_eq!(list.get().unwrap()[..], [1, 2, 3]);
        drop(list);
        assert_eq!(ledger.out(), 0);
    }
}

#[test]
fn a_container_that_a_job_holds_keeps_its_name_in_errors_and_reports() {
    let memory = FrameMemory::new("level");
    let jobs = scheduler(0);
    let mut list = NativeList::<u32>::new_in(&memory.persistent()).named("first");
    let job = jobs.schedule(&[], list.write(), |list| list.push(1)).unwrap();
    let list = list.named("second");
    assert!(list.label().to_string().starts_with("`first` "));
    assert_eq!(memory.live()[0].label, list.label());
    jobs.complete(job);
    let list = list.named("third");
    assert_eq!(memory.live()[0].label, list.label());
}

//! Arrays and lists in jobs of all kinds.
#![cfg(feature = "derive")]
#![expect(unsafe_code, reason = "defines a token that names its container twice")]

use crate::common;

use std::ops::Range;

use ancho_collections::{
    ColumnsRead, ColumnsWrite, List, Native, NativeArray, NativeColumns, NativeList,
    ParallelWriter, RewindableAllocator,
};
use ancho_jobs::{
    AccessList, CellConcurrent, CellRead, CellWrite, Job, JobData, JobStruct, ParallelFor,
    ParallelForBatch, ParallelJobStruct, ScheduleError, SliceRead, SliceWrite,
};
use common::source::limited;
use common::{Drops, WORKERS, numbers, scheduler, schedulers};

/// A token that declares its container twice.
struct Twice<D>(D);

// SAFETY: the token meets the contract, and declaring more access than it has is allowed.
unsafe impl<D: JobData> JobData for Twice<D> {
    type Held = D::Held;
    type Whole<'v> = ();

    fn declare(&self, accesses: &mut AccessList) {
        self.0.declare(accesses);
        self.0.declare(accesses);
    }

    fn hold(self) -> D::Held {
        self.0.hold()
    }

    unsafe fn whole(_: &mut D::Held) {}
}

#[test]
fn a_job_that_takes_a_container_twice_and_writes_it_is_refused() {
    let jobs = scheduler(1);
    let mut array = NativeArray::<u32>::new(3).named("array");
    let mut list = NativeList::<u32>::new().named("list");
    let mut table = NativeColumns::<(u32, u8)>::new().named("table");
    let labels = [array.label(), list.label(), list.label(), list.label(), table.label()];
    let named = || jobs.named("Twice");
    let refused = [
        named().schedule(&[], Twice(array.write()), |()| {}),
        named().schedule(&[], Twice(list.write()), |()| {}),
        named().schedule(&[], Twice(list.writer()), |()| {}),
        named().schedule(&[], Twice(list.write_elements()), |()| {}),
        named().schedule(&[], Twice(table.write_columns()), |()| {}),
    ];
    for (refused, container) in refused.into_iter().zip(labels) {
        assert_eq!(refused, Err(ScheduleError::Aliased { container, job: "Twice" }));
        assert_eq!(
            refused.unwrap_err().to_string(),
            format!(
                "A0002: job `Twice` uses {container} twice and writes it; use it once, or only read it"
            )
        );
    }
    let tokens = (array.read(), array.read(), list.read(), list.read_elements(), list.read());
    jobs.complete(jobs.schedule(&[], tokens, |_| {}).unwrap());
    assert!(array.get_mut().is_ok() && list.get_mut().is_ok() && table.get_mut().is_ok());
}

#[test]
fn a_conflict_names_both_jobs_and_the_container() {
    let jobs = scheduler(1);
    let (mut list, line) = (NativeList::<u32>::new().named("paths"), line!());
    let fill = jobs.named("Fill").schedule(&[], list.write(), |list| list.push(1)).unwrap();
    let refused = jobs.named("Walk").schedule(&[], list.read_elements(), |_| {}).unwrap_err();
    let made = list.label().made();
    assert_eq!(
        (made.file().rsplit(['/', '\\']).next(), made.line()),
        (Some("containers_in_jobs.rs"), line)
    );
    assert_eq!(
        refused.to_string(),
        format!(
            "A0001: job `Walk` reads `paths` (NativeList<u32> made at {made}), which job `Fill` writes and which was \
             not completed; pass the handle of `Fill` as a dependency, complete it first, \
             for example with `wait`, or use `in_turn`, which \
             waits for earlier users"
        )
    );
    jobs.complete(fill);

    let label = |text: String, start: &str| assert!(text.starts_with(start), "{text}");
    label(NativeArray::<Vec<u8>>::new(1).label().to_string(), "the NativeArray<Vec<u8>> made at ");
    label(NativeList::<List<u8>>::new().label().to_string(), "the NativeList<List<u8>> made at ");
    label(
        NativeColumns::<(u8, f32)>::new().label().to_string(),
        "the NativeColumns<(u8, f32)> made",
    );
    label(Native::of(List::from([1_u8])).label().to_string(), "the NativeList<u8> made at ");
}

#[test]
fn every_way_to_make_a_container_says_where() {
    let memory = RewindableAllocator::new().allocator();
    let (lines, first) = (
        [
            NativeArray::<u8>::new(1).label(),
            NativeArray::<u8>::new_in(1, &memory).label(),
            NativeArray::filled(1, 1).label(),
            NativeArray::<u8>::zeroed_in(1, &memory).label(),
            NativeArray::from_fn(1, |i| i).label(),
            NativeArray::from_fn_in(1, |i| i, &memory).label(),
            NativeArray::from_slice_in(&[1], &memory).label(),
            NativeArray::from([1]).label(),
            NativeArray::from(vec![1]).label(),
            NativeList::<u8>::new().label(),
            NativeList::<u8>::new_in(&memory).label(),
            NativeList::<u8>::with_capacity(1).label(),
            NativeList::<u8>::with_capacity_in(1, &memory).label(),
            NativeList::from([1]).label(),
            NativeList::from_iter([1]).label(),
            NativeList::<u8>::default().label(),
            NativeColumns::<(u8,)>::new().label(),
            NativeColumns::<(u8,)>::new_in(&memory).label(),
            NativeColumns::from_iter([(1,)]).label(),
            NativeColumns::<(u8,)>::default().label(),
            Native::of(List::<u8>::new()).label(),
            Native::of_in(List::<u8>::new(), &memory).label(),
        ]
        .map(|label| (label.made().file(), label.made().line())),
        line!() - 24,
    );
    for (number, place) in lines.into_iter().enumerate() {
        assert_eq!(place, (file!(), first + number as u32), "container {number}");
    }
}

#[derive(JobStruct)]
struct Gather<'a> {
    from: SliceRead<'a, u32>,
    to: CellWrite<'a, List<u32>>,
    at_least: u32,
}

impl Job for Gather<'_> {
    fn execute(job: GatherView<'_>) {
        job.to.extend(job.from.iter().copied().filter(|value| value >= job.at_least));
    }
}

#[derive(JobStruct, ParallelJobStruct)]
struct Move<'a> {
    particles: ColumnsWrite<'a, (f32, f32)>,
    walls: ColumnsRead<'a, (f32, u8)>,
    time: f32,
}

impl Job for Move<'_> {
    fn execute(job: MoveView<'_>) {
        let (positions, speeds) = job.particles;
        positions.fill(job.walls.0[0]);
        speeds.fill(*job.time);
    }
}

impl ParallelFor for Move<'_> {
    fn execute(job: MoveItem<'_>, _: usize) {
        let (position, speed) = job.particles;
        *position = (*position + *speed * job.time).min(job.walls.0[1]);
    }
}

#[test]
fn structs_take_tokens_of_columns() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut particles = NativeColumns::from_iter((0..100).map(|i| (i as f32, 0.0)));
        let walls = NativeColumns::from_iter([(1.0, 0), (2.5, 0)]);
        let (walls, particles) = (&walls, &mut particles);
        let set =
            Move { particles: particles.write_columns(), walls: walls.read_columns(), time: 0.5 };
        let set = jobs.schedule_job(&[], set).unwrap();
        let step =
            Move { particles: particles.write_columns(), walls: walls.read_columns(), time: 1.0 };
        let step = jobs.schedule_parallel_for(&[set], step, 100, 8).unwrap();
        let step_more =
            Move { particles: particles.write_columns(), walls: walls.read_columns(), time: 9.0 };
        jobs.complete(jobs.schedule_parallel_for(&[step], step_more, 50, 8).unwrap());
        let positions = particles.get().unwrap().slices().0;
        assert_eq!(
            (positions[0], positions[49], positions[50], positions[99]),
            (2.5, 2.5, 1.5, 1.5)
        );
    }
}

#[derive(ParallelJobStruct)]
struct Scale<'a> {
    values: SliceWrite<'a, u32>,
    by: CellRead<'a, List<u32>>,
    large: CellConcurrent<'a, List<usize>>,
}

impl ParallelFor for Scale<'_> {
    fn execute(job: ScaleItem<'_>, index: usize) {
        *job.values *= job.by[index % 2];
        if *job.values > 50 {
            job.large.push(index);
        }
    }
}

impl ParallelForBatch for Scale<'_> {
    fn execute(mut job: ScaleBatch<'_>, range: Range<usize>) {
        assert_eq!(job.values.len(), range.len());
        let _: &mut ParallelWriter<'_, _> = &mut job.large;
        job.values.fill(job.by[1]);
        job.large.push(range.end);
    }
}

#[test]
fn structs_take_tokens_of_arrays_and_lists() {
    for (context, jobs) in schedulers() {
        let mut values = NativeArray::from_fn(20, |i| i as u32);
        let factors = NativeList::from([10, 1]);
        let mut large = NativeList::with_capacity(40);
        let mut gathered = NativeList::new();
        let scale = Scale { values: values.write(), by: factors.read(), large: large.writer() };
        let scaled = jobs.schedule_parallel_for(&[], scale, 20, 3).unwrap();
        let gather = Gather { from: values.read(), to: gathered.write(), at_least: 100 };
        let gathering = jobs.schedule_job(&[scaled], gather).unwrap();
        jobs.complete(gathering);
        assert_eq!(large.get().unwrap()[..], [6, 8, 10, 12, 14, 16, 18], "{context}");
        assert_eq!(gathered.get().unwrap()[..], [100, 120, 140, 160, 180], "{context}");

        large.get_mut().unwrap().clear();
        let batches = Scale { values: values.write(), by: factors.read(), large: large.writer() };
        jobs.complete(jobs.schedule_parallel_for_batch(&[], batches, 20, 8).unwrap());
        assert_eq!(large.get().unwrap()[..], [8, 16, 20], "{context}");
        assert_eq!(values.get().unwrap(), [1; 20], "{context}");
    }
}

/// If an earlier job fills a list, its length is unknown when the next job is scheduled.
#[test]
fn a_parallel_job_processes_the_list_that_an_earlier_job_fills() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut list = NativeList::<usize>::new();
        for length in [0, 1, 2, 63, 64, 65, 127, 500, 1023] {
            let fill = jobs.schedule(&[], list.write(), move |list| {
                list.clear();
                list.extend(0..length);
            });
            let token = list.write_elements();
            let double = jobs.named("Deferred").schedule_deferred(
                &[fill.unwrap()],
                token,
                |all| all.len(),
                16,
                |part, range| {
                    assert_eq!((part.len(), part[0]), (range.len(), range.start));
                    part.iter_mut().for_each(|value| *value *= 2);
                },
            );
            let double = double.unwrap();
            assert!(list.get().is_err(), "its length is not to be had yet");
            let mut sums = NativeArray::<usize>::new(1023);
            let tokens = (list.read_elements(), sums.write());
            let sum = jobs.named("Deferred").schedule_deferred(
                &[double],
                tokens,
                |(all, _)| all.len(),
                7,
                |(all, part), range| {
                    part.iter_mut().zip(range).for_each(|(sum, i)| *sum = all[i] + 1);
                },
            );
            jobs.complete(sum.unwrap());
            assert!(list.get().unwrap().iter().copied().eq((0..length).map(|i| 2 * i)));
            let sums = sums.get().unwrap();
            assert!(sums[..length].iter().copied().eq((0..length).map(|i| 2 * i + 1)));
            assert!(sums[length..].iter().all(|sum| *sum == 0));
        }
    }
}

#[test]
fn elements_are_written_with_a_count_that_is_right_when_the_job_runs() {
    let jobs = scheduler(1);
    let mut list = NativeList::<u32>::new();
    let fill = jobs.schedule(&[], list.write(), |list| list.resize(100, 1)).unwrap();
    let double = jobs.schedule_for_each(&[fill], list.write_elements(), 100, 8, |value, i| {
        *value += i as u32;
    });
    jobs.complete(double.unwrap());
    assert!(list.get().unwrap().iter().copied().eq(1..101));
}

#[test]
fn a_list_that_turns_out_too_short_fails_the_job() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut list = NativeList::<u32>::new();
        let fill = jobs.schedule(&[], list.write(), |list| list.resize(50, 1)).unwrap();
        let job =
            jobs.schedule_for_each(&[fill], list.write_elements(), 100, 8, |value, _| *value = 2);
        let failed = jobs.try_complete(job.unwrap()).unwrap_err();
        assert!(!failed.message().is_empty());
        let list = list.get_mut().unwrap();
        assert_eq!((list.len(), list[0], list[47]), (50, 2, 2), "batches that fit did run");
        list.push(3);
    }
}

#[test]
fn a_list_that_is_too_short_when_the_job_is_scheduled_is_refused() {
    let jobs = scheduler(1);
    let mut list = NativeList::from([1, 2, 3]).named("three");
    let container = list.label();
    let refused =
        jobs.named("Raise").schedule_for_each(&[], list.write_elements(), 4, 8, |_, _| {});
    let expected = ScheduleError::TooShort { container, job: "Raise", length: 3, count: 4 };
    assert_eq!(refused, Err(expected));
    assert!(expected.to_string().starts_with("A0010: "));
    list.get_mut().unwrap().push(4);
}

#[test]
fn indices_are_appended_and_filtered() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let values = NativeArray::from([4, 1, 6, 2, 9]);
        let mut wide = NativeList::<usize>::new();
        let mut narrow = NativeList::<u32>::from([99]);
        let large = |values: &mut &[i32], i: usize| values.get(i).is_none_or(|value| *value > 3);
        let a = jobs
            .named("Append")
            .schedule_append(&[], wide.write(), values.read(), 5, large)
            .unwrap();
        let b = jobs
            .named("Append")
            .schedule_append(&[], narrow.write(), values.read(), 5, large)
            .unwrap();
        let even = |_: &mut (), i: usize| i.is_multiple_of(2);
        let a =
            jobs.named("Append").schedule_append(&[a], wide.write(), (), 2, |(), _| true).unwrap();
        let a = jobs.named("Filter").schedule_filter(&[a], wide.write(), (), even).unwrap();
        let b =
            jobs.named("Filter").schedule_filter(&[b], narrow.write(), (), |(), i| i != 2).unwrap();
        jobs.complete_all(&[a, b]);
        assert_eq!(wide.get().unwrap()[..], [0, 2, 4, 0]);
        assert_eq!(narrow.get().unwrap()[..], [99, 0, 4]);
    }
}

/// A container that only jobs need is freed with the last of them (Unity's
/// `DeallocateOnJobCompletion`).
#[test]
fn containers_dropped_right_after_scheduling_are_freed_with_the_job() {
    #[derive(JobStruct)]
    struct Nested<'a> {
        group: (SliceRead<'a, common::Counted>, CellWrite<'a, List<common::Counted>>),
    }

    impl Job for Nested<'_> {
        fn execute(job: NestedView<'_>) {
            let (array, list) = job.group;
            assert_eq!((numbers(array), numbers(&*list)), (vec![0, 1, 2], vec![0, 1]));
            drop(list.pop());
        }
    }

    for workers in WORKERS {
        let jobs = scheduler(workers);
        let (allocator, ledger) = limited(1 << 20);
        let drops = Drops::default();
        let array = || NativeArray::from_fn_in(3, |i| drops.value(i), &allocator);
        let list = || {
            let mut list = NativeList::new_in(&allocator);
            list.get_mut().unwrap().extend(drops.values::<Vec<_>>(2));
            list
        };
        let (one, mut two) = (array(), list());
        let single = jobs.schedule(&[], (one.read(), (two.write(),)), |(array, (list,))| {
            assert_eq!((array.len(), list.len()), (3, 2));
        });
        drop((one, two));
        let (one, mut two) = (array(), list());
        let nested = jobs.schedule_job(&[], Nested { group: (one.read(), two.write()) });
        drop((one, two));
        let (mut one, mut two) = (array(), list());
        let tokens = (one.write(), two.write_elements());
        let parallel = jobs.schedule_for_each(&[], tokens, 2, 1, |(one, two), _| {
            std::mem::swap(one, two);
        });
        drop((one, two));
        assert_eq!(drops.alive(), 15);
        jobs.complete_all(&[single.unwrap(), nested.unwrap(), parallel.unwrap()]);
        assert_eq!((drops.alive(), ledger.out()), (0, 0), "{workers} workers");
    }
}

#[test]
fn a_token_that_is_dropped_changes_nothing() {
    let mut array = NativeArray::from([1, 2]);
    let mut list = NativeList::from([1, 2]);
    drop((array.write(), list.write()));
    drop((array.read(), list.writer()));
    array.get_mut().unwrap()[0] = 5;
    list.get_mut().unwrap().push(3);
    assert_eq!((array.into_vec().unwrap(), list.into_inner().unwrap().len()), (vec![5, 2], 3));
}

#[test]
fn a_job_can_replace_its_list() {
    let (allocator, ledger) = limited(1 << 20);
    let jobs = scheduler(2);
    let mut list = NativeList::with_capacity_in(10, &allocator);
    let job = jobs.schedule(&[], list.write(), |list| *list = List::from([7]));
    let more = jobs
        .schedule_for_each(&[job.unwrap()], list.write_elements(), 1, 1, |value, _| *value += 1);
    jobs.complete(more.unwrap());
    assert_eq!((list.get().unwrap()[0], ledger.out()), (8, 0));
}

#[test]
fn readers_run_beside_each_other_and_their_owner() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let array = NativeArray::from_fn(100, |i| i);
        let list = NativeList::from_iter(0..100_usize);
        let handles: Vec<_> = (0..10)
            .map(|_| {
                let tokens = (array.read(), list.read(), list.read_elements());
                jobs.schedule_for_each(&[], tokens, 100, 9, |(array, list, elements), i| {
                    assert_eq!((array[i], list[i], elements[i]), (i, i, i));
                })
            })
            .collect::<Result<_, _>>()
            .unwrap();
        jobs.flush();
        assert_eq!((array.get().unwrap()[99], list.get().unwrap()[99]), (99, 99));
        jobs.complete_all(&handles);
    }
}

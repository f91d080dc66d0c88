//! Job structs with a derive: their fields, views, generics and names.
#![cfg(feature = "derive")]

use crate::common;

use std::ops::{AddAssign, Range};

use ancho_jobs::{
    CellRead, CellWrite, Job, JobCell, JobSlice, JobStruct, ParallelFor, ParallelForBatch,
    ParallelJobStruct, ScheduleError, SliceRead, SliceWrite,
};
use common::{Drops, WORKERS, scheduler};

#[derive(JobStruct)]
struct AddUp<'a> {
    a: f32,
    b: SliceWrite<'a, f32>,
}

impl Job for AddUp<'_> {
    fn execute(job: AddUpView<'_>) {
        *job.a += job.b[0];
        job.b[0] = *job.a;
    }
}

#[test]
fn plain_fields_are_copied_and_changes_of_containers_are_seen() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let a = 5.0;
        let mut b = JobSlice::new(1, 3.0);
        let job = jobs.schedule_job(&[], AddUp { a, b: b.write() }).unwrap();
        jobs.complete(job);
        assert_eq!((a, b.as_slice().unwrap()[0]), (5.0, 8.0));
    }
}

#[test]
fn the_same_struct_can_be_scheduled_again() {
    let jobs = scheduler(1);
    let mut b = JobSlice::new(1, 0.0);
    let mut last = jobs.schedule(&[], (), |()| {}).unwrap();
    for a in [1.0, 2.0, 3.0] {
        let job = AddUp { a, b: b.write() };
        last = jobs.schedule_job(&[last], job).unwrap();
    }
    jobs.complete(last);
    assert_eq!(b.as_slice().unwrap(), [6.0]);
}

#[test]
fn a_struct_is_called_by_its_type_unless_it_is_named() {
    let jobs = scheduler(1);
    let mut b = JobSlice::new(1, 0.0);
    let first = jobs.schedule_job(&[], AddUp { a: 1.0, b: b.write() }).unwrap();
    let job = AddUp { a: 1.0, b: b.write() };
    let refused = jobs.named("Again").schedule_job(&[], job).unwrap_err();
    let ScheduleError::Conflict { job, other, .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!(job, "Again");
    assert!(other.contains("AddUp"), "{other}");
    jobs.complete(first);
}

/// Parameters of all kinds, with bounds in both places.
#[derive(ParallelJobStruct)]
struct Scale<'a, T: Copy, const N: usize, F>
where
    T: AddAssign + Send + Sync + 'static,
    F: Fn(T) -> T + Send + Sync + 'static,
{
    values: SliceWrite<'a, [T; N]>,
    offsets: SliceRead<'a, T>,
    by: CellRead<'a, T>,
    function: F,
}

impl<T: Copy, const N: usize, F> ParallelFor for Scale<'_, T, N, F>
where
    T: AddAssign + Send + Sync + 'static,
    F: Fn(T) -> T + Send + Sync + 'static,
{
    fn execute(job: ScaleItem<'_, T, N, F>, index: usize) {
        for value in job.values {
            *value += job.offsets[index];
            *value += *job.by;
            *value = (job.function)(*value);
        }
    }
}

#[test]
fn structs_may_have_types_constants_and_bounds_as_parameters() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut values = JobSlice::new(100, [1_i64, 2]);
        let offsets = JobSlice::from((0..100).collect::<Vec<i64>>());
        let by = JobCell::new(10);
        let job = Scale {
            values: values.write(),
            offsets: offsets.read(),
            by: by.read(),
            function: |value| value * 2,
        };
        let job = jobs.schedule_parallel_for(&[], job, 100, 8).unwrap();
        jobs.complete(job);
        assert_eq!(values.as_slice().unwrap()[3], [28, 30]);
    }
}

#[derive(ParallelJobStruct)]
struct Number<'a> {
    numbers: SliceWrite<'a, usize>,
    first: usize,
}

impl<'a> Number<'a> {
    fn from_five(numbers: SliceWrite<'a, usize>) -> Self {
        Self { numbers, first: 5 }
    }
}

impl ParallelForBatch for Number<'_> {
    fn execute(job: NumberBatch<'_>, range: Range<usize>) {
        assert_eq!(job.numbers.len(), range.len());
        for (number, index) in job.numbers.iter_mut().zip(range) {
            *number = job.first + index;
        }
    }
}

impl ParallelFor for Number<'_> {
    fn execute(job: NumberItem<'_>, index: usize) {
        *job.numbers += index;
    }
}

#[test]
fn a_struct_can_be_called_by_batch_and_by_index() {
    for workers in WORKERS {
        let jobs = scheduler(workers);
        let mut numbers = JobSlice::new(1000, 0);
        let set = jobs
            .schedule_parallel_for_batch(&[], Number::from_five(numbers.write()), 1000, 64)
            .unwrap();
        let added = jobs
            .named("Add")
            .schedule_parallel_for(&[set], Number::from_five(numbers.write()), 1000, 64)
            .unwrap();
        jobs.complete(added);
        let numbers = numbers.into_vec().unwrap();
        assert!(numbers.into_iter().eq((0..1000).map(|i| 5 + 2 * i)));
    }
}

#[derive(JobStruct, ParallelJobStruct)]
struct Both<'a> {
    total: SliceWrite<'a, u32>,
}

impl Job for Both<'_> {
    fn execute(job: BothView<'_>) {
        job.total.fill(2);
    }
}

impl ParallelFor for Both<'_> {
    fn execute(job: BothItem<'_>, _: usize) {
        *job.total *= 3;
    }
}

#[test]
fn one_struct_can_be_a_single_job_and_a_parallel_one() {
    let jobs = scheduler(1);
    let mut total = JobSlice::new(10, 0);
    let filled = jobs.schedule_job(&[], Both { total: total.write() }).unwrap();
    let job = Both { total: total.write() };
    let tripled = jobs.schedule_parallel_for(&[filled], job, 10, 3).unwrap();
    jobs.complete(tripled);
    assert_eq!(total.as_slice().unwrap(), [6; 10]);
}

#[derive(JobStruct, ParallelJobStruct)]
struct Unit;

#[derive(JobStruct, ParallelJobStruct)]
struct Empty {}

impl Job for Unit {
    fn execute(_: UnitView<'_>) {}
}

impl ParallelFor for Unit {
    fn execute(_: UnitItem<'_>, _: usize) {}
}

impl Job for Empty {
    fn execute(_: EmptyView<'_>) {}
}

impl ParallelForBatch for Empty {
    fn execute(_: EmptyBatch<'_>, range: Range<usize>) {
        assert_eq!(range, 0..3);
    }
}

#[test]
fn structs_without_fields_are_jobs() {
    let jobs = scheduler(1);
    let a = jobs.schedule_job(&[], Unit).unwrap();
    let b = jobs.schedule_job(&[a], Empty {}).unwrap();
    let c = jobs.schedule_parallel_for(&[b], Unit, 3, 1).unwrap();
    let d = jobs.schedule_parallel_for_batch(&[c], Empty {}, 3, 5).unwrap();
    jobs.complete(d);
}

#[derive(JobStruct)]
struct Plain {
    name: String,
    drops: common::Counted,
    sender: std::sync::mpsc::Sender<String>,
}

impl Job for Plain {
    fn execute(job: PlainView<'_>) {
        job.name.push('!');
        job.sender.send(job.name.clone()).unwrap();
        let _ = &job.drops;
    }
}

#[test]
fn structs_of_plain_fields_alone_are_jobs_and_are_dropped_once() {
    let jobs = scheduler(1);
    let drops = Drops::default();
    let (sender, receiver) = std::sync::mpsc::channel();
    let job = Plain { name: "hello".to_owned(), drops: drops.value(), sender };
    let job = jobs.schedule_job(&[], job).unwrap();
    assert_eq!(drops.count(), 0);
    jobs.complete(job);
    assert_eq!(drops.count(), 1);
    assert_eq!(receiver.recv(), Ok("hello!".to_owned()));
}

/// More fields than the longest tuple that is job data.
#[derive(JobStruct, ParallelJobStruct)]
struct Many<'a> {
    f01: SliceWrite<'a, u32>,
    f02: u32,
    f03: SliceRead<'a, u32>,
    f04: CellRead<'a, u32>,
    f05: u32,
    f06: u32,
    f07: u32,
    f08: u32,
    f09: SliceRead<'a, u32>,
    f10: u32,
    f11: u32,
    f12: u32,
    f13: u32,
    f14: CellRead<'a, u32>,
    f15: u32,
    f16: u32,
}

impl<'a> Many<'a> {
    fn new(out: SliceWrite<'a, u32>, slice: &'a JobSlice<u32>, cell: &'a JobCell<u32>) -> Self {
        Self {
            f01: out,
            f02: 2,
            f03: slice.read(),
            f04: cell.read(),
            f05: 5,
            f06: 6,
            f07: 7,
            f08: 8,
            f09: slice.read(),
            f10: 10,
            f11: 11,
            f12: 12,
            f13: 13,
            f14: cell.read(),
            f15: 15,
            f16: 16,
        }
    }
}

impl ParallelFor for Many<'_> {
    fn execute(job: ManyItem<'_>, index: usize) {
        *job.f01 = *job.f02 + job.f03[index] + *job.f04 + *job.f05 + *job.f06 + *job.f07 + *job.f08;
        *job.f01 += job.f09[index] + *job.f10 + *job.f11 + *job.f12 + *job.f13 + *job.f14;
        *job.f01 += *job.f15 + *job.f16;
    }
}

impl Job for Many<'_> {
    fn execute(job: ManyView<'_>) {
        job.f01[0] = *job.f16 * 1000 + *job.f14;
    }
}

#[test]
fn structs_may_have_more_fields_than_tuples() {
    let jobs = scheduler(1);
    let mut out = JobSlice::new(4, 0);
    let (slice, cell) = (JobSlice::new(4, 100), JobCell::new(1000));
    let many = Many::new(out.write(), &slice, &cell);
    let job = jobs.schedule_parallel_for(&[], many, 4, 1).unwrap();
    jobs.complete(job);
    assert_eq!(out.as_slice().unwrap(), [2305; 4]);
    let many = Many::new(out.write(), &slice, &cell);
    let job = jobs.schedule_job(&[], many).unwrap();
    jobs.complete(job);
    assert_eq!(out.as_slice().unwrap()[0], 17_000);
}

mod visible {
    use ancho_jobs::{CellWrite, Job, JobStruct};

    /// Public, with fields of several visibilities.
    #[derive(JobStruct)]
    pub(crate) struct Count<'a> {
        pub(crate) total: CellWrite<'a, u32>,
        pub(super) by: u32,
        secret: u32,
    }

    impl<'a> Count<'a> {
        pub(crate) fn new(total: CellWrite<'a, u32>) -> Self {
            Self { total, by: 2, secret: 40 }
        }
    }

    impl Job for Count<'_> {
        fn execute(job: CountView<'_>) {
            *job.secret += 0;
            super::count(job);
        }
    }
}

fn count(job: visible::CountView<'_>) {
    *job.total = *job.by;
}

#[test]
fn views_are_as_visible_as_their_structs() {
    let jobs = scheduler(1);
    let mut total = JobCell::new(0);
    let job = jobs.schedule_job(&[], visible::Count::new(total.write())).unwrap();
    jobs.complete(job);
    assert_eq!(total.get(), Ok(&2));
}

mod shadowed {
    //! User code that has types and modules of these names.
    #![allow(dead_code, reason = "they are only there to be in the way")]
    #![allow(non_camel_case_types, reason = "shadows the names of primitives too")]

    pub(super) struct Option;
    pub(super) struct Some;
    pub(super) struct None;
    pub(super) struct Result;
    pub(super) struct Ok;
    pub(super) struct Err;
    pub(super) struct Vec;
    pub(super) struct Box;
    pub(super) struct String;
    pub(super) trait Send {}
    pub(super) trait Sync {}
    pub(super) trait Sized {}
    pub(super) trait Drop {}
    pub(super) trait Fn {}
    pub(super) trait Into {}
    pub(super) trait JobData {}
    pub(super) trait ParallelJobData {}
    pub(super) struct Plain;
    pub(super) struct PhantomData;
    mod core {}
    mod std {}
    mod alloc {}

    #[derive(ancho_jobs::JobStruct, ancho_jobs::ParallelJobStruct)]
    pub(super) struct Hidden<'a> {
        pub(super) out: ancho_jobs::SliceWrite<'a, u32>,
        pub(super) one: u32,
    }

    #[derive(ancho_jobs::JobStruct, ancho_jobs::ParallelJobStruct)]
    pub(super) struct Nothing;

    impl ancho_jobs::Job for Hidden<'_> {
        fn execute(job: HiddenView<'_>) {
            job.out[0] = *job.one;
        }
    }

    impl ancho_jobs::ParallelFor for Hidden<'_> {
        fn execute(job: HiddenItem<'_>, _: usize) {
            *job.out += *job.one;
        }
    }

    impl ancho_jobs::Job for Nothing {
        fn execute(_: NothingView<'_>) {}
    }
}

#[test]
fn user_types_that_shadow_the_prelude_do_not_conflict() {
    let jobs = scheduler(1);
    let mut out = JobSlice::new(1, 0);
    let (one, write) = (4, out.write());
    let job = shadowed::Hidden { out: write, one };
    let set = jobs.schedule_job(&[], job).unwrap();
    let job = shadowed::Hidden { out: out.write(), one };
    let added = jobs.schedule_parallel_for(&[set], job, 1, 1).unwrap();
    let last = jobs.schedule_job(&[added], shadowed::Nothing).unwrap();
    jobs.complete(last);
    assert_eq!(out.as_slice().unwrap(), [8]);
}

/// Names that the derive's own code might use.
#[derive(JobStruct)]
struct Names<'a> {
    fields: CellWrite<'a, u32>,
    job: u32,
    r#type: u32,
    rest: u32,
    view: u32,
}

impl Job for Names<'_> {
    fn execute(job: NamesView<'_>) {
        *job.fields = *job.job + *job.r#type + *job.rest + *job.view;
    }
}

#[test]
fn fields_may_have_any_names() {
    let jobs = scheduler(0);
    let mut total = JobCell::new(0);
    let job = Names { fields: total.write(), job: 1, r#type: 2, rest: 3, view: 4 };
    jobs.complete(jobs.schedule_job(&[], job).unwrap());
    assert_eq!(total.get(), Ok(&10));
}

/// A group of tokens in a tuple, which is job data like its parts.
#[derive(JobStruct)]
struct Nested<'a> {
    group: (SliceRead<'a, u32>, CellWrite<'a, u32>),
}

impl Job for Nested<'_> {
    fn execute(job: NestedView<'_>) {
        let (values, sum) = job.group;
        *sum = values.iter().sum();
    }
}

#[test]
fn tokens_may_be_nested_in_tuples() {
    let jobs = scheduler(0);
    let values = JobSlice::from(vec![1, 2, 3]);
    let mut sum = JobCell::new(0);
    let group = (values.read(), sum.write());
    jobs.complete(jobs.schedule_job(&[], Nested { group }).unwrap());
    assert_eq!(sum.get(), Ok(&6));
}

#[test]
fn refused_structs_schedule_nothing() {
    let jobs = scheduler(0);
    let mut numbers = JobSlice::new(10, 0);
    let refused = jobs.schedule_parallel_for(&[], Number::from_five(numbers.write()), 11, 1);
    assert!(matches!(refused, Err(ScheduleError::TooShort { .. })));
    let refused = jobs.schedule_parallel_for_batch(&[], Number::from_five(numbers.write()), 10, 0);
    assert!(matches!(refused, Err(ScheduleError::ZeroBatch { .. })));
    assert_eq!(numbers.as_mut_slice().unwrap(), [0; 10]);
}

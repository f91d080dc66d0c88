//! Safe code that misuses containers is refused, or harmless.
//!
//! It panics in every callback, forgets borrowed values, runs out of memory at any call, keeps
//! writers too long, and drops values on other threads. The tests check that every element is
//! dropped once, that all memory is freed, and that results do not depend on threads. The
//! sanitizers check the rest.
#![expect(unsafe_code, reason = "implements a source of memory that fails")]

use std::alloc::{Layout, alloc, dealloc};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};
use std::thread;

use ancho_collections::{
    Allocator, Container, Lane, Lanes, List, ListLane, MemorySource, Native, NativeArray,
    NativeList, ParallelWriter,
};
use ancho_jobs::{
    BatchInfo, ConcurrentWrite, ContainerLabel, ExecutionMode, JobHandle, JobPool, JobScheduler,
    ScheduleError,
};

const MODES: [ExecutionMode; 3] =
    [ExecutionMode::Parallel, ExecutionMode::Serial, ExecutionMode::Shuffle { seed: 3 }];

fn scheduler(workers: usize) -> JobScheduler {
    JobScheduler::new(&JobPool::builder().workers(workers).build().unwrap())
}

/// A scheduler for each number of workers in each mode.
fn schedulers() -> impl Iterator<Item = JobScheduler> {
    [0, 1, 2, 4].into_iter().flat_map(|workers| MODES.map(|mode| (workers, mode))).map(
        |(workers, mode)| {
            let jobs = scheduler(workers);
            jobs.set_mode(mode);
            jobs
        },
    )
}

/// Returns the message of the panic in `body`, or `None` if it did not panic.
fn panics(body: impl FnOnce()) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(body)).err()?;
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    Some(text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default())
}

/// The number of live values, and the call at which the next panic happens.
#[derive(Clone, Default)]
struct Census {
    alive: Arc<AtomicIsize>,
    calls_left: Arc<AtomicIsize>,
}

/// A counted value that panics at a chosen call when it is made, cloned or dropped.
struct Person(Census);

impl Census {
    fn person(&self) -> Person {
        self.step("made");
        self.alive.fetch_add(1, SeqCst);
        Person(self.clone())
    }

    fn alive(&self) -> isize {
        self.alive.load(SeqCst)
    }

    /// Panics after `calls` more calls.
    fn panic_after(&self, calls: isize) {
        self.calls_left.store(calls + 1, SeqCst);
    }

    fn step(&self, what: &str) {
        if self.calls_left.fetch_sub(1, SeqCst) == 1 && !thread::panicking() {
            panic!("a person is {what}");
        }
    }
}

impl Clone for Person {
    fn clone(&self) -> Self {
        self.0.person()
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, SeqCst);
        self.0.step("dropped");
    }
}

/// Runs the script once for each call of a person, which panics.
fn with_a_panic_at_every_call(script: impl Fn(&Census)) {
    for calls in 0.. {
        let census = Census::default();
        census.panic_after(calls);
        let panicked = panics(|| script(&census));
        assert_eq!(census.alive(), 0, "with a panic after {calls} calls: {panicked:?}");
        if panicked.is_none() && census.calls_left.load(SeqCst) > 0 {
            assert!(calls > 5, "the script does something");
            return;
        }
    }
}

// Panics in user code.

#[test]
fn a_list_whose_elements_panic_drops_each_of_them_once() {
    with_a_panic_at_every_call(|census| {
        let mut list = List::new();
        list.push(census.person());
        list.extend((0..5).map(|_| census.person()));
        list.push_repeated(list[0].clone(), 3);
        list.insert(2, census.person());
        list.resize(12, census.person());
        drop(list.clone());
        list.swap_remove_range(0..3);
        list.remove_range(1..3);
        list.retain(|_| {
            census.step("looked at");
            census.alive() % 2 == 0
        });
        list.resize(4, census.person());
        list.truncate(2);
        drop(list.pop());
        list.set_capacity(list.len()).unwrap();
        list.clear();
    });
}

#[test]
fn an_array_whose_elements_panic_drops_each_of_them_once() {
    with_a_panic_at_every_call(|census| {
        let array = NativeArray::from_fn(3, |_| census.person());
        let copy = NativeArray::from_slice_in(array.get().unwrap(), &Allocator::PERSISTENT);
        drop(copy.into_vec().unwrap());
        drop(NativeArray::from(vec![census.person(), census.person()]));
    });
}

#[test]
fn elements_that_panic_in_jobs_are_dropped_once() {
    for workers in [0, 2] {
        let pool = JobPool::builder().workers(workers).build().unwrap();
        with_a_panic_at_every_call(|census| {
            let jobs = JobScheduler::new(&pool);
            let mut list = NativeList::with_capacity(6);
            let mut array = NativeArray::from_fn(4, |_| census.person());
            let makes = census.clone();
            let write = jobs.schedule_for_each(&[], list.writer(), 8, 1, move |list, _| {
                list.push(makes.person());
            });
            let makes = census.clone();
            let data = (array.write(), list.write());
            let swap =
                jobs.named("Swap").after(&[write.unwrap()]).schedule(&[], data, move |data| {
                    let (array, list) = data;
                    array[0] = makes.person();
                    if let (Some(first), Some(last)) = (list.first_mut(), array.last_mut()) {
                        mem::swap(first, last);
                    }
                    drop(list.take_overflow());
                });
            let disposed = array.dispose_after(&jobs, &[swap.unwrap()]).unwrap();
            let _ = jobs.try_complete(disposed);
            drop(list);
            // Workers panic too, which is reported on completion of the job, not here.
            let _ = catch_unwind(AssertUnwindSafe(|| census.step("called at last")));
            drop(jobs);
        });
    }
}

#[test]
fn an_iterator_that_lies_about_its_length_is_refused_or_read_to_its_end() {
    struct Liar(usize, usize);

    impl Iterator for Liar {
        type Item = usize;

        fn next(&mut self) -> Option<usize> {
            self.0 = self.0.checked_sub(1)?;
            Some(self.0)
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            (self.1, Some(self.1))
        }
    }

    let mut list = List::new();
    list.extend(Liar(100, 0));
    list.extend(Liar(3, 50));
    assert_eq!(list.len(), 103);
    assert!(panics(|| list.extend(Liar(3, usize::MAX))).unwrap().starts_with("A0017: "));
    assert_eq!(list.len(), 103);
}

// Memory that is refused.

/// The system's memory, up to a number of calls. Later calls are refused.
struct Failing {
    calls: AtomicIsize,
    out: Arc<AtomicUsize>,
}

// SAFETY: the memory is the system's, whose allocator meets the same contract; the numbers only
// refuse.
unsafe impl MemorySource for Failing {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        if self.calls.fetch_sub(1, SeqCst) <= 0 {
            return None;
        }
        self.out.fetch_add(layout.size(), SeqCst);
        // SAFETY: the size is not zero.
        NonNull::new(unsafe { alloc(layout) })
    }

    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        self.out.fetch_sub(layout.size(), SeqCst);
        // SAFETY: `allocate` allocated it with this layout.
        unsafe { dealloc(memory.as_ptr(), layout) };
    }
}

#[test]
fn memory_that_runs_out_at_any_call_is_refused_with_a_code() {
    let jobs = scheduler(1);
    for calls in 0.. {
        let (out, census) = (Arc::<AtomicUsize>::default(), Census::default());
        let source = Failing { calls: AtomicIsize::new(calls), out: Arc::clone(&out) };
        let allocator = Allocator::custom("Failing", source);
        let panicked = panics(|| {
            let mut list = List::with_capacity_in(2, &allocator);
            list.extend((0..40).map(|_| census.person()));
            let mut copy = list.clone();
            copy.truncate(3);
            copy.set_capacity(5).map_err(|error| panic!("{error}")).unwrap();
            assert_eq!((copy.len(), copy.capacity()), (3, 5));
            copy.set_capacity(100).map_err(|error| panic!("{error}")).unwrap();
            copy.insert(1, census.person());
            copy.push_repeated(census.person(), 200);
            let array = NativeArray::from_fn_in(10, |_| census.person(), &allocator);
            let zeros = NativeArray::<u64>::zeroed_in(10, &allocator);
            let mut shared = Native::of_in(list, &allocator);
            let data = (shared.write(), zeros.read());
            let push = jobs.schedule(&[], data, |(list, _)| {
                let more = list.clone();
                list.extend(more.iter().cloned());
            });
            if let Err(failed) = jobs.try_complete(push.unwrap()) {
                panic!("{}", failed.message());
            }
            drop(array);
        });
        assert_eq!(census.alive(), 0);
        assert_eq!(out.load(SeqCst), 0, "all memory was given back");
        match panicked {
            None => return,
            Some(message) => assert!(
                message.starts_with("A0017: the allocator `Failing` has no room for "),
                "{message}"
            ),
        }
    }
}

#[test]
fn a_list_that_cannot_be_made_smaller_stays_as_it_was() {
    let source = Failing { calls: AtomicIsize::new(1), out: Arc::default() };
    let mut list = List::with_capacity_in(100, &Allocator::custom("Failing", source));
    list.extend_from_slice(&[1, 2, 3]);
    let refused = list.set_capacity(10).unwrap_err();
    assert!(refused.to_string().starts_with("A0017: "));
    assert_eq!((&list[..], list.capacity()), (&[1, 2, 3][..], 100));
    list.clear();
    list.set_capacity(0).unwrap();
    assert_eq!(list.capacity(), 0);
}

#[test]
fn lengths_beyond_all_memory_are_refused() {
    let refused = |body: fn()| {
        let message = panics(body).unwrap();
        assert!(message.starts_with("A0017: "), "{message}");
    };
    refused(|| drop(List::<u16>::with_capacity(usize::MAX)));
    refused(|| drop(NativeArray::<u8>::zeroed_in(usize::MAX, &Allocator::PERSISTENT)));
    refused(|| drop(NativeArray::<u64>::new(usize::MAX / 8 + 1)));
    refused(|| List::from([1_u8]).reserve(usize::MAX));
    refused(|| List::from([1_u8]).resize(usize::MAX, 0));
    refused(|| List::from([1_u8]).push_repeated(0, usize::MAX));
    assert!(List::from([1_u8]).set_capacity(usize::MAX).is_err());
}

// Sizes and alignments.

#[test]
fn elements_without_a_size_can_be_counted_without_end() {
    for jobs in schedulers() {
        let mut list = NativeList::<()>::new();
        list.get_mut().unwrap().extend_from_slice(&[(); usize::MAX - 10]);
        let job = jobs.schedule_for_each(&[], list.writer(), 10, 1, |list, _| list.push(()));
        jobs.complete(job.unwrap());
        assert_eq!(list.get().unwrap().len(), usize::MAX);

        // There is no room for another element, even of size zero.
        assert!(panics(|| list.get_mut().unwrap().push(())).is_some());
        assert!(panics(|| list.get_mut().unwrap().extend_from_slice(&[(); 3])).is_some());
        assert!(panics(|| list.get_mut().unwrap().push_repeated((), 3)).is_some());
        let job = jobs.schedule_for_each(&[], list.writer(), 4, 1, |list, _| {
            list.extend_from_slice(&[(); 3]);
        });
        assert!(jobs.try_complete(job.unwrap()).is_err());
        assert_eq!(list.get().unwrap().len(), usize::MAX);
    }
}

#[test]
fn elements_of_any_alignment_are_aligned() {
    fn check<T: Copy + Send + Sync + PartialEq + 'static>(value: T, align: usize) {
        let is_aligned = move |value: &T| std::ptr::from_ref(value).addr().is_multiple_of(align);
        for jobs in [scheduler(0), scheduler(2)] {
            let out = Arc::<AtomicUsize>::default();
            let source = Failing { calls: AtomicIsize::new(isize::MAX), out: Arc::clone(&out) };
            let allocator = Allocator::custom("Counting", source);
            let mut list = NativeList::with_capacity_in(9, &allocator);
            let mut array = NativeArray::from_slice_in(&[value; 9], &allocator);
            let data = (list.writer(), array.write());
            let job = jobs.schedule_for_each(&[], data, 9, 2, move |(list, element), _| {
                assert!(is_aligned(element));
                list.push(*element);
            });
            let look = jobs.schedule(&[job.unwrap()], list.read_elements(), move |all| {
                assert!(all.len() == 9 && all.iter().all(is_aligned));
            });
            jobs.complete(look.unwrap());
            let list = list.get_mut().unwrap();
            list.push(value);
            list.set_capacity(10).unwrap();
            assert!(list.iter().all(|element| is_aligned(element) && *element == value));
            assert!(array.into_vec().unwrap().iter().all(is_aligned));
            *list = List::new();
            assert_eq!(out.load(SeqCst), 0);
        }
    }

    #[derive(Clone, Copy, PartialEq)]
    #[repr(align(128))]
    struct Lines(u8);

    #[derive(Clone, Copy, PartialEq)]
    #[repr(align(4096))]
    struct Page(u8);

    #[derive(Clone, Copy, PartialEq)]
    #[repr(align(4096))]
    struct Corner;

    check(5_u8, 1);
    check([5_u8; 3], 1);
    check(Lines(5), 128);
    check(Page(5), 4096);
    check(Corner, 4096);
    check((), 1);
}

// Writers that are misused.

#[test]
fn a_forgotten_writer_loses_only_its_own_writes() {
    for jobs in schedulers() {
        // Zero-sized, so that nothing is leaked.
        let mut list = NativeList::<()>::new();
        let job = jobs.schedule_parallel(&[], list.writer(), 10, 1, |mut list, range| {
            list.push(());
            if range.start == 4 {
                mem::forget(list);
            }
        });
        jobs.complete(job.unwrap());
        assert_eq!(list.get().unwrap().len(), 9);
    }
}

#[test]
fn swapped_lanes_keep_their_elements() {
    for jobs in schedulers() {
        let census = Census::default();
        let mut list = NativeList::with_capacity(40);
        let makes = census.clone();
        let job = jobs.named("Work").schedule_work(&[], list.writer(), 40, 1, move |work| {
            let mut kept = Vec::new();
            while let Some((mut writer, _)) = work.next_batch() {
                writer.push(makes.person());
                kept.push(writer);
            }
            if let [first, .., last] = &mut kept[..] {
                mem::swap(&mut **first, &mut **last);
            }
            // Another thread may drop them.
            thread::scope(|scope| scope.spawn(move || drop(kept)).join()).unwrap();
        });
        jobs.complete(job.unwrap());
        assert_eq!((list.get().unwrap().len(), census.alive()), (40, 40));
        drop(list);
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn a_lane_that_is_moved_out_belongs_to_its_new_owner() {
    use std::sync::Mutex;

    for jobs in schedulers() {
        let census = Census::default();
        let stolen = Arc::new(Mutex::new(Vec::<ListLane<Person>>::new()));
        let mut list = NativeList::with_capacity(10);
        let (makes, takes) = (census.clone(), Arc::clone(&stolen));
        let job = jobs.schedule_for_each(&[], list.writer(), 10, 1, move |list, i| {
            list.push(makes.person());
            if i % 2 == 0 {
                takes.lock().unwrap().push(mem::take(list));
            }
        });
        jobs.complete(job.unwrap());
        assert_eq!(list.get().unwrap().len(), 5);
        drop(list);
        assert_eq!(census.alive(), 5);
        stolen.lock().unwrap().clear();
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn the_writes_of_a_deferred_count_come_first_on_any_threads() {
    let expected = (0..200).map(|i| i + 1000).collect::<Vec<_>>();
    let expected = [vec![1, 2], expected].concat();
    for jobs in schedulers() {
        for _ in 0..5 {
            let mut list = NativeList::with_capacity(300);
            let count = |mut list: ParallelWriter<'_, ListLane<usize>>| {
                list.extend_from_slice(&[1, 2]);
                200
            };
            let write = |mut list: ParallelWriter<'_, ListLane<usize>>, range| {
                list.extend_from_slice(
                    &Vec::from_iter(range).iter().map(|i| i + 1000).collect::<Vec<_>>(),
                );
            };
            let job = jobs
                .named("Deferred")
                .schedule_deferred(&[], list.writer(), count, 1, write)
                .unwrap();
            jobs.complete(job);
            assert_eq!(list.get().unwrap()[..], expected);
        }
    }
}

#[test]
fn writes_without_a_job_are_settled_with_the_next_job() {
    let jobs = scheduler(2);
    let mut list = NativeList::with_capacity(10);
    let by_hand = BatchInfo { index: 7, range: 0..0, thread: 99 };
    list.get().unwrap().writer(&by_hand).push(7);
    let reads = jobs.schedule_parallel(&[], list.read(), 4, 1, |list, range| {
        let batch = BatchInfo { index: range.start, range, thread: 0 };
        list.writer(&batch).push(batch.index);
    });
    jobs.complete(reads.unwrap());
    assert!(list.get().unwrap().is_empty());
    let job = jobs.schedule(&[], list.writer(), |_| {}).unwrap();
    jobs.complete(job);
    assert_eq!(list.get().unwrap()[..], [0, 1, 2, 3, 7]);
}

#[test]
fn writers_that_find_no_room_lose_nothing() {
    for jobs in schedulers() {
        let census = Census::default();
        let mut list = NativeList::with_capacity(7);
        let mut last = JobHandle::COMPLETED;
        for _ in 0..2 {
            let makes = census.clone();
            last = jobs
                .named("Write")
                .after(&[last])
                .schedule_for_each(&[], list.writer(), 10, 3, move |list, _| {
                    list.push(makes.person());
                })
                .unwrap();
        }
        let failed = jobs.try_complete(last).unwrap_err();
        assert!(failed.message().starts_with("A0015: parallel writers wrote 10 elements to "));
        let list = list.get_mut().unwrap();
        assert_eq!((list.len(), census.alive()), (7, 20));
        drop(list.clone());
        assert_eq!(list.take_overflow().len(), 13);
        assert_eq!(census.alive(), 7);
    }
}

/// A container whose lanes call back to the test.
#[derive(Default)]
struct Odd {
    lanes: Lanes<OddLane>,
    settled: Vec<usize>,
}

/// A lane whose `is_empty` panics after 13 was written to it.
#[derive(Default)]
struct OddLane(Vec<usize>);

impl Lane for OddLane {
    fn is_empty(&self) -> bool {
        assert!(!self.0.contains(&13) || thread::panicking(), "bad luck");
        self.0.is_empty()
    }
}

impl Container for Odd {}

impl ConcurrentWrite for Odd {
    type Writer<'v> = ParallelWriter<'v, OddLane>;
    type Item<'b> = &'b mut OddLane;

    fn writer(&self, batch: &BatchInfo) -> ParallelWriter<'_, OddLane> {
        self.lanes.open(batch.index)
    }

    fn item<'b>(writer: &'b mut ParallelWriter<'_, OddLane>, _: usize) -> &'b mut OddLane {
        writer
    }

    fn settle(&mut self, _: ContainerLabel) {
        let Self { lanes, settled } = self;
        lanes.settle(|lane| {
            assert!(!lane.0.contains(&17), "no seventeen");
            settled.append(&mut lane.0);
        });
    }
}

#[test]
fn lanes_survive_panics_in_the_code_of_their_author() {
    for jobs in schedulers() {
        let mut odd = Native::of(Odd::default());
        let mut write = |values: std::ops::Range<usize>| {
            let first = values.start;
            let job = jobs.schedule_for_each(&[], odd.writer(), values.len(), 1, move |lane, i| {
                lane.0.push(first + i);
            });
            let failed = jobs.try_complete(job.unwrap()).map_err(|failed| failed.to_string());
            (failed, mem::take(&mut odd.get_mut().unwrap().settled))
        };
        let (failed, settled) = write(10..16);
        assert!(failed.unwrap_err().contains("bad luck"));
        assert_eq!(settled, [10, 11, 12, 14, 15], "the others are settled");
        let (failed, settled) = write(15..20);
        assert!(failed.unwrap_err().contains("no seventeen"));
        assert_eq!(settled, [15, 16], "those before it");
        assert_eq!(write(20..23), (Ok(()), vec![20, 21, 22]), "nothing is left of the others");
    }
}

// Containers that are moved.

#[test]
fn a_list_taken_by_a_job_leaves_an_empty_one() {
    for jobs in schedulers() {
        let census = Census::default();
        let mut list = (0..5).map(|_| census.person()).collect::<NativeList<_>>();
        let take = jobs.schedule(&[], list.write(), |list| drop(mem::take(list))).unwrap();
        let count = |all: &mut [Person]| all.len();
        let none = jobs.named("Deferred").schedule_deferred(
            &[take],
            list.write_elements(),
            count,
            1,
            |_, _| {
                unreachable!("there are none");
            },
        );
        let some = jobs.schedule_for_each(&[none.unwrap()], list.write_elements(), 1, 1, |_, _| {});
        let failed = jobs.try_complete(some.unwrap()).unwrap_err();
        assert!(failed.message().starts_with("A0010: "), "{failed}");
        assert_eq!((list.get().unwrap().len(), census.alive()), (0, 0));
    }
}

#[test]
fn the_list_and_its_elements_are_one_to_the_checks() {
    for jobs in schedulers() {
        let mut list = NativeList::from([1, 2, 3]);
        let write = jobs.schedule(&[], list.write_elements(), |all| all[0] = 5).unwrap();
        let conflict = |refused| {
            assert!(matches!(refused, Err(ScheduleError::Conflict { .. })), "{refused:?}");
        };
        conflict(jobs.schedule(&[], list.write(), |_| {}));
        conflict(jobs.schedule(&[], list.writer(), |_| {}));
        conflict(jobs.schedule(&[], list.read(), |_| {}));
        conflict(jobs.schedule(&[], list.read_elements(), |_| {}));
        conflict(jobs.schedule_for_each(&[], list.write_elements(), 3, 1, |_, _| {}));
        assert!(jobs.run(list.read(), |_| {}).is_err());
        assert!(jobs.run_parallel(list.writer(), 3, 1, |_, _| {}).is_err());
        assert!(list.get().is_err() && list.get_mut().is_err());
        let mut list = list.into_inner().unwrap_err().container;
        let grow = jobs.schedule(&[write], list.write(), |list| list.push(4)).unwrap();
        let mut list = list.dispose_after(&jobs, &[write]).unwrap_err().container;
        jobs.complete(grow);
        assert_eq!(list.get_mut().unwrap()[..], [5, 2, 3, 4]);
    }
}

#[test]
fn containers_are_dropped_on_any_thread_and_their_source_after_them() {
    struct Watched(Failing, Arc<AtomicUsize>);

    // SAFETY: forwards to another source, which meets the contract.
    unsafe impl MemorySource for Watched {
        fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
            self.0.allocate(layout)
        }

        unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
            // SAFETY: by the contract of `deallocate`, the memory is from this source, and so from
            // the inner one, with this layout.
            unsafe { self.0.deallocate(memory, layout) };
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            assert_eq!(self.0.out.load(SeqCst), 0, "everything was given back before");
            self.1.fetch_add(1, SeqCst);
        }
    }

    for jobs in schedulers() {
        let (census, gone) = (Census::default(), Arc::<AtomicUsize>::default());
        let source = Failing { calls: AtomicIsize::new(isize::MAX), out: Arc::default() };
        let allocator = Allocator::custom("Watched", Watched(source, Arc::clone(&gone)));
        let mut list = NativeList::with_capacity_in(20, &allocator).named("list");
        let mut array = NativeArray::from_fn_in(20, |_| census.person(), &allocator);
        drop(allocator);
        let data = (list.writer(), array.write());
        let job = jobs.schedule_for_each(&[], data, 20, 1, |(list, person), _| {
            list.push(person.clone());
        });
        jobs.flush();
        thread::spawn(move || drop((list.named("renamed"), array))).join().unwrap();
        jobs.complete(job.unwrap());
        assert_eq!((census.alive(), gone.load(SeqCst)), (0, 1));
    }
}

#[test]
fn containers_of_containers_are_freed_from_the_inside() {
    let jobs = scheduler(2);
    let census = Census::default();
    let mut lists = NativeList::with_capacity(10);
    let makes = census.clone();
    let job = jobs.schedule_for_each(&[], lists.writer(), 10, 1, move |lists, i| {
        lists.push((0..i).map(|_| makes.person()).collect::<List<_>>());
    });
    let drain = jobs.schedule(&[job.unwrap()], lists.write(), |lists| lists.truncate(5)).unwrap();
    jobs.complete(drain);
    assert_eq!(census.alive(), 10);
    drop(lists);
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_job_that_never_runs_frees_its_containers() {
    for jobs in schedulers() {
        let census = Census::default();
        let mut list = NativeList::with_capacity(5);
        let mut array = NativeArray::from_fn(5, |_| census.person());
        let bad = jobs.schedule(&[], (), |()| panic!("bad")).unwrap();
        let (makes, held) = (census.clone(), census.person());
        let data = (list.writer(), array.write());
        let job = jobs.schedule_for_each(&[bad], data, 5, 1, move |(list, _), _| {
            list.push(makes.person());
            let _ = &held;
        });
        drop(array);
        assert!(jobs.try_complete(job.unwrap()).is_err());
        assert_eq!((list.get().unwrap().len(), census.alive()), (0, 0));
    }
}

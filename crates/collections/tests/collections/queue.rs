//! Queues: comparison with `VecDeque`, drops, and lack of memory.
#![expect(unsafe_code, reason = "implements a source of memory that refuses")]

use crate::common::model;

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use ancho_collections::{Allocator, MemorySource, NativeQueue, Queue};
use ancho_jobs::{JobPool, JobScheduler};
use model::{cases, time_is_up};
use proptest::prelude::*;

/// A source that refuses requests beyond a limit.
struct Limited(usize);

// SAFETY: the memory is the system's, whose allocator meets the same contract.
unsafe impl MemorySource for Limited {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        if layout.size() > self.0 {
            return None;
        }
        // SAFETY: the layout is not of zero bytes, by the contract of `MemorySource`.
        NonNull::new(unsafe { alloc(layout) })
    }

    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        // SAFETY: `allocate` allocated it with this layout.
        unsafe { dealloc(memory.as_ptr(), layout) };
    }
}

thread_local! {
    static ALIVE: Cell<isize> = const { Cell::new(0) };
}

/// Counts its live values, and panics on drop if armed.
#[derive(Debug, PartialEq)]
struct Counted {
    number: u32,
    panics: bool,
}

impl Counted {
    fn new(number: u32) -> Self {
        ALIVE.with(|alive| alive.set(alive.get() + 1));
        Self { number, panics: false }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        assert!(!self.panics, "asked to");
        Self::new(self.number)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.with(|alive| alive.set(alive.get() - 1));
        assert!(!self.panics || std::thread::panicking(), "asked to");
    }
}

fn alive() -> isize {
    ALIVE.with(Cell::get)
}

/// Makes a queue of eight filled slots, with the first element in the sixth.
fn wrapped<T>(mut element: impl FnMut(u32) -> T) -> Queue<T> {
    let mut queue = Queue::with_capacity(8);
    for number in 0..5 {
        queue.enqueue(element(number));
        queue.dequeue();
    }
    (0..8).for_each(|number| queue.enqueue(element(number)));
    assert_eq!(queue.capacity(), 8);
    queue
}

#[test]
fn elements_that_wrap_around_keep_their_order() {
    let mut queue = wrapped(u64::from);
    let (front, back) = queue.as_slices();
    assert_eq!((front, back), (&[0, 1, 2][..], &[3, 4, 5, 6, 7][..]));
    queue.enqueue(8);
    assert_eq!(queue.capacity(), 16);
    assert_eq!(queue.as_slices(), (&[0, 1, 2, 3, 4, 5, 6, 7, 8][..], &[][..]));
    assert_eq!(queue.to_list()[..], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn every_element_is_dropped_once() {
    let mut queue = wrapped(Counted::new);
    assert_eq!(alive(), 8);
    queue.enqueue(Counted::new(8));
    drop(queue.dequeue());
    assert_eq!(alive(), 8);
    let copy = queue.clone();
    assert_eq!((alive(), &copy), (16, &queue));
    queue.clear();
    assert_eq!(alive(), 8);
    drop(copy);
    assert_eq!(alive(), 0);

    let mut queue = wrapped(Counted::new);
    assert_eq!(queue.drain().next().map(|first| first.number), Some(0));
    assert_eq!((alive(), queue.len()), (0, 0));
    let mut queue = wrapped(Counted::new);
    std::mem::forget(queue.drain());
    assert_eq!(
        (alive(), queue.len()),
        (8, 8),
        "a drain that is forgotten leaves what it did not take"
    );
    drop(queue);
    assert_eq!(alive(), 0);
}

/// Returns a function for [`wrapped`] that makes elements, one of which panics.
fn panics_at(place: u32) -> impl FnMut(u32) -> Counted {
    let mut made = 0;
    move |number| {
        made += 1;
        let mut counted = Counted::new(number);
        counted.panics = made > 5 && number == place;
        counted
    }
}

#[test]
fn a_panic_in_an_element_loses_no_other() {
    for place in 0..8 {
        let mut queue = wrapped(panics_at(place));
        catch_unwind(AssertUnwindSafe(|| queue.clear())).unwrap_err();
        assert_eq!((alive(), queue.len()), (0, 0));
        queue.enqueue(Counted::new(1));
        drop(queue);
        assert_eq!(alive(), 0);

        let queue = wrapped(panics_at(place));
        catch_unwind(AssertUnwindSafe(|| queue.clone())).unwrap_err();
        assert_eq!(alive(), 8, "the copies that were made are gone");
        catch_unwind(AssertUnwindSafe(|| drop(queue))).unwrap_err();
        assert_eq!(alive(), 0);
    }
}

#[test]
fn elements_without_bytes_are_counted() {
    let mut queue = Queue::new();
    for _ in 0..100 {
        queue.enqueue(());
    }
    assert_eq!((queue.len(), queue.iter().count()), (100, 100));
    assert_eq!(queue.dequeue(), Some(()));
    queue.extend([(); 50]);
    assert_eq!(queue.drain().count(), 149);
    assert_eq!(queue.dequeue(), None);

    struct Dropped;
    impl Drop for Dropped {
        fn drop(&mut self) {
            ALIVE.with(|alive| alive.set(alive.get() - 1));
        }
    }
    ALIVE.with(|alive| alive.set(10));
    let mut queue = Queue::new();
    (0..10).for_each(|_| queue.enqueue(Dropped));
    drop(queue.dequeue());
    drop(queue);
    assert_eq!(alive(), 0);
}

#[test]
fn elements_of_any_alignment_are_aligned() {
    #[repr(align(128))]
    struct Wide(u8);
    let queue: Queue<Wide> = (0..100).map(Wide).collect();
    for (number, wide) in (0..).zip(&queue) {
        assert!(std::ptr::from_ref(wide).addr().is_multiple_of(128));
        assert_eq!(wide.0, number);
    }
}

#[test]
fn nothing_is_lost_without_memory() {
    let mut queue = Queue::new_in(&Allocator::custom("Limited", Limited(64)));
    for number in 0..16_u32 {
        queue.try_enqueue(number).unwrap();
    }
    let refused = queue.try_enqueue(16).unwrap_err();
    assert_eq!(refused.value, 16);
    assert_eq!(
        refused.to_string(),
        "A0017: the allocator `Limited` has no room for 17 elements of 4 bytes; ask for fewer, or use \
         another allocator"
    );
    assert!(queue.iter().copied().eq(0..16));
    assert!(queue.try_reserve(usize::MAX).is_err());
    let panic = catch_unwind(AssertUnwindSafe(|| queue.enqueue(16))).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().starts_with("A0017: "));
    assert_eq!((queue.dequeue(), queue.len()), (Some(0), 15));
    queue.enqueue(16);
    assert!(queue.iter().copied().eq(1..17));
}

#[test]
fn a_queue_that_jobs_share_is_named_by_its_alias() {
    let queue = NativeQueue::<u32>::new();
    assert!(queue.label().to_string().starts_with("the NativeQueue<u32> made at "));
}

#[test]
fn a_single_job_writes_through_both_tokens() {
    let jobs = JobScheduler::new(&JobPool::new());
    let mut queue = NativeQueue::from([1]);
    let add = jobs.schedule(&[], queue.write(), |queue| queue.enqueue(2)).unwrap();
    let write = jobs.schedule(&[add], queue.writer(), |mut queue| queue.enqueue(3)).unwrap();
    assert!(queue.get().is_err(), "the job was not completed");
    jobs.complete(write);
    assert_eq!(*queue.get().unwrap(), Queue::from([1, 2, 3]));
    let read = jobs.schedule(&[], queue.read(), |queue| assert_eq!(queue.len(), 3)).unwrap();
    assert_eq!(queue.get().unwrap().peek(), Some(&1), "the owner may read beside the job");
    jobs.complete(read);
}

#[derive(Debug, Clone)]
enum Step {
    Enqueue(u16),
    Dequeue,
    ChangeFirst(u16),
    Reserve(usize),
    Extend(Vec<u16>),
    Clear,
    DrainSome(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => any::<u16>().prop_map(Step::Enqueue),
        8 => Just(Step::Dequeue),
        1 => any::<u16>().prop_map(Step::ChangeFirst),
        1 => (0_usize..40).prop_map(Step::Reserve),
        2 => prop::collection::vec(any::<u16>(), 0..20).prop_map(Step::Extend),
        1 => Just(Step::Clear),
        1 => (0_usize..10).prop_map(Step::DrainSome),
    ]
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_script_equals_a_deque(steps in prop::collection::vec(step(), 0..200)) {
        if time_is_up() {
            return Ok(());
        }
        let mut queue = Queue::new();
        let mut model = VecDeque::new();
        for step in steps {
            match step {
                Step::Enqueue(value) => {
                    queue.enqueue(Box::new(value));
                    model.push_back(Box::new(value));
                }
                Step::Dequeue => prop_assert_eq!(queue.dequeue(), model.pop_front()),
                Step::ChangeFirst(value) => {
                    if let Some(first) = queue.peek_mut() {
                        **first = value;
                    }
                    if let Some(first) = model.front_mut() {
                        **first = value;
                    }
                }
                Step::Reserve(additional) => queue.reserve(additional),
                Step::Extend(values) => {
                    queue.extend(values.iter().copied().map(Box::new));
                    model.extend(values.into_iter().map(Box::new));
                }
                Step::Clear => {
                    queue.clear();
                    model.clear();
                }
                Step::DrainSome(count) => {
                    let drained: Vec<_> = queue.drain().take(count).collect();
                    prop_assert!(drained.into_iter().eq(model.drain(..).take(count)));
                }
            }
            prop_assert_eq!(queue.len(), model.len());
            prop_assert_eq!(queue.is_empty(), model.is_empty());
            prop_assert_eq!(queue.peek(), model.front());
            prop_assert!(queue.capacity() >= queue.len());
            prop_assert!(queue.iter().eq(&model));
            prop_assert!(queue.iter().rev().eq(model.iter().rev()));
            let (front, back) = queue.as_slices();
            prop_assert!(front.iter().chain(back).eq(&model));
        }
        let copy = queue.clone();
        prop_assert_eq!(&copy, &queue);
        prop_assert_eq!(format!("{copy:?}"), format!("{model:?}"));
    }
}

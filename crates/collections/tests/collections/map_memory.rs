//! Maps and sets whose allocator is exhausted: an error, and no loss.
#![expect(unsafe_code, reason = "implements a source of memory")]

use std::alloc::{Layout, alloc, dealloc};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use ancho_collections::{
    Allocator, CapacityError, Map, MemorySource, MultiMap, NativeHashMap, NativeMultiHashMap, Set,
};
use ancho_jobs::{JobPool, JobScheduler};

/// A source of the system's memory that can be closed, and counts the bytes.
#[derive(Clone, Default)]
struct Tap {
    closed: Arc<AtomicBool>,
    out: Arc<AtomicUsize>,
}

// SAFETY: the memory is the system's, whose allocator meets the same contract; the tap only
// refuses.
unsafe impl MemorySource for Tap {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        if self.closed.load(Relaxed) {
            return None;
        }
        self.out.fetch_add(layout.size(), Relaxed);
        // SAFETY: the layout is not of zero bytes, by the contract of `MemorySource`.
        NonNull::new(unsafe { alloc(layout) })
    }

    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        self.out.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `allocate` allocated it with this layout.
        unsafe { dealloc(memory.as_ptr(), layout) };
    }
}

fn tap() -> (Allocator, Tap) {
    let tap = Tap::default();
    (Allocator::custom("Tap", tap.clone()), tap)
}

fn panics_with_a0017(action: impl FnOnce()) {
    let payload = catch_unwind(AssertUnwindSafe(action)).unwrap_err();
    let message = payload.downcast_ref::<String>().unwrap();
    assert!(message.starts_with("A0017: the allocator `Tap` has no room for "), "{message}");
}

#[test]
fn a_map_that_cannot_grow_reports_it_and_stays_unchanged() {
    let (allocator, tap) = tap();
    let mut map = Map::with_capacity_in(7, &allocator);
    map.extend((0..7).map(|i| (i, i)));
    tap.closed.store(true, Relaxed);
    panics_with_a0017(|| _ = map.insert(7, 7));
    panics_with_a0017(|| _ = map.try_add(7, 7));
    panics_with_a0017(|| map.reserve(1));
    assert!(matches!(map.set_capacity(8), Err(CapacityError::Allocation(_))));
    assert_eq!(map.insert(3, 30), Some(3), "which needs no memory");
    assert!((0..7).all(|key| map.contains_key(&key)) && map.len() == 7);
    tap.closed.store(false, Relaxed);
    map.insert(7, 7);
    map.set_capacity(1000).unwrap();
    tap.closed.store(true, Relaxed);
    assert!(matches!(map.set_capacity(8), Err(CapacityError::Allocation(_))));
    assert_eq!((map.len(), map[&7]), (8, 7), "making it smaller needs memory too");
    drop(map);
    assert_eq!(tap.out.load(Relaxed), 0);
}

#[test]
fn a_multi_map_that_cannot_grow_reports_it_and_stays_unchanged() {
    let (allocator, tap) = tap();
    let mut map = MultiMap::with_capacity_in(3, &allocator);
    map.extend([(1, 'a'), (1, 'b'), (2, 'c')]);
    tap.closed.store(true, Relaxed);
    panics_with_a0017(|| map.add(1, 'd'));
    assert!(map.try_reserve(1).is_err() && map.set_capacity(4).is_err());
    map.remove(&2);
    map.add(3, 'e');
    assert!(map.values_for(&1).eq(&['a', 'b']) && map.values_for(&3).eq(&['e']));
    drop(map);
    assert_eq!(tap.out.load(Relaxed), 0);
}

#[test]
fn sets_use_their_allocator() {
    let (allocator, tap) = tap();
    let set = Set::<u64>::with_capacity_in(100, &allocator);
    assert!(tap.out.load(Relaxed) >= 800);
    assert_eq!(set.allocator(), &allocator);
    drop(set);
    assert_eq!(tap.out.load(Relaxed), 0);
}

#[test]
fn parallel_writers_of_a_map_ask_for_no_memory_of_it() {
    let jobs = JobScheduler::new(&JobPool::builder().workers(1).build().unwrap());
    let (allocator, tap) = tap();
    let mut map = NativeHashMap::<usize, usize>::with_capacity_in(448, &allocator);
    tap.closed.store(true, Relaxed);
    for round in 0..3 {
        let job = jobs.schedule_for_each(&[], map.writer(), 448, 16, move |map, i| {
            map.try_add(round * 1000 + i, i);
        });
        jobs.complete(job.unwrap());
        assert_eq!(map.get().unwrap().len(), 448);
        map.get_mut().unwrap().retain(|_, _| false);
    }
}

#[test]
fn keys_without_memory_are_in_the_overflow() {
    let jobs = JobScheduler::new(&JobPool::builder().workers(1).build().unwrap());
    let (allocator, tap) = tap();
    let mut map = NativeMultiHashMap::<usize, usize>::new_in(&allocator);
    // Room for many values of few keys.
    map.get_mut().unwrap().extend((0..50).map(|i| (1000, i)));
    map.get_mut().unwrap().retain_key(&1000, |value| *value < 1);
    tap.closed.store(true, Relaxed);
    let job = jobs.schedule_for_each(&[], map.writer(), 20, 4, |map, i| map.add(i, i));
    let failed = jobs.try_complete(job.unwrap()).unwrap_err();
    assert!(failed.message().starts_with("A0017: "), "{}", failed.message());
    let map = map.get_mut().unwrap();
    let mut all = map.iter().map(|(key, value)| (*key, *value)).collect::<Vec<_>>();
    all.sort_unstable();
    let in_map = all.len() - 1;
    assert_eq!(all.pop(), Some((1000, 0)));
    all.extend(map.take_overflow());
    assert!(in_map < 20 && all.into_iter().eq((0..20).map(|i| (i, i))));
}

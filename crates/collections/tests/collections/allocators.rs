//! The handle that containers keep, on the system's memory and on a user's source.
#![expect(unsafe_code, reason = "implements sources of memory, and calls allocators directly")]

use std::alloc::{Layout, alloc, dealloc};
use std::collections::hash_map::RandomState;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use allocator_api2::alloc::{AllocError, Allocator as RawAllocator};
use allocator_api2::vec::Vec;
use ancho_collections::{Allocator, LineAligned, MemorySource};

/// A source that refuses more than a number of bytes at a time, and counts live bytes.
struct Limited {
    out: Arc<AtomicUsize>,
    limit: usize,
}

// SAFETY: the memory is the system's, whose allocator meets the same contract; the numbers only
// refuse.
unsafe impl MemorySource for Limited {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        assert_ne!(layout.size(), 0, "a source is never asked for nothing");
        let more = |out: usize| out.checked_add(layout.size()).filter(|out| *out <= self.limit);
        self.out.fetch_update(Relaxed, Relaxed, more).ok()?;
        // SAFETY: the size is not zero.
        NonNull::new(unsafe { alloc(layout) })
    }

    unsafe fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        self.out.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `allocate` allocated it with this layout.
        unsafe { dealloc(memory.as_ptr(), layout) };
    }
}

fn limited(limit: usize) -> (Allocator, Arc<AtomicUsize>) {
    let out = Arc::default();
    (Allocator::custom("Limited", Limited { out: Arc::clone(&out), limit }), out)
}

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

#[test]
fn a_handle_is_one_word() {
    assert_eq!(size_of::<Allocator>(), size_of::<usize>());
    assert_eq!(size_of::<LineAligned>(), size_of::<usize>());
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Allocator>();
    shared::<LineAligned>();
}

#[test]
fn handles_are_equal_if_they_lead_to_the_same_memory() {
    let (one, _) = limited(0);
    let (two, _) = limited(0);
    assert_eq!(one, one.clone());
    assert_ne!(one, two);
    assert_ne!(one, Allocator::PERSISTENT);
    assert_eq!(Allocator::PERSISTENT, Allocator::default());
}

#[test]
fn a_handle_shows_its_name() {
    assert_eq!(format!("{:?}", Allocator::PERSISTENT), r#"Allocator("Persistent")"#);
    assert_eq!(format!("{:?}", limited(0).0), r#"Allocator("Limited")"#);
}

/// Passes one piece of memory through every kind of call, and checks its contents after each.
fn exercise(allocator: &impl RawAllocator, align: usize) {
    let fill = |memory: NonNull<[u8]>, byte| {
        assert!(memory.cast::<u8>().addr().get().is_multiple_of(align));
        // SAFETY: the memory has that number of bytes.
        unsafe { memory.cast::<u8>().write_bytes(byte, memory.len()) };
    };
    let holds = |memory: NonNull<[u8]>, range: Range<usize>, byte: u8| {
        // SAFETY: all of it was written.
        let bytes = unsafe { memory.as_ref() };
        bytes[range].iter().all(|found| *found == byte)
    };
    let [small, large, huge] = [10, 300, 200_000].map(|size| layout(size, align));
    let (empty, loose) = (layout(0, align), layout(300, 1));

    let memory = allocator.allocate(small).unwrap();
    fill(memory, 7);
    // SAFETY: each call passes the result of the preceding one, with the layout of that call.
    unsafe {
        let memory = allocator.grow(memory.cast(), small, large).unwrap();
        assert!(holds(memory, 0..10, 7));
        fill(memory, 8);
        let memory = allocator.grow_zeroed(memory.cast(), large, huge).unwrap();
        assert!(holds(memory, 0..300, 8));
        assert!(holds(memory, 300..200_000, 0));
        let memory = allocator.shrink(memory.cast(), huge, small).unwrap();
        assert!(holds(memory, 0..10, 8));
        let memory = allocator.shrink(memory.cast(), small, empty).unwrap();
        assert_eq!(memory.len(), 0);
        let memory = allocator.grow(memory.cast(), empty, large).unwrap();
        fill(memory, 9);
        let memory = allocator.shrink(memory.cast(), large, loose).unwrap();
        assert!(holds(memory, 0..300, 9));
        let memory = allocator.grow(memory.cast(), loose, large).unwrap();
        assert!(holds(memory, 0..300, 9));
        fill(memory, 1);
        allocator.deallocate(memory.cast(), large);
    }
    let memory = allocator.allocate_zeroed(large).unwrap();
    assert!(holds(memory, 0..300, 0));
    // SAFETY: it was just allocated with this layout.
    unsafe { allocator.deallocate(memory.cast(), large) };
    for nothing in [allocator.allocate(empty), allocator.allocate_zeroed(empty)] {
        let nothing = nothing.unwrap();
        assert!(nothing.cast::<u8>().addr().get().is_multiple_of(align));
        // SAFETY: it was just allocated with this layout.
        unsafe { allocator.deallocate(nothing.cast(), empty) };
    }
}

#[test]
fn contents_and_alignment_survive_every_call() {
    for align in [1, 2, 8, 16, 32, 64, 128, 4096] {
        exercise(&Allocator::PERSISTENT, align);
        let (custom, out) = limited(usize::MAX);
        exercise(&custom, align);
        assert_eq!(out.load(Relaxed), 0);
    }
}

#[test]
fn line_aligned_memory_begins_at_a_line() {
    for align in [1, 16, 64, 128, 4096] {
        exercise(&LineAligned(Allocator::PERSISTENT), align.max(64));
        exercise(&LineAligned(limited(usize::MAX).0), align.max(64));
    }
    for pushed in 1..200 {
        let mut list = Vec::new_in(LineAligned(Allocator::PERSISTENT));
        list.extend(0..pushed);
        assert!(list.as_ptr().addr().is_multiple_of(64));
        assert!(list.iter().copied().eq(0..pushed));
    }
}

#[test]
fn a_size_beyond_the_address_space_is_an_error() {
    let largest = layout(isize::MAX as usize, 1);
    let (custom, _) = limited(usize::MAX);
    assert_eq!(Allocator::PERSISTENT.allocate(largest), Err(AllocError));
    assert_eq!(custom.allocate(largest), Err(AllocError));
    // Raised to a line, the layout is invalid.
    assert_eq!(LineAligned(Allocator::PERSISTENT).allocate(largest), Err(AllocError));
    let mut list: Vec<u64, _> = Vec::new_in(LineAligned(custom));
    assert!(list.try_reserve(usize::MAX).is_err());
    assert!(list.try_reserve(isize::MAX as usize / 8).is_err());
    list.push(5);
    assert_eq!(list, [5]);
}

#[test]
fn a_refusal_leaves_the_container_as_it_was() {
    let (allocator, out) = limited(2000);
    let mut list = Vec::new_in(allocator.clone());
    list.extend(0..100_u32);
    assert!(list.try_reserve(1000).is_err());
    assert!(list.iter().copied().eq(0..100));
    list.push(100);
    assert_eq!(list.len(), 101);
    drop(list);
    assert_eq!(out.load(Relaxed), 0);
    // Freed memory can be allocated again.
    let mut again: Vec<u8, _> = Vec::new_in(allocator);
    assert!(again.try_reserve_exact(2000).is_ok());
}

#[test]
fn vectors_and_maps_use_a_handle() {
    let (allocator, out) = limited(1 << 20);
    let mut squares = hashbrown::HashMap::with_hasher_in(RandomState::new(), allocator.clone());
    squares.extend((0..1000_u64).map(|n| (n, n * n)));
    assert!((0..1000).all(|n| squares[&n] == n * n));
    let mut list: Vec<Box<str>, _> = Vec::new_in(allocator);
    list.extend((0..100).map(|n| n.to_string().into()));
    list.shrink_to_fit();
    list.retain(|text| text.len() == 1);
    assert_eq!(list.len(), 10);
    assert_ne!(out.load(Relaxed), 0);
    drop((squares, list));
    assert_eq!(out.load(Relaxed), 0);
}

#[test]
fn a_source_lives_as_long_as_the_last_container() {
    let (allocator, out) = limited(1000);
    let mut list = Vec::new_in(allocator.clone());
    drop(allocator);
    list.push(1);
    assert_eq!(Arc::strong_count(&out), 2);
    std::thread::spawn(move || drop(list)).join().unwrap();
    assert_eq!(Arc::strong_count(&out), 1);
    assert_eq!(out.load(Relaxed), 0);
}

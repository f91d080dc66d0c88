//! A global allocator that counts the allocations of the process, for a binary with a single test.

#![expect(unsafe_code, reason = "counts allocations, as the global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

/// Number of allocations so far.
pub(crate) static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// Number of bytes that are allocated now.
#[allow(dead_code, reason = "the tests of jobs count allocations only")]
pub(crate) static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The first thread that allocates is the main thread; zero counts every thread.
static UNCOUNTED_THREAD: AtomicUsize = AtomicUsize::new(NOT_YET_KNOWN);

const NOT_YET_KNOWN: usize = usize::MAX;

/// Leaves the main thread out of the counts, if the test harness runs on it.
///
/// The harness starts a test on another thread and then fills its own tables. On a busy machine it does so while the
/// test already counts. With one test thread the harness calls the test itself, and then everything counts.
pub(crate) fn exclude_test_runner() {
    let _ =
        UNCOUNTED_THREAD.compare_exchange(this_thread(), 0, Ordering::Relaxed, Ordering::Relaxed);
}

/// A number that differs between living threads and is not zero.
fn this_thread() -> usize {
    thread_local!(static ADDRESS: Cell<u8> = const { Cell::new(0) });
    ADDRESS.with(|address| std::ptr::from_ref(address).addr())
}

fn counts() -> bool {
    let this = this_thread();
    let uncounted = UNCOUNTED_THREAD.load(Ordering::Relaxed);
    if uncounted == NOT_YET_KNOWN {
        UNCOUNTED_THREAD.store(this, Ordering::Relaxed);
    }
    uncounted != this
}

// SAFETY: every call is forwarded unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if counts() {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
        LIVE_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same for the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `alloc` and `realloc` returned the pointer, which the system's allocator made with this layout.
        unsafe { System.dealloc(pointer, layout) };
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if counts() {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
        LIVE_BYTES.fetch_add(size, Ordering::Relaxed);
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`, which is the same for the system's allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

//! Shared code of the fuzz targets: worlds, checksums, and a limit of memory.

#![expect(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use ancho_entities::World;

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../../crates/serialize/tests/serialize/common.rs"]
mod common;

/// Computes all checksums of a file again, as far as its sections can be found.
pub fn repair(bytes: &mut [u8]) {
    common::repair(bytes);
}

/// Returns the world as a file.
pub fn saved(world: &World) -> Vec<u8> {
    common::saved(world)
}

/// Returns a world with few entities of many kinds, whose file is small.
pub fn small_world() -> World {
    common::small_world()
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of bytes that are allocated now.
static USED: AtomicUsize = AtomicUsize::new(0);
/// The largest number of bytes that were allocated at a time, since [`peak_of`] began.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with a count of the allocated bytes.
struct Counting;

fn add(bytes: usize) {
    let used = USED.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(used, Ordering::Relaxed);
}

// SAFETY: all calls are passed to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Calls a function. Returns its result, and the largest number of bytes that it had allocated at a time.
pub fn peak_of<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = USED.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = f();
    (result, PEAK.load(Ordering::Relaxed).saturating_sub(before))
}

/// Returns the number of bytes that a world file may take when it is loaded: four times its contents, one chunk for each section with
/// a chunk, and the memory of an empty world.
pub fn memory_limit(bytes: &[u8], chunk_size: usize) -> usize {
    let mut decoded = bytes.len();
    let mut chunks = 0;
    let mut at = 64;
    while let Some(header) = bytes.get(at..at + 64) {
        let number = |from: usize| u64::from_le_bytes(header[from..from + 8].try_into().unwrap());
        let stored = usize::try_from(number(8)).unwrap_or(usize::MAX).min(bytes.len());
        // A section that claims to be larger is refused.
        decoded += usize::try_from(number(16)).unwrap_or(usize::MAX).min(stored.saturating_mul(256));
        chunks += usize::from(&header[..4] == b"CHNK");
        at += 64 + stored.next_multiple_of(64);
    }
    4 * decoded + chunks * chunk_size + EMPTY_WORLD
}

/// The memory of an empty world: tables and lists with their first capacities.
const EMPTY_WORLD: usize = 1 << 20;

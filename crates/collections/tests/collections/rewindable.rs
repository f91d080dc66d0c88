//! The rewindable allocator: blocks, and the effect of a rewind.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;

use allocator_api2::alloc::Allocator as _;
use allocator_api2::vec::Vec as RawVec;
use ancho_collections::{Allocator, RewindableAllocator};

type Bytes = RawVec<u8, Allocator>;

/// Makes a container of `size` bytes with one value.
fn bytes(level: &RewindableAllocator, size: usize, byte: u8) -> Bytes {
    let mut bytes = Bytes::with_capacity_in(size, level.allocator());
    bytes.resize(size, byte);
    bytes
}

const KIB: usize = 1 << 10;

#[test]
fn blocks_double() {
    let level = RewindableAllocator::new();
    let _kept: Vec<_> = (0..5)
        .map(|block| {
            let bytes = bytes(&level, (100 * KIB) << block, 1);
            assert_eq!(level.block_count(), block + 1);
            assert_eq!(level.bytes_reserved(), ((2 << block) - 1) * 128 * KIB);
            bytes
        })
        .collect();
}

#[test]
fn a_container_of_the_size_of_a_block_fits() {
    let level = RewindableAllocator::with_initial_size(1000 * KIB);
    let _whole = bytes(&level, 1000 * KIB, 1);
    assert_eq!((level.block_count(), level.bytes_reserved()), (1, 1000 * KIB));
    // The smallest block is 128 KiB.
    let small = RewindableAllocator::with_initial_size(1);
    let _one = bytes(&small, 1, 1);
    assert_eq!(small.bytes_reserved(), 128 * KIB);
}

#[test]
fn a_container_larger_than_any_block_gets_its_own() {
    let level = RewindableAllocator::new();
    let huge = Bytes::with_capacity_in(100 << 20, level.allocator());
    assert_eq!(level.block_count(), 1);
    assert!(level.bytes_reserved() >= 100 << 20);
    drop(huge);
    // Other containers can use it, too.
    let _small = bytes(&level, 1000, 1);
    assert_eq!(level.block_count(), 1);
}

#[test]
fn a_rewind_keeps_the_blocks_that_were_used_and_releases_the_others() {
    let level = RewindableAllocator::new();
    let many: Vec<_> = (0..4).map(|block| bytes(&level, (100 * KIB) << block, 1)).collect();
    drop(many);
    level.rewind();
    assert_eq!((level.block_count(), level.bytes_used()), (4, 0));

    let two: Vec<_> = (0..2).map(|_| bytes(&level, 100 * KIB, 1)).collect();
    drop(two);
    level.rewind();
    assert_eq!((level.block_count(), level.bytes_reserved()), (2, 3 * 128 * KIB));

    level.rewind();
    assert_eq!((level.block_count(), level.bytes_reserved()), (0, 0));
}

#[test]
fn repeated_frames_allocate_nothing_from_the_system() {
    let level = RewindableAllocator::new();
    let run = || {
        let all: Vec<_> = (0..1000).map(|n| bytes(&level, n, n as u8)).collect();
        drop(all);
        level.rewind();
        level.bytes_reserved()
    };
    let reserved = run();
    assert!((0..20).all(|_| run() == reserved));
    assert_eq!(level.version(), 21);
}

#[test]
fn a_rewind_never_frees_memory_of_live_containers() {
    let level = RewindableAllocator::new();
    let mut late: Vec<Bytes> = Vec::new();
    for round in 0..20 {
        late.push(bytes(&level, 1000, round));
        drop(bytes(&level, 50 * KIB, 0xff));
        level.rewind();
        assert_eq!(level.block_count(), 0);
    }
    for (round, bytes) in late.iter_mut().enumerate() {
        assert!(bytes.iter().all(|byte| usize::from(*byte) == round));
        // An expired container that grows moves to other memory.
        bytes.resize(10_000, round as u8);
        assert!(bytes.iter().all(|byte| usize::from(*byte) == round));
    }
    drop(late);
    level.rewind();
    level.rewind();
    assert_eq!((level.block_count(), level.bytes_reserved()), (0, 0));
}

#[test]
fn containers_outlive_the_allocator() {
    let level = RewindableAllocator::new();
    let mut late = bytes(&level, 1000, 7);
    level.rewind();
    let fresh = bytes(&level, 1000, 8);
    drop(level);
    late.resize(1_000_000, 7);
    assert!(late.iter().all(|byte| *byte == 7));
    thread::spawn(move || assert_eq!(fresh[999], 8)).join().unwrap();
}

#[test]
fn every_allocation_begins_at_a_line() {
    #[repr(align(4096))]
    #[derive(Clone)]
    struct Page(u8);

    let level = RewindableAllocator::new();
    let all: Vec<_> = (1..300).map(|size| bytes(&level, size, 1)).collect();
    assert!(all.iter().all(|list| list.as_ptr().addr().is_multiple_of(64)));
    let pages = (1..10).map(|count| {
        let mut pages = RawVec::new_in(level.allocator());
        pages.resize(count, Page(7));
        pages
    });
    for pages in pages.collect::<Vec<_>>() {
        assert!(pages.as_ptr().addr().is_multiple_of(4096));
        assert!(pages.iter().all(|page| page.0 == 7));
    }
}

#[test]
fn the_last_list_grows_where_it_is() {
    let level = RewindableAllocator::new();
    let mut list = RawVec::new_in(level.allocator());
    list.push(0_u64);
    let place = list.as_ptr();
    list.extend(1..10_000);
    assert_eq!(list.as_ptr(), place);
    list.truncate(10);
    list.shrink_to_fit();
    assert_eq!((list.as_ptr(), level.bytes_used()), (place, 128));
    assert!(list.iter().copied().eq(0..10));
}

#[test]
fn too_much_is_an_error_and_the_rest_stays_usable() {
    let level = RewindableAllocator::new();
    let mut list = bytes(&level, 100, 1);
    assert!(list.try_reserve(isize::MAX as usize - 200).is_err());
    assert!(list.try_reserve(usize::MAX).is_err());
    let mut pages: RawVec<u8, _> = RawVec::new_in(level.allocator());
    assert!(pages.try_reserve(1 << 60).is_err());
    list.extend([2; 100]);
    assert_eq!((list.len(), list[0], list[199]), (200, 1, 2));
    assert_eq!(level.block_count(), 1);
}

#[test]
fn a_handle_stays_the_same() {
    let level = RewindableAllocator::new();
    let before = level.allocator();
    level.rewind();
    assert_eq!(level.allocator(), before);
    assert_ne!(RewindableAllocator::new().allocator(), before);
    assert!(before.allocate(std::alloc::Layout::new::<()>()).is_ok());
    assert_eq!(level.bytes_reserved(), 0);
}

#[test]
fn debug_shows_the_blocks() {
    let level = RewindableAllocator::new();
    let _late = bytes(&level, 1000, 1);
    level.rewind();
    assert_eq!(
        format!("{level:?}"),
        "RewindableAllocator { version: 1, blocks: 0, set_aside: 1, bytes_used: 0, \
         bytes_reserved: 131072 }"
    );
}

/// Threads make, grow, pass on and drop containers while one thread rewinds all the time.
#[test]
fn many_threads_allocate_while_one_rewinds() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 3000;
    let level = RewindableAllocator::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..THREADS).map(|_| mpsc::channel::<(u8, Bytes)>()).unzip();
        let workers: Vec<_> = receivers
            .into_iter()
            .enumerate()
            .map(|(thread, receiver)| {
                let (level, next) = (&level, senders[(thread + 1) % THREADS].clone());
                scope.spawn(move || {
                    let check = |(byte, bytes): &(u8, Bytes)| {
                        assert!(bytes.iter().all(|found| found == byte));
                    };
                    let mut seed = thread as u32 + 1;
                    for round in 0..ROUNDS {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        let (byte, size) = (seed as u8, 1 + (seed >> 16) as usize % 5000);
                        let mut mine = bytes(level, size, byte);
                        if round % 3 == 0 {
                            mine.resize(size * 3, byte);
                        }
                        if round % 5 == 0 {
                            mine.truncate(size / 2);
                            mine.shrink_to_fit();
                        }
                        // Half of them are dropped later, on another thread.
                        let mine = (byte, mine);
                        if round % 2 == 0 {
                            next.send(mine).unwrap();
                        } else {
                            check(&mine);
                        }
                        if round % 7 == 0 {
                            receiver.try_iter().take(5).for_each(|other| check(&other));
                        }
                    }
                    drop(next);
                    receiver
                })
            })
            .collect();
        drop(senders);
        let rewinder = scope.spawn(|| {
            while !done.load(Relaxed) {
                level.rewind();
                thread::yield_now();
            }
        });
        let receivers: Vec<_> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
        for (byte, bytes) in receivers.iter().flat_map(mpsc::Receiver::try_iter) {
            assert!(bytes.iter().all(|found| *found == byte));
        }
        done.store(true, Relaxed);
        rewinder.join().unwrap();
    });
    level.rewind();
    level.rewind();
    assert_eq!((level.block_count(), level.bytes_reserved(), level.bytes_used()), (0, 0, 0));
}

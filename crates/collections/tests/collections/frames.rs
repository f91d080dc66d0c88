//! The memory of a world: scratch memory, jobs' memory, and the effect of frames.

use std::sync::mpsc;

use allocator_api2::vec::Vec as RawVec;
use ancho_collections::{Allocator, FrameMemory};

#[test]
fn a_new_frame_frees_the_scratch_memory() {
    let mut memory = FrameMemory::new("Game");
    for frame in 0..100_u32 {
        let scratch = memory.temp().slice(10_000, frame);
        assert!(scratch.iter().all(|found| *found == frame));
        assert!(memory.advance().leaks.is_empty());
        assert_eq!(memory.temp().bytes_used(), 0);
    }
    assert_eq!(memory.frame(), 100);
    assert!(memory.temp().bytes_reserved() <= 64 << 10);
}

#[test]
fn memory_for_jobs_outlives_frames_and_is_used_again() {
    let mut memory = FrameMemory::new("Game");
    let (send, receive) = mpsc::channel::<RawVec<u64, Allocator>>();
    // Another thread drops containers some frames after they were made.
    let other = std::thread::spawn(move || {
        for list in receive {
            assert!(list.iter().all(|found| *found == list[0]));
        }
    });
    for frame in 0..1000 {
        let mut list = RawVec::new_in(memory.temp_job());
        list.resize(5000, frame);
        send.send(list).unwrap();
        let _ = memory.advance();
    }
    drop(send);
    other.join().unwrap();
    let shown = format!("{memory:?}");
    assert!(shown.contains("frame: 1000") && shown.contains("temp_job_bytes_used: 0"), "{shown}");
}

#[test]
fn containers_outlive_the_memory_they_are_from() {
    let memory = FrameMemory::new("Game");
    let mut lists = [memory.temp_job(), memory.persistent()].map(RawVec::new_in);
    drop(memory);
    for list in &mut lists {
        list.extend(0..100_000_u32);
        assert!(list.iter().copied().eq(0..100_000));
        list.truncate(5);
        list.shrink_to_fit();
        assert_eq!(*list, [0, 1, 2, 3, 4]);
    }
}

#[test]
fn the_allocators_of_two_worlds_are_not_the_same() {
    let (one, two) = (FrameMemory::new("one"), FrameMemory::new("two"));
    assert_eq!(one.temp_job(), one.temp_job());
    assert_ne!(one.temp_job(), two.temp_job());
    assert_ne!(one.persistent(), two.persistent());
    assert_ne!(one.persistent(), Allocator::PERSISTENT);
}

#[test]
fn it_can_be_sent_to_another_thread() {
    let memory = FrameMemory::new("Game");
    let list: RawVec<u8, _> = RawVec::with_capacity_in(100, memory.temp_job());
    let memory = std::thread::spawn(move || memory).join().unwrap();
    drop(list);
    assert_eq!(memory.live(), []);
}

#![expect(unsafe_code, reason = "writes to chunks")]

use std::sync::Barrier;
use std::thread;

use super::blocks::BLOCK_SIZE;
use super::*;

const CHUNK: u32 = 16 << 10;
const CHUNKS_OF_A_BLOCK: usize = BLOCK_SIZE / CHUNK as usize;
const MIB: usize = 1 << 20;

fn allocate(arena: &ChunkArena) -> ChunkMemory {
    arena.allocate(CHUNK, CHUNK).unwrap()
}

fn allocate_bytes(arena: &ChunkArena, bytes: usize) -> Vec<ChunkMemory> {
    (0..bytes / CHUNK as usize).map(|_| allocate(arena)).collect()
}

fn stats(arena: &ChunkArena) -> (usize, usize) {
    let ArenaStats { reserved, used } = arena.stats();
    (reserved, used)
}

/// Writes a value to the first and the last byte of a chunk.
fn touch(chunk: &ChunkMemory, size: u32, value: u8) {
    // SAFETY: the test is the only owner of the chunk, and both bytes are inside of it.
    unsafe {
        chunk.as_ptr().write(value);
        chunk.as_ptr().add(size as usize - 1).write(value);
    }
}

#[test]
fn chunks_of_all_sizes_are_aligned_as_asked_and_apart() {
    let arena = ChunkArena::new();
    let sizes: Vec<u32> = (12..=20).map(|shift| 1 << shift).collect();
    let asked = sizes.iter().flat_map(|&size| [(size, 1), (size, 64), (size, 128), (size, size)]);
    let chunks: Vec<_> = asked
        .flat_map(|asked| [asked; 5])
        .map(|(size, align)| (arena.allocate(size, align).unwrap(), size, align))
        .collect();
    for (value, (chunk, size, align)) in (0..).zip(&chunks) {
        assert_eq!(chunk.as_ptr().addr().get() % (*align as usize).max(64), 0);
        touch(chunk, *size, value);
    }
    for (value, (chunk, size, _)) in (0..).zip(&chunks) {
        // SAFETY: `touch` has written both bytes.
        let ends =
            unsafe { [chunk.as_ptr().read(), chunk.as_ptr().add(*size as usize - 1).read()] };
        assert_eq!(ends, [value; 2]);
    }
    assert_eq!(arena.stats().used, 20 * sizes.iter().sum::<u32>() as usize);
    // The chunks of each size up to 32 KiB need one staggered and one aligned block. The 20 chunks of a larger size have the same
    // spacing, and share blocks.
    assert_eq!(arena.stats().reserved, (4 * 2 + 1 + 2 + 3 + 5 + 10) * BLOCK_SIZE);
}

#[test]
fn the_beginnings_of_small_chunks_are_in_different_lines_of_a_cache() {
    let arena = ChunkArena::new();
    for size in [4 << 10, 16 << 10] {
        let chunks: Vec<_> = (0..26).map(|_| arena.allocate(size, 8).unwrap()).collect();
        let mut lines: Vec<_> =
            chunks.iter().map(|chunk| chunk.as_ptr().addr().get() % 4096 / 64).collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), chunks.len());
    }
}

#[test]
fn what_was_freed_last_is_used_next() {
    let arena = ChunkArena::new();
    let chunks: Vec<_> = (0..3).map(|_| allocate(&arena)).collect();
    let addresses: Vec<_> = chunks.iter().map(ChunkMemory::as_ptr).collect();
    assert!(addresses.is_sorted(), "a block is used from its beginning");
    drop(chunks);
    let again: Vec<_> = (0..3).map(|_| allocate(&arena)).collect();
    let addresses_again: Vec<_> = again.iter().map(ChunkMemory::as_ptr).collect();
    assert!(addresses_again.iter().eq(addresses.iter().rev()));
    assert_eq!(stats(&arena), (BLOCK_SIZE, 3 * CHUNK as usize));
}

#[test]
fn a_chunk_is_used_until_its_last_count_is_released() {
    let arena = ChunkArena::new();
    let first = allocate(&arena);
    assert!(first.is_unique());
    let second = first.share();
    assert_eq!(first.as_ptr(), second.as_ptr());
    assert!(!first.is_unique() && !second.is_unique());
    assert!(first.release().is_none());
    assert!(second.is_unique());
    assert_eq!(arena.stats().used, CHUNK as usize);
    let address = second.as_ptr();
    let last = second.release().unwrap();
    assert_eq!(last.as_ptr(), address);
    // The memory remains used, so that the contents can still be dropped.
    assert_eq!(arena.stats().used, CHUNK as usize);
    drop(last);
    assert_eq!(arena.stats().used, 0);
}

#[test]
fn a_count_that_is_dropped_is_released() {
    let arena = ChunkArena::new();
    let first = allocate(&arena);
    let second = first.share();
    drop(first);
    assert!(second.is_unique());
    drop(second);
    assert_eq!(arena.stats().used, 0);
}

#[test]
fn the_limit_counts_chunks_in_use() {
    let arena = ChunkArena::with_limit(3 * CHUNK as usize + 1);
    let chunks: Vec<_> = (0..3).map(|_| allocate(&arena)).collect();
    let refused = arena.allocate(CHUNK, CHUNK).unwrap_err();
    assert_eq!(refused, OutOfMemory { requested: 16_384, limit: Some(49_153) });
    assert_eq!(
        refused.to_string(),
        "A0056: cannot allocate a chunk of 16384 bytes: the arena is limited to 49153 bytes in use; despawn entities, \
         or give the world an arena with a higher limit"
    );
    // A second owner of a used chunk does not count against the limit.
    let shared = chunks[0].share();
    drop(chunks);
    let two: Vec<_> = (0..2).map(|_| allocate(&arena)).collect();
    assert!(arena.allocate(CHUNK, CHUNK).is_err());
    drop((shared, two));
    assert!(ChunkArena::with_limit(0).allocate(4096, 4096).is_err());
}

#[test]
fn trim_gives_back_what_is_wholly_free() {
    let arena = ChunkArena::new();
    let mut chunks = allocate_bytes(&arena, 4 * BLOCK_SIZE);
    let large = arena.allocate(MIB as u32, 1).unwrap();
    assert_eq!(stats(&arena), (5 * BLOCK_SIZE, 4 * BLOCK_SIZE + MIB));
    arena.trim();
    assert_eq!(arena.stats().reserved, 5 * BLOCK_SIZE);
    // One chunk of the third block remains used.
    let kept = chunks.swap_remove(2 * CHUNKS_OF_A_BLOCK + 5);
    drop(chunks);
    drop(large);
    assert_eq!(stats(&arena), (5 * BLOCK_SIZE, CHUNK as usize));
    arena.trim();
    assert_eq!(stats(&arena), (BLOCK_SIZE, CHUNK as usize));
    // The other chunks of that block are free.
    let rest = allocate_bytes(&arena, BLOCK_SIZE - CHUNK as usize);
    assert_eq!(stats(&arena), (BLOCK_SIZE, BLOCK_SIZE));
    drop((kept, rest));
    arena.trim();
    assert_eq!(stats(&arena), (0, 0));
    touch(&allocate(&arena), CHUNK, 1);
}

#[test]
fn far_more_free_than_used_goes_back_by_itself() {
    let arena = ChunkArena::new();
    // 64 MiB of free memory are kept, to be filled again.
    let chunks = allocate_bytes(&arena, 64 * MIB);
    drop(chunks);
    assert_eq!(stats(&arena), (64 * MIB, 0));
    // If more memory is free, blocks are returned to the system until the free memory exceeds the used memory by 32 to 64 MiB.
    let mut chunks = allocate_bytes(&arena, 300 * MIB);
    chunks.truncate(chunks.len() / 3);
    assert_eq!(arena.stats().used, 100 * MIB);
    assert!((232 * MIB..=264 * MIB).contains(&arena.stats().reserved), "{arena:?}");
    drop(chunks);
    assert!((32 * MIB..=64 * MIB).contains(&arena.stats().reserved), "{arena:?}");
}

#[test]
fn blocks_with_a_used_chunk_stay() {
    let arena = ChunkArena::new();
    let chunks = allocate_bytes(&arena, 200 * MIB);
    let (kept, freed): (Vec<_>, Vec<_>) =
        (0..).zip(chunks).partition(|(index, _)| index % CHUNKS_OF_A_BLOCK == 7);
    for (_, chunk) in &kept {
        touch(chunk, CHUNK, 3);
    }
    drop(freed);
    // Much memory is free, but no block is wholly free.
    assert_eq!(stats(&arena), (200 * MIB, 100 * CHUNK as usize));
    for (_, chunk) in &kept {
        // SAFETY: `touch` has written the first byte.
        assert_eq!(unsafe { chunk.as_ptr().read() }, 3);
    }
    drop(kept);
    assert!(arena.stats().reserved <= 64 * MIB);
}

#[test]
fn chunks_outlive_the_handles_of_their_arena() {
    let arena = ChunkArena::new();
    let chunk = allocate(&arena);
    let other = arena.allocate(4096, 4096).unwrap();
    drop(arena);
    touch(&chunk, CHUNK, 5);
    drop(chunk);
    touch(&other, 4096, 6);
    // This frees all memory of the arena. AddressSanitizer reports a leak otherwise.
    drop(other);
}

#[test]
fn chunks_of_several_arenas_are_freed_together() {
    let arenas = [ChunkArena::new(), ChunkArena::new()];
    let owners = [0, 0, 1, 0, 1, 1];
    let mut last: Vec<_> =
        owners.iter().map(|&owner| allocate(&arenas[owner]).release().unwrap()).collect();
    LastChunk::free_many(&mut last);
    assert!(last.is_empty());
    assert!(arenas.iter().all(|arena| arena.stats().used == 0));
    // Chunks can also be freed after the handles of their arenas.
    let mut last: Vec<_> =
        owners.iter().map(|&owner| allocate(&arenas[owner]).release().unwrap()).collect();
    drop(arenas);
    LastChunk::free_many(&mut last);
}

#[test]
fn the_arena_of_the_process_is_one() {
    let chunk = allocate(&ChunkArena::shared());
    assert!(ChunkArena::shared().stats().used >= CHUNK as usize);
    drop(chunk);
}

#[test]
fn handles_tell_how_much_there_is() {
    let arena = ChunkArena::with_limit(1 << 30);
    let _chunk = allocate(&arena);
    assert_eq!(
        format!("{:?}", arena.clone()),
        "ChunkArena { reserved: 2097152, used: 16384, limit: Some(1073741824) }"
    );
}

#[test]
fn threads_share_and_release_a_chunk_and_one_of_them_frees_it() {
    const THREADS: usize = 4;
    for _ in 0..if cfg!(tsan) { 20 } else { 200 } {
        let arena = ChunkArena::new();
        let chunk = allocate(&arena);
        touch(&chunk, CHUNK, 8);
        let barrier = &Barrier::new(THREADS);
        let freed: usize = thread::scope(|scope| {
            let handles: Vec<_> = (0..THREADS)
                .map(|_| chunk.share())
                .map(|chunk| {
                    scope.spawn(move || {
                        barrier.wait();
                        let more = [chunk.share(), chunk.share()];
                        let mut freed = 0;
                        for chunk in more.into_iter().chain([chunk]) {
                            // SAFETY: no owner writes while there are several owners.
                            assert_eq!(unsafe { chunk.as_ptr().read() }, 8);
                            if let Some(last) = chunk.release() {
                                // SAFETY: this is the last owner, and the accesses of the other owners have ended.
                                unsafe { last.as_ptr().write(9) };
                                freed += 1;
                            }
                        }
                        freed
                    })
                })
                .collect();
            drop(chunk);
            handles.into_iter().map(|handle| handle.join().unwrap()).sum()
        });
        // The owner of this thread may have been the last.
        assert!(freed <= 1);
        assert_eq!(arena.stats().used, 0);
    }
}

#[test]
fn the_owner_that_remains_alone_may_write() {
    for _ in 0..if cfg!(tsan) { 20 } else { 200 } {
        let arena = ChunkArena::new();
        let chunk = allocate(&arena);
        touch(&chunk, CHUNK, 1);
        let readers = [chunk.share(), chunk.share()];
        thread::scope(|scope| {
            for reader in readers {
                scope.spawn(move || {
                    // SAFETY: the byte was written before this thread began, and no owner writes before this owner is dropped.
                    assert_eq!(unsafe { reader.as_ptr().read() }, 1);
                });
            }
            while !chunk.is_unique() {
                thread::yield_now();
            }
            touch(&chunk, CHUNK, 2);
        });
    }
}

#[test]
fn threads_allocate_and_free_at_once() {
    let arena = ChunkArena::new();
    let rounds = if cfg!(tsan) { 20 } else { 200 };
    thread::scope(|scope| {
        for thread in 0..4_u8 {
            let arena = arena.clone();
            scope.spawn(move || {
                for round in 0..rounds {
                    let size = CHUNK << (round % 3);
                    let mut chunks: Vec<_> =
                        (0..40).map(|_| arena.allocate(size, 1).unwrap()).collect();
                    chunks.iter().for_each(|chunk| touch(chunk, size, thread));
                    for chunk in chunks.drain(..20) {
                        // SAFETY: this thread is the only owner of the chunk, and has written the byte.
                        assert_eq!(unsafe { chunk.as_ptr().read() }, thread);
                    }
                    let last = chunks.into_iter().filter_map(ChunkMemory::release);
                    LastChunk::free_many(&mut last.collect());
                    if round % 16 == 0 {
                        arena.trim();
                    }
                }
            });
        }
    });
    assert_eq!(arena.stats().used, 0);
    arena.trim();
    assert_eq!(arena.stats().reserved, 0);
}

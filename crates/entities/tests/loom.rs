//! A model of memory shared between worlds, checked by loom in every interleaving.
//!
//! Run with `cargo xtask loom`. The file under test is compiled here a second time, against loom's atomics.
#![cfg(loom)]
#![allow(dead_code, reason = "a model uses only a part of the file it includes")]
#![expect(unsafe_code, reason = "loom checks its own cells")]

#[path = "../src/storage/arena/ref_count.rs"]
mod ref_count;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use ref_count::RefCount;

/// A chunk whose contents loom checks for races.
struct Chunk {
    count: RefCount,
    contents: UnsafeCell<u32>,
}

// SAFETY: accesses are checked by loom.
unsafe impl Sync for Chunk {}

impl Chunk {
    fn new() -> Arc<Self> {
        Arc::new(Self { count: RefCount::one(), contents: UnsafeCell::new(1) })
    }

    fn read(&self) -> u32 {
        // SAFETY: loom fails the model if another thread writes meanwhile.
        self.contents.with(|contents| unsafe { *contents })
    }

    fn write(&self, value: u32) {
        // SAFETY: loom fails the model if another thread accesses the cell meanwhile.
        self.contents.with_mut(|contents| unsafe { *contents = value });
    }

    /// Releases one count. The last owner writes, as if it dropped the contents.
    fn release(&self) -> bool {
        let is_last = self.count.remove();
        if is_last {
            self.write(0);
        }
        is_last
    }
}

#[test]
fn exactly_one_owner_is_the_last_and_after_all_others() {
    loom::model(|| {
        let chunk = Chunk::new();
        let owners: Vec<_> = (0..2)
            .map(|_| {
                chunk.count.add();
                let chunk = Arc::clone(&chunk);
                thread::spawn(move || {
                    // One more owner, which is released at once.
                    chunk.count.add();
                    assert_eq!(chunk.read(), 1);
                    let first = chunk.release();
                    assert_eq!(chunk.read(), 1);
                    assert!(!first);
                    chunk.release()
                })
            })
            .collect();
        let mut last = usize::from(chunk.release());
        for owner in owners {
            last += usize::from(owner.join().unwrap());
        }
        assert_eq!(last, 1);
    });
}

#[test]
fn an_owner_that_is_alone_writes_after_the_one_that_has_read() {
    loom::model(|| {
        let chunk = Chunk::new();
        chunk.count.add();
        let [reader, writer] = [Arc::clone(&chunk), Arc::clone(&chunk)];
        let reader = thread::spawn(move || {
            assert_eq!(reader.read(), 1);
            reader.release()
        });
        let writer = thread::spawn(move || {
            if writer.count.is_one() {
                writer.write(2);
            } else {
                assert_eq!(writer.read(), 1);
            }
            writer.release()
        });
        assert_ne!(reader.join().unwrap(), writer.join().unwrap());
    });
}

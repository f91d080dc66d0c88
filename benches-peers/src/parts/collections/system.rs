//! The system's allocator. Each block is freed before the next is allocated, so the allocator reuses the same memory each time,
//! which is its best case.

use std::hint::black_box;

use super::work::{BLOCK, FRAME, FRAMES};
use crate::harness::{Cell, Reading};

pub(super) fn temp_alloc(cell: Cell) -> Reading {
    let operation = |sum: &mut u64| {
        for _ in 0..FRAMES {
            *sum += (0..FRAME).map(|index| write_block(index as u8)).sum::<u64>();
        }
    };
    cell.run(0, operation, |sum| *sum)
}

/// Allocates a block, writes its first byte, reads it back, and frees the block. The box compiles to calls of `malloc` and
/// `free`, and to nothing else.
#[inline]
fn write_block(byte: u8) -> u64 {
    let mut block = Box::<[u8]>::new_uninit_slice(BLOCK);
    u64::from(*black_box(block[0].write(byte)))
}

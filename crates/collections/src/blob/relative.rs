//! Offsets that lead from where they stand to somewhere else in the same block.
#![expect(unsafe_code, reason = "turns offsets into references")]

use std::ptr;
use std::slice;

/// Follows an offset from the pointer that contains it to `length` values of `T`.
///
/// A reference to the pointer may be used for the bytes of the pointer alone, not for those further on
/// in the block. So the address is computed as a number, and turned into a pointer that takes its
/// permission from the block, which has exposed it for this. The other way, to have every pointer know
/// its block, would take room in each of them, and be an address that is not relocatable.
///
/// # Safety
///
/// - The pointer is in a [`Block`](super::block::Block), at its place.
/// - At that offset from it the block has `length` values of `T`.
#[inline]
pub(super) unsafe fn follow<P, T>(pointer: &P, offset: u32, length: usize) -> &[T] {
    let address = ptr::from_ref(pointer).addr() + offset as usize;
    let start = ptr::with_exposed_provenance::<T>(address);
    // SAFETY: the pointer is in a block, which has exposed the provenance of all its bytes, and at the
    // address it has so many values, aligned and initialised. The block lives as long as the reference
    // to the pointer in it, and nobody writes it.
    unsafe { slice::from_raw_parts(start, length) }
}

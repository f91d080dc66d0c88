//! Offsets from a field to a later place in the same block.
#![expect(unsafe_code, reason = "turns offsets into references")]

use std::ptr;
use std::slice;

/// Follows an offset from the pointer that contains it to `length` values of `T`.
///
/// A reference to the pointer may be used only for the bytes of the pointer, not for later bytes of
/// the block. So the address is computed as a number, and becomes a pointer with the provenance
/// that the block has exposed. The alternative, a pointer to the block in each field, would take
/// space and would not be relocatable.
///
/// # Safety
///
/// - The pointer is in a [`Block`](super::block::Block), at its place.
/// - At that offset from it the block has `length` values of `T`.
#[inline]
pub(super) unsafe fn follow<P, T>(pointer: &P, offset: u32, length: usize) -> &[T] {
    let address = ptr::from_ref(pointer).addr() + offset as usize;
    let start = ptr::with_exposed_provenance::<T>(address);
    // SAFETY: the pointer is in a block, which has exposed the provenance of all its bytes, and at
    // the address are `length` values, aligned and initialised. The block lives as long as the
    // reference to the pointer in it, and is never written.
    unsafe { slice::from_raw_parts(start, length) }
}

//! The memory of a blob.
#![expect(unsafe_code, reason = "owns the bytes that references into a blob point to")]

use std::fmt;
use std::ptr::{self, NonNull};
use std::slice;

use super::data::{BlobData, MAX_ALIGN};
use super::hash::hash;

/// Sixteen bytes, with the alignment of blobs.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Unit([u8; UNIT]);

const UNIT: usize = 16;
const _: () = assert!(align_of::<Unit>() == MAX_ALIGN && size_of::<Unit>() == UNIT);

/// Bytes at an address that is a multiple of 16. New ones are zero.
pub(super) struct AlignedBytes {
    units: Vec<Unit>,
    length: usize,
}

impl AlignedBytes {
    pub(super) fn new() -> Self {
        Self { units: Vec::new(), length: 0 }
    }

    pub(super) fn zeroed(length: usize) -> Self {
        Self { units: vec![Unit([0; UNIT]); length.div_ceil(UNIT)], length }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Extends the bytes with zeros, or shortens them.
    pub(super) fn resize(&mut self, length: usize) {
        if length < self.length {
            self.as_mut_slice()[length..].fill(0);
        }
        self.units.resize(length.div_ceil(UNIT), Unit([0; UNIT]));
        self.length = length;
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: the units are initialised bytes, of which there are at least `length`.
        unsafe { slice::from_raw_parts(self.units.as_ptr().cast(), self.length) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the units are initialised bytes, of which there are at least `length`, and they
        // are borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.units.as_mut_ptr().cast(), self.length) }
    }
}

/// A finished blob: bytes that never change and never move.
///
/// The provenance of the bytes is exposed. That allows following a pointer inside of them, which is
/// reached only through a reference to itself; see `relative`.
pub(super) struct Block {
    /// Leaked from a box of units; exposed.
    start: NonNull<Unit>,
    length: usize,
    hash: u64,
}

// SAFETY: a block owns its bytes, which are never written.
unsafe impl Send for Block {}
// SAFETY: a block owns its bytes, which are never written.
unsafe impl Sync for Block {}

impl Block {
    /// Makes the bytes a block. All of them are initialised, including padding: only bytes are ever
    /// written to them.
    pub(super) fn new(bytes: AlignedBytes) -> Self {
        let hash = hash(bytes.as_slice());
        let AlignedBytes { units, length } = bytes;
        let start = NonNull::from(Box::leak(units.into_boxed_slice())).cast::<Unit>();
        start.as_ptr().expose_provenance();
        Self { start, length, hash }
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        // SAFETY: the bytes are initialised, live as long as the block, and are never written.
        unsafe { slice::from_raw_parts(self.start.as_ptr().cast(), self.length) }
    }

    /// Returns the start of the bytes: the address of the root, valid as long as the block lives.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start.cast()
    }

    /// Returns the root.
    ///
    /// # Safety
    ///
    /// - The bytes were built with a `T` as root, or checked to have one.
    #[inline]
    pub(super) unsafe fn root<T: BlobData>(&self) -> &T {
        // SAFETY: the bytes begin with a `T`, aligned since blocks are aligned to 16 and no `T`
        // requires more. They live as long as the block, and are never written.
        unsafe { self.start.cast::<T>().as_ref() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let units = ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.length.div_ceil(UNIT));
        // SAFETY: leaked by `new` from a box with this number of units, and not freed since.
        drop(unsafe { Box::from_raw(units) });
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes, hash {:016x})", self.length, self.hash)
    }
}

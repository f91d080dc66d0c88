//! Copies values into the builder, field by field.
#![expect(unsafe_code, reason = "copies the bytes of values")]

use std::mem::ManuallyDrop;
use std::ptr;

use super::data::{BlobData, BlobVisitor};

/// Copies the value to `to`, except its padding and its relative pointers.
///
/// Padding is not copied because it may be uninitialised, and the bytes of a blob are initialised.
/// Relative pointers are not copied because a value passed to the builder has only empty ones,
/// whose bytes are zero: filled ones exist only in blocks, and never leave them.
///
/// # Safety
///
/// - `to` is valid for writes of the size of `T`.
/// - The bytes there are zero.
pub(super) unsafe fn copy_into<T: BlobData>(value: T, to: *mut u8) {
    let value = ManuallyDrop::new(value);
    T::visit(&mut Copy { from: (&raw const value).cast(), to });
}

/// The value, and its destination. Both are valid for the size of the visited type: this is
/// private, and passed only to implementations of `BlobData`, which report their type.
struct Copy {
    from: *const u8,
    to: *mut u8,
}

impl Copy {
    fn leaf<T>(&mut self) {
        // SAFETY: by the contract of `BlobData`, a leaf is at this place, so both are valid for its
        // size. The source can be read, since a leaf has no padding (of an enum it is the integer
        // alone), and the destination can be written. The builder does not own the value, so they
        // do not overlap.
        unsafe { ptr::copy_nonoverlapping(self.from, self.to, size_of::<T>()) };
    }

    fn part<T: BlobData>(&self, offset: usize) {
        // SAFETY: the offset of a part of the value, by the contract of `BlobData`.
        let (from, to) = unsafe { (self.from.add(offset), self.to.add(offset)) };
        T::visit(&mut Self { from, to });
    }
}

impl BlobVisitor for Copy {
    #[inline]
    fn bits<T: BlobData>(&mut self, _: &'static str) {
        self.leaf::<T>();
    }

    #[inline]
    fn boolean(&mut self) {
        self.leaf::<bool>();
    }

    #[inline]
    fn character(&mut self) {
        self.leaf::<char>();
    }

    #[inline]
    fn variants<T: BlobData, I: BlobData>(&mut self, _: &'static str, _: &[(&'static str, i128)]) {
        self.leaf::<I>();
    }

    #[inline]
    fn repeat<T: BlobData>(&mut self, count: usize) {
        // The number of zero-sized values may be too large for a loop.
        let count = if size_of::<T>() == 0 { 0 } else { count };
        for index in 0..count {
            self.part::<T>(index * size_of::<T>());
        }
    }

    #[inline]
    fn structure<T: BlobData>(&mut self, _: &'static str) {}

    #[inline]
    fn field<S: BlobData, F: BlobData>(&mut self, _: &'static str, offset: usize, _: fn(&S) -> &F) {
        self.part::<F>(offset);
    }

    #[inline]
    fn array<T: BlobData>(&mut self) {}

    #[inline]
    fn string(&mut self) {}

    #[inline]
    fn pointer<T: BlobData>(&mut self) {}
}

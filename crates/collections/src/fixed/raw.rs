//! The valid bytes of strings and lists.
#![expect(unsafe_code, reason = "text is read without checking it again, elements lie in bytes")]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::{ptr, slice, str};

use zerocopy::{Immutable, IntoBytes};

use super::error::FixedStringError;

/// Size in bytes of the length of a string or list.
const HEADER: usize = size_of::<u16>();

/// The bytes of a string: the length, the text, zeros.
///
/// Three invariants: the length is at most [`CAPACITY`](Self::CAPACITY), the text is UTF-8, and all
/// bytes after it are zero. The capacity excludes the last byte, so that one is always zero.
#[derive(Clone, Copy)]
#[cfg_attr(
    feature = "zerocopy",
    derive(IntoBytes, Immutable, zerocopy::KnownLayout, zerocopy::Unaligned)
)]
#[repr(transparent)]
pub(super) struct RawText<const N: usize>([u8; N]);

impl<const N: usize> RawText<N> {
    pub(super) const CAPACITY: usize = {
        assert!(N > HEADER, "a FixedString is at least 3 bytes large: two for its length, one NUL");
        assert!(N - HEADER - 1 <= u16::MAX as usize, "a FixedString is at most 65538 bytes large");
        N - HEADER - 1
    };

    pub(super) const fn new() -> Self {
        const { assert!(Self::CAPACITY < N) };
        Self([0; N])
    }

    pub(super) fn from_bytes(bytes: [u8; N]) -> Result<Self, FixedStringError> {
        let raw = Self(bytes);
        let len = raw.len();
        raw.check_room(len)?;
        let (text, rest) = bytes[HEADER..].split_at(len);
        str::from_utf8(text)?;
        match rest.iter().position(|byte| *byte != 0) {
            Some(at) => Err(FixedStringError::NotZero { position: HEADER + len + at }),
            None => Ok(raw),
        }
    }

    pub(super) const fn bytes(&self) -> &[u8; N] {
        &self.0
    }

    const fn len(&self) -> usize {
        u16::from_le_bytes([self.0[0], self.0[1]]) as usize
    }

    const fn set_len(&mut self, len: usize) {
        debug_assert!(len <= Self::CAPACITY);
        // A capacity fits two bytes, and a length is at most the capacity.
        [self.0[0], self.0[1]] = (len as u16).to_le_bytes();
    }

    pub(super) const fn as_str(&self) -> &str {
        let text = self.0.split_at(HEADER).1.split_at(self.len()).0;
        // SAFETY: the text is UTF-8. `from_bytes` checked it; `push_str` and `replace_range` put whole
        // strings between whole code points.
        unsafe { str::from_utf8_unchecked(text) }
    }

    const fn check_room(&self, needed: usize) -> Result<(), FixedStringError> {
        if needed <= Self::CAPACITY {
            Ok(())
        } else {
            Err(FixedStringError::Overflow { capacity: Self::CAPACITY, needed })
        }
    }

    pub(super) const fn push_str(&mut self, text: &str) -> Result<(), FixedStringError> {
        let len = self.len();
        // The sum does not overflow: a `str` has at most half of the address space.
        let needed = len + text.len();
        if let Err(overflow) = self.check_room(needed) {
            return Err(overflow);
        }
        let room = self.0.split_at_mut(HEADER + len).1.split_at_mut(text.len()).0;
        room.copy_from_slice(text.as_bytes());
        self.set_len(needed);
        Ok(())
    }

    /// Replaces a part of the text by `with`.
    ///
    /// # Panics
    ///
    /// Panics if the range does not begin and end between code points.
    pub(super) fn replace_range(
        &mut self,
        range: Range<usize>,
        with: &str,
    ) -> Result<(), FixedStringError> {
        let text = self.as_str();
        let len = text.len();
        assert!(text.is_char_boundary(range.start) && text.is_char_boundary(range.end));
        let needed = len - range.len() + with.len();
        self.check_room(needed)?;
        let end = range.start + with.len();
        let bytes = &mut self.0[HEADER..];
        bytes.copy_within(range.end..len, end);
        bytes[range.start..end].copy_from_slice(with.as_bytes());
        if needed < len {
            bytes[needed..len].fill(0);
        }
        self.set_len(needed);
        Ok(())
    }
}

/// The bytes of a list: the length, zeros up to the first element, the elements, zeros.
///
/// Three invariants: the length is at most [`CAPACITY`](Self::CAPACITY), that number of elements is
/// initialised, and all other bytes are zero. The elements begin at [`OFFSET`](Self::OFFSET).
///
/// The bytes are `MaybeUninit`, since an element may have padding and references, which `u8` cannot
/// represent.
#[repr(C)]
pub(super) struct RawList<T, const N: usize> {
    /// Aligns the bytes, and has size zero.
    align: [T; 0],
    bytes: [MaybeUninit<u8>; N],
}

impl<T: Copy, const N: usize> Copy for RawList<T, N> {}

impl<T: Copy, const N: usize> Clone for RawList<T, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Copy, const N: usize> RawList<T, N> {
    /// Offset of the elements: the first aligned byte after the length.
    const OFFSET: usize = HEADER.next_multiple_of(align_of::<T>());

    pub(super) const CAPACITY: usize = {
        assert!(
            Self::OFFSET <= N && size_of::<T>() <= N - Self::OFFSET,
            "this FixedList has no room for one element: take a larger list or a smaller element"
        );
        assert!(
            N.is_multiple_of(align_of::<T>()),
            "the size of a FixedList is a multiple of the alignment of its elements"
        );
        match (N - Self::OFFSET).checked_div(size_of::<T>()) {
            None => u16::MAX as usize,
            Some(capacity) => {
                assert!(capacity <= u16::MAX as usize, "a FixedList holds at most 65535 elements");
                capacity
            }
        }
    };

    pub(super) const fn new() -> Self {
        const { assert!(Self::CAPACITY > 0 && size_of::<Self>() == N) };
        Self { align: [], bytes: [MaybeUninit::zeroed(); N] }
    }

    pub(super) const fn len(&self) -> usize {
        // SAFETY: the first two bytes are always initialised, with zeros or by `set_len`.
        let len = unsafe { [self.bytes[0].assume_init(), self.bytes[1].assume_init()] };
        u16::from_le_bytes(len) as usize
    }

    fn set_len(&mut self, len: usize) {
        debug_assert!(len <= Self::CAPACITY);
        // A length is at most the capacity, and a capacity fits two bytes.
        let [low, high] = (len as u16).to_le_bytes();
        self.bytes[0].write(low);
        self.bytes[1].write(high);
    }

    pub(super) const fn as_slice(&self) -> &[T] {
        // SAFETY: the offset is within the bytes, as `CAPACITY` asserts.
        let first = unsafe { self.bytes.as_ptr().add(Self::OFFSET) };
        // SAFETY: the list is aligned like `T`, and the offset is a multiple of that. The first
        // `len` elements are initialised, within the bytes, and borrowed as long as the list is.
        unsafe { slice::from_raw_parts(first.cast(), self.len()) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.len();
        // SAFETY: the list is aligned like `T`, and the offset is a multiple of that. The first
        // `len` elements are initialised, within the bytes, and the list is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.first(), len) }
    }

    fn first(&mut self) -> *mut T {
        // SAFETY: the offset is within the bytes, as `CAPACITY` asserts.
        unsafe { self.bytes.as_mut_ptr().add(Self::OFFSET) }.cast()
    }

    /// Adds all values, or adds none and returns `false`.
    pub(super) fn push_all(&mut self, values: &[T]) -> bool {
        let len = self.len();
        if values.len() > Self::CAPACITY - len {
            return false;
        }
        // SAFETY: there is room for the values after the existing elements. They are aligned, since
        // the list is aligned like `T`, and are not part of the list, which is borrowed mutably.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr(), self.first().add(len), values.len()) };
        self.set_len(len + values.len());
        true
    }

    /// Keeps the first `len` elements, where `len` is at most the old length.
    pub(super) fn shorten(&mut self, len: usize) {
        let old = self.len();
        assert!(len <= old);
        // SAFETY: the elements from `len` to `old` are within the bytes. The length excludes them,
        // so they are not read before they are written again.
        unsafe { ptr::write_bytes(self.first().add(len), 0, old - len) };
        self.set_len(len);
    }

    pub(super) fn bytes(&self) -> &[u8; N]
    where
        T: IntoBytes + Immutable,
    {
        // SAFETY: elements that are `IntoBytes` have no padding, so every byte is initialised:
        // those of the length, those of the elements, and the zeros. The elements are `Immutable`,
        // so the bytes do not change while they are borrowed. The bytes are at the start of the
        // list.
        unsafe { &*self.bytes.as_ptr().cast() }
    }
}

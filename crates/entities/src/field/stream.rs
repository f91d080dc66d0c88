//! What a slice of values writes to a hasher, at the speed of its memory where that is the same.
#![expect(unsafe_code, reason = "plain values are read as bytes")]

use std::slice;

use super::{Field, StateHasher};

/// How the memory of a type compares with what its values write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// The values write nothing.
    Nothing,
    /// The values write their bytes, on a little-endian machine.
    Bytes,
    /// The values consist of `f32`, and write them in the order they have in memory.
    F32,
    /// The values consist of `f64`, and write them in the order they have in memory.
    F64,
    /// All others: each field is asked.
    Fields,
}

impl Stream {
    /// How it is with a type that has both in it, one behind the other.
    pub(super) const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, stream) | (stream, Self::Nothing) => stream,
            (Self::Bytes, Self::Bytes) => Self::Bytes,
            (Self::F32, Self::F32) => Self::F32,
            (Self::F64, Self::F64) => Self::F64,
            _ => Self::Fields,
        }
    }
}

/// Returns the bytes of the values, if they are plain.
fn plain_bytes<T: Field>(values: &[T]) -> Option<&[u8]> {
    // SAFETY:
    // - the memory is that of the slice, borrowed as long
    // - each byte of it is initialised and does not change while it is borrowed, for `Field` promises so
    //   of a type whose shape is plain
    T::SHAPE.plain.then(|| unsafe {
        slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values))
    })
}

/// Writes all values, by the fastest way to the same hash.
#[inline]
pub(super) fn write_values<T: Field>(values: &[T], state: &mut StateHasher) {
    // All of this is constant, but for the loop that remains.
    if let (stream, Some(bytes)) = (T::SHAPE.stream, plain_bytes(values))
        && cfg!(target_endian = "little")
    {
        match stream {
            Stream::Nothing => return,
            Stream::Bytes => return state.write_bytes(bytes),
            Stream::F32 => {
                return write_chunks(bytes, state, |word| f32_bytes(f32::from_ne_bytes(word)));
            }
            Stream::F64 => {
                return write_chunks(bytes, state, |word| f64_bytes(f64::from_ne_bytes(word)));
            }
            Stream::Fields => {}
        }
    }
    for value in values {
        value.hash_state(state);
    }
}

/// Writes words of `N` bytes, each of them changed.
///
/// They go through a buffer, in a loop that vectorises.
fn write_chunks<const N: usize>(
    bytes: &[u8],
    state: &mut StateHasher,
    change: impl Fn([u8; N]) -> [u8; N],
) {
    let mut buffer = [[0; N]; 64];
    for words in bytes.as_chunks::<N>().0.chunks(buffer.len()) {
        for (to, from) in buffer.iter_mut().zip(words) {
            *to = change(*from);
        }
        state.write_bytes(buffer[..words.len()].as_flattened());
    }
}

/// The bytes of a number that are hashed. Rust does not say which bits a NaN has, so all are one.
#[inline]
pub(super) fn f32_bytes(value: f32) -> [u8; 4] {
    let bits = if value.is_nan() { 0x7FC0_0000 } else { value.to_bits() };
    bits.to_le_bytes()
}

/// As [`f32_bytes`].
#[inline]
pub(super) fn f64_bytes(value: f64) -> [u8; 8] {
    let bits = if value.is_nan() { 0x7FF8_0000_0000_0000 } else { value.to_bits() };
    bits.to_le_bytes()
}

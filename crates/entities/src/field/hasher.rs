//! [`StateHasher`]: the hash of component values and of the state of a world.

use super::{Field, plain_bytes};

/// The number of bytes that one step of the hasher consumes.
const BLOCK: usize = 64;

/// Constants of wyhash: odd numbers with as many one bits as zero bits.
const SECRETS: [u64; 4] =
    [0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3, 0x5899_65CC_7537_4CC3];

/// A 64-bit hasher whose result is the same on every machine and in every build.
///
/// The hash depends only on the written bytes, and not on how calls divide them: all writes form one stream. Numbers are written in
/// little-endian order, lengths with 64 bits, and all NaNs with the same bits. Write the [length](Self::write_len) before data of
/// variable length.
///
/// The hash is for comparing states. It detects accidental differences, but does not resist a deliberate search for collisions.
///
/// # Algorithm
///
/// The algorithm belongs to the wyhash family. Its step multiplies two 64-bit words, and folds the 128-bit product to 64 bits by
/// XOR of the halves. A block of 64 bytes has eight words, which four independent lanes consume, two words per lane:
///
/// ```text
/// lane ← lane + fold((lane ^ word) × (next word ^ secret))
/// ```
///
/// The old value of the lane is added, because the product is zero if one factor is zero, and earlier input must not be lost. At
/// the end, the last block is padded with zeros, and the number of bytes is folded with one lane after the other.
///
/// # Examples
///
/// ```
/// use ancho_entities::StateHasher;
///
/// let mut whole = StateHasher::new();
/// whole.write_bytes(b"state");
/// let mut parts = StateHasher::new();
/// parts.write_bytes(b"st");
/// parts.write_u8(b'a');
/// parts.write_bytes(b"te");
/// assert_eq!(whole.finish(), parts.finish());
/// assert_eq!(whole.finish(), 0xE258_7FFA_3156_46B3);
/// ```
#[derive(Clone, Debug)]
pub struct StateHasher {
    lanes: [u64; 4],
    /// The number of blocks that the lanes have consumed.
    blocks: u64,
    /// The number of bytes in `block`, which is always less than [`BLOCK`].
    filled: u8,
    block: [u8; BLOCK],
    /// The bytes of all consumed blocks, if the stream is recorded.
    record: Option<Vec<u8>>,
}

impl StateHasher {
    /// Creates an empty hasher.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::StateHasher;
    ///
    /// assert_eq!(StateHasher::new().finish(), StateHasher::default().finish());
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        let [first, second, third, fourth] = SECRETS;
        // No lane starts with the secret of its step. Otherwise, swapping the first two words of a lane would not change the hash.
        let lanes = [fourth, first, second, third];
        Self { lanes, blocks: 0, filled: 0, block: [0; BLOCK], record: None }
    }

    /// Writes one byte.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut state = ancho_entities::StateHasher::new();
    /// let before = state.finish();
    /// // Zeros count as well.
    /// state.write_u8(0);
    /// assert_ne!(state.finish(), before);
    /// ```
    #[inline]
    pub fn write_u8(&mut self, value: u8) {
        self.push([value]);
    }

    /// Writes the two bytes of the number, the lower one first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::StateHasher;
    /// let (mut number, mut bytes) = (StateHasher::new(), StateHasher::new());
    /// number.write_u16(0x0201);
    /// bytes.write_bytes(&[1, 2]);
    /// assert_eq!(number.finish(), bytes.finish());
    /// ```
    #[inline]
    pub fn write_u16(&mut self, value: u16) {
        self.push(value.to_le_bytes());
    }

    /// Writes the four bytes of the number, the lowest first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::StateHasher;
    /// let (mut number, mut bytes) = (StateHasher::new(), StateHasher::new());
    /// number.write_u32(-2_i32 as u32);
    /// bytes.write_bytes(&[0xFE, 0xFF, 0xFF, 0xFF]);
    /// assert_eq!(number.finish(), bytes.finish());
    /// ```
    #[inline]
    pub fn write_u32(&mut self, value: u32) {
        self.push(value.to_le_bytes());
    }

    /// Writes the eight bytes of the number, the lowest first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::StateHasher;
    /// let (mut number, mut bytes) = (StateHasher::new(), StateHasher::new());
    /// number.write_u64(7);
    /// bytes.write_bytes(&[7, 0, 0, 0, 0, 0, 0, 0]);
    /// assert_eq!(number.finish(), bytes.finish());
    /// ```
    #[inline]
    pub fn write_u64(&mut self, value: u64) {
        self.push(value.to_le_bytes());
    }

    /// Writes the sixteen bytes of the number, the lowest first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::StateHasher;
    /// let (mut number, mut halves) = (StateHasher::new(), StateHasher::new());
    /// number.write_u128(1 << 64 | 7);
    /// halves.write_u64(7);
    /// halves.write_u64(1);
    /// assert_eq!(number.finish(), halves.finish());
    /// ```
    #[inline]
    pub fn write_u128(&mut self, value: u128) {
        self.push(value.to_le_bytes());
    }

    /// Writes the bits of the number. All NaNs write the same bits. Zero and minus zero write different bits.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::StateHasher;
    /// let hash = |value: f32| {
    ///     let mut state = StateHasher::new();
    ///     state.write_f32(value);
    ///     state.finish()
    /// };
    /// assert_eq!(hash(f32::NAN), hash(-f32::NAN));
    /// assert_ne!(hash(0.0), hash(-0.0));
    /// ```
    #[inline]
    pub fn write_f32(&mut self, value: f32) {
        self.push(f32_bytes(value));
    }

    /// Writes the bits of the number. All NaNs write the same bits. Zero and minus zero write different bits.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::StateHasher;
    /// let (mut number, mut bits) = (StateHasher::new(), StateHasher::new());
    /// number.write_f64(1.5);
    /// bits.write_u64(1.5_f64.to_bits());
    /// assert_eq!(number.finish(), bits.finish());
    /// ```
    #[inline]
    pub fn write_f64(&mut self, value: f64) {
        self.push(f64_bytes(value));
    }

    /// Writes a length with 64 bits. Call it before writing data of variable length.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::StateHasher;
    /// let (mut length, mut number) = (StateHasher::new(), StateHasher::new());
    /// length.write_len([1, 2, 3].len());
    /// number.write_u64(3);
    /// assert_eq!(length.finish(), number.finish());
    /// ```
    #[inline]
    pub fn write_len(&mut self, len: usize) {
        self.write_u64(len as u64);
    }

    /// Writes bytes, without their length.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ancho_entities::StateHasher;
    /// let (mut whole, mut parts) = (StateHasher::new(), StateHasher::new());
    /// whole.write_bytes(&[7; 1000]);
    /// for _ in 0..1000 {
    ///     parts.write_bytes(&[7]);
    /// }
    /// assert_eq!(whole.finish(), parts.finish());
    /// ```
    pub fn write_bytes(&mut self, mut bytes: &[u8]) {
        let filled = usize::from(self.filled);
        if filled > 0 || bytes.len() < BLOCK {
            let room = &mut self.block[filled..];
            if bytes.len() < room.len() {
                room[..bytes.len()].copy_from_slice(bytes);
                self.filled += bytes.len() as u8;
                return;
            }
            let (head, rest) = bytes.split_at(room.len());
            room.copy_from_slice(head);
            self.lanes = mixed(self.lanes, &self.block);
            self.blocks += 1;
            if let Some(record) = &mut self.record {
                record.extend_from_slice(&self.block);
            }
            bytes = rest;
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        self.lanes = blocks.iter().fold(self.lanes, mixed);
        self.blocks += blocks.len() as u64;
        if let Some(record) = &mut self.record {
            record.extend_from_slice(blocks.as_flattened());
        }
        self.block[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len() as u8;
    }

    /// Returns the hash of everything written so far. Writing can continue.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut state = ancho_entities::StateHasher::new();
    /// state.write_u32(7);
    /// assert_eq!(state.finish(), state.clone().finish());
    /// ```
    #[must_use]
    pub fn finish(&self) -> u64 {
        let filled = usize::from(self.filled);
        let mut lanes = self.lanes;
        if filled > 0 {
            let mut last = [0; BLOCK];
            last[..filled].copy_from_slice(&self.block[..filled]);
            lanes = mixed(lanes, &last);
        }
        let len = self.blocks.wrapping_mul(BLOCK as u64).wrapping_add(filled as u64);
        let hash =
            lanes.iter().zip(SECRETS).fold(len, |hash, (lane, secret)| folded(hash ^ lane, secret));
        folded(hash ^ SECRETS[1], SECRETS[2])
    }

    /// Returns the byte stream that a function writes, instead of its hash.
    pub(crate) fn stream_of(write: impl FnOnce(&mut Self)) -> Vec<u8> {
        let mut state = Self { record: Some(Vec::new()), ..Self::new() };
        write(&mut state);
        let mut stream = state.record.unwrap_or_default();
        stream.extend_from_slice(&state.block[..usize::from(state.filled)]);
        stream
    }

    /// Writes a few bytes. If they fit in the current block, as 15 of 16 words of four bytes do, this is only a copy.
    #[inline]
    fn push<const N: usize>(&mut self, bytes: [u8; N]) {
        let filled = usize::from(self.filled);
        if filled + N < BLOCK {
            self.block[filled..filled + N].copy_from_slice(&bytes);
            self.filled += N as u8;
        } else {
            self.write_bytes(&bytes);
        }
    }
}

impl Default for StateHasher {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the lanes after they have consumed one block.
#[inline]
fn mixed(mut lanes: [u64; 4], block: &[u8; BLOCK]) -> [u64; 4] {
    let (words, _) = block.as_chunks::<8>();
    for ((lane, pair), secret) in lanes.iter_mut().zip(words.as_chunks::<2>().0).zip(SECRETS) {
        let [first, second] = pair.map(u64::from_le_bytes);
        *lane = lane.wrapping_add(folded(*lane ^ first, second ^ secret));
    }
    lanes
}

/// Returns the XOR of the two halves of the product of two words.
#[inline]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The relation between the memory of a type's values and the bytes that they write to a hasher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// The values write no bytes.
    Nothing,
    /// On a little-endian machine, the values write their bytes as they are in memory.
    Bytes,
    /// The values consist of `f32` numbers, and write them in their order in memory.
    F32,
    /// The values consist of `f64` numbers, and write them in their order in memory.
    F64,
    /// The bytes differ from the memory: each field is written by its own `hash_state`.
    Fields,
}

impl Stream {
    /// Returns the relation for a type whose values consist of a part with the relation `self`, followed by a part with the
    /// relation `other`.
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

/// Writes values to a hasher, with the same result as `hash_state` of each value, in the fastest way.
#[inline]
pub(super) fn write_values<T: Field>(values: &[T], state: &mut StateHasher) {
    // The conditions are compile-time constants, so that one of the branches remains.
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

/// Writes words of `N` bytes, each transformed by a function.
///
/// The transformed words are collected in a buffer, so that the compiler can vectorise the loop.
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

/// Returns the bytes that a number writes. All NaNs write the same bytes, because Rust leaves the bits of a NaN unspecified.
#[inline]
pub(super) fn f32_bytes(value: f32) -> [u8; 4] {
    let bits = if value.is_nan() { 0x7FC0_0000 } else { value.to_bits() };
    bits.to_le_bytes()
}

/// Returns the bytes that a number writes. All NaNs write the same bytes, because Rust leaves the bits of a NaN unspecified.
#[inline]
pub(super) fn f64_bytes(value: f64) -> [u8; 8] {
    let bits = if value.is_nan() { 0x7FF8_0000_0000_0000 } else { value.to_bits() };
    bits.to_le_bytes()
}

//! Blobs in files: the header before the block, and the two hashes in it.
//!
//! ```text
//!  byte  0        8     9     10     12         16            24             32       40         48
//!        ┌────────┬─────┬─────┬──────┬──────────┬─────────────┬──────────────┬────────┬──────────┬───────┐
//!        │ magic  │ 1   │order│ zero │ version  │ layout hash │ content hash │ length │ zero     │ block │
//!        └────────┴─────┴─────┴──────┴──────────┴─────────────┴──────────────┴────────┴──────────┴───────┘
//! ```
//!
//! The numbers of the header are little-endian. The block is copied from memory; `order` is 1 if
//! that is little-endian, 2 otherwise. The user chooses `version`. The block begins at a multiple
//! of 16.
//!
//! The content hash is XXH64. It is implemented here because the hash crate of the maps may change
//! with its version, and this hash must not. It is a published algorithm, so that other tools can
//! check files.

use std::any::TypeId;

use super::check::Fault;
use super::data::{BlobData, BlobVisitor};

const MAGIC: [u8; 8] = *b"\x89AnchoBl";
const FORMAT: u8 = 1;
const BYTE_ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };

/// Size of the header in bytes. The block begins after it.
pub(super) const HEADER: usize = 48;

/// Reason for refusing a header.
pub(super) enum Refusal {
    Version(u32),
    Layout(&'static str),
    Fault(Fault),
}

/// Puts the header before the block.
pub(super) fn to_bytes(block: &[u8], content: u64, layout: u64, version: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + block.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&[FORMAT, BYTE_ORDER, 0, 0]);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&layout.to_le_bytes());
    bytes.extend_from_slice(&content.to_le_bytes());
    bytes.extend_from_slice(&(block.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(block);
    bytes
}

/// Checks the header, and returns the block, whose contents are not checked.
pub(super) fn from_bytes(bytes: &[u8], layout: u64, version: u32) -> Result<&[u8], Refusal> {
    let fault = |at, what| Err(Refusal::Fault(Fault { at, what }));
    let Some((header, block)) = bytes.split_first_chunk::<HEADER>() else {
        return fault(bytes.len(), "they end before the block begins");
    };
    if header[..8] != MAGIC {
        return fault(0, "they do not begin as a blob");
    }
    if header[8] != FORMAT {
        return Err(Refusal::Layout("they are in another format"));
    }
    if header[9] != BYTE_ORDER {
        return Err(Refusal::Layout("they are from a machine with another byte order"));
    }
    if header[10..12] != [0; 2] || header[40..] != [0; 8] {
        return fault(10, "the header is not zero where it should be");
    }
    // Before the layout, which usually changes together with the version.
    let found = u32::from_le_bytes(field(header, 12));
    if found != version {
        return Err(Refusal::Version(found));
    }
    let [found, content, length] = [16, 24, 32].map(|at| u64::from_le_bytes(field(header, at)));
    if found != layout {
        return Err(Refusal::Layout("its types have other fields, or are laid out differently"));
    }
    if length != block.len() as u64 || u32::try_from(length).is_err() {
        return fault(32, "the length is not that of the block");
    }
    if content != hash(block) {
        return fault(24, "the content hash is not that of the block");
    }
    Ok(block)
}

/// Returns the field of the header at a byte offset.
fn field<const N: usize>(header: &[u8; HEADER], at: usize) -> [u8; N] {
    std::array::from_fn(|index| header[at + index])
}

/// Returns a hash of the type's layout: the names, types and offsets of its fields, at all depths;
/// the name, but not the module, of each struct and enum; sizes and alignments.
///
/// It is computed from a description in bytes, so it is the same in every build of a program.
pub(super) fn layout_hash<T: BlobData>() -> u64 {
    let mut description = Description { bytes: Vec::new(), seen: Vec::new() };
    description.describe::<T>();
    hash(&description.bytes)
}

struct Description {
    bytes: Vec<u8>,
    /// Types that are described, or being described: a type can contain arrays of itself.
    seen: Vec<TypeId>,
}

impl Description {
    fn describe<T: BlobData>(&mut self) {
        let id = TypeId::of::<T>();
        if let Some(index) = self.seen.iter().position(|seen| *seen == id) {
            self.bytes.push(b'@');
            self.number(index as i128);
            return;
        }
        self.seen.push(id);
        self.bytes.push(b'(');
        self.number(size_of::<T>() as i128);
        self.number(align_of::<T>() as i128);
        T::visit(self);
        self.bytes.push(b')');
    }

    fn number(&mut self, number: i128) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn name(&mut self, kind: u8, name: &str) {
        self.bytes.push(kind);
        self.number(name.len() as i128);
        self.bytes.extend_from_slice(name.as_bytes());
    }
}

impl BlobVisitor for Description {
    fn bits<T: BlobData>(&mut self, name: &'static str) {
        self.name(b'n', name);
    }

    fn boolean(&mut self) {
        self.bytes.push(b'b');
    }

    fn character(&mut self) {
        self.bytes.push(b'c');
    }

    fn variants<T: BlobData, I: BlobData>(
        &mut self,
        name: &'static str,
        variants: &[(&'static str, i128)],
    ) {
        self.name(b'e', name);
        // Usually the size of the enum is that of its integer.
        if size_of::<I>() != size_of::<T>() {
            self.number(size_of::<I>() as i128);
        }
        for (name, value) in variants {
            self.name(b'v', name);
            self.number(*value);
        }
    }

    fn repeat<T: BlobData>(&mut self, count: usize) {
        self.bytes.push(b'r');
        self.number(count as i128);
        self.describe::<T>();
    }

    fn structure<T: BlobData>(&mut self, name: &'static str) {
        self.name(b's', name);
    }

    fn field<S: BlobData, F: BlobData>(
        &mut self,
        name: &'static str,
        offset: usize,
        _: fn(&S) -> &F,
    ) {
        self.name(b'f', name);
        self.number(offset as i128);
        self.describe::<F>();
    }

    fn array<T: BlobData>(&mut self) {
        self.bytes.push(b'a');
        self.describe::<T>();
    }

    fn string(&mut self) {
        self.bytes.push(b't');
    }

    fn pointer<T: BlobData>(&mut self) {
        self.bytes.push(b'p');
        self.describe::<T>();
    }
}

const PRIMES: [u64; 5] = [
    0x9E37_79B1_85EB_CA87,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0x85EB_CA77_C2B2_AE63,
    0x27D4_EB2F_1656_67C5,
];

/// Returns the XXH64 hash of the bytes, with seed 0.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let [p1, p2, p3, p4, p5] = PRIMES;
    let (stripes, mut rest) = bytes.as_chunks::<32>();
    let mut hash = if stripes.is_empty() {
        p5
    } else {
        let mut lanes = [p1.wrapping_add(p2), p2, 0, p1.wrapping_neg()];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
                *lane = round(*lane, u64::from_le_bytes(*word));
            }
        }
        let turns = [1, 7, 12, 18];
        let mixed = lanes.iter().zip(turns).map(|(lane, turn)| lane.rotate_left(turn));
        let mixed = mixed.fold(0, u64::wrapping_add);
        lanes
            .iter()
            .fold(mixed, |hash, lane| (hash ^ round(0, *lane)).wrapping_mul(p1).wrapping_add(p4))
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    while let Some((word, after)) = rest.split_first_chunk() {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(p1).wrapping_add(p4);
        rest = after;
    }
    if let Some((word, after)) = rest.split_first_chunk() {
        hash ^= u64::from(u32::from_le_bytes(*word)).wrapping_mul(p1);
        hash = hash.rotate_left(23).wrapping_mul(p2).wrapping_add(p3);
        rest = after;
    }
    for byte in rest {
        hash ^= u64::from(*byte).wrapping_mul(p5);
        hash = hash.rotate_left(11).wrapping_mul(p1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(p2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(p3);
    hash ^ (hash >> 32)
}

fn round(lane: u64, word: u64) -> u64 {
    let [p1, p2, ..] = PRIMES;
    lane.wrapping_add(word.wrapping_mul(p2)).rotate_left(31).wrapping_mul(p1)
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn the_published_values_come_out() {
        assert_eq!(hash(b""), 0xEF46_DB37_51D8_E999);
        assert_eq!(hash(b"a"), 0xD24E_C4F1_A98C_6E5B);
        assert_eq!(hash(b"abc"), 0x44BC_2CF5_AD77_0999);
        let long = b"Nobody inspects the spammish repetition";
        assert_eq!(hash(long), 0xFBCE_A83C_8A37_8BF1);
    }
}

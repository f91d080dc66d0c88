//! The header of a blob in files.
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

use super::check::Fault;
use super::hash::hash;

const MAGIC: [u8; 8] = *b"\x89AnchoBl";
const FORMAT: u8 = 1;
const BYTE_ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };

/// Start of the block.
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

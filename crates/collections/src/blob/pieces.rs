//! The values of a blob that is being built.
#![expect(
    unsafe_code,
    reason = "keeps values as bytes, and lends them to closures that pick a field"
)]

use super::block::{AlignedBytes, Block};
use super::copy::copy_into;
use super::data::{BlobData, check_type};
use super::layout::{LayoutFault, Link, Links, MAX_SIZE, Piece, lay_out};

/// The placed values, and the links of their fields.
///
/// The values are kept as bytes with zeros for padding, and with empty arrays, texts and pointers.
/// The contents of those are in `links`, and are written only to the finished block. So no field
/// leads to a value that can still move.
pub(super) struct Pieces {
    bytes: AlignedBytes,
    /// End of the last piece. Bytes after it were left by an iterator that panicked.
    end: usize,
    list: Vec<Piece>,
    links: Links,
}

/// Placed values: their piece, `None` if they have no bytes, and their number.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub(super) piece: Option<u32>,
    pub(super) count: u32,
}

/// The piece of a field, and the field's offset in it.
pub(super) type FieldKey = (u32, u32);

impl Pieces {
    /// Begins with the root.
    pub(super) fn new<T: BlobData>(root: T) -> Self {
        let mut pieces =
            Self { bytes: AlignedBytes::new(), end: 0, list: Vec::new(), links: Links::new() };
        match pieces.place([root]) {
            Ok(Placed { piece: Some(_), .. }) => {}
            // Zero-sized values make no piece, except the root.
            Ok(_) => pieces.list.push(Piece { start: 0, size: 0, align: 1 }),
            Err(_) => unreachable!("one value fits a block, or `check_type` had not compiled"),
        }
        pieces
    }

    /// Places values for a field to point to.
    pub(super) fn place<T: BlobData>(
        &mut self,
        values: impl IntoIterator<Item = T>,
    ) -> Result<Placed, LayoutFault> {
        const { check_type::<T>() };
        let values = values.into_iter();
        // Refuses an announced size that is too large, before any value fills the memory.
        let room = MAX_SIZE.checked_div(size_of::<T>()).unwrap_or(MAX_SIZE);
        if values.size_hint().0 > room {
            return Err(LayoutFault::TooLarge);
        }
        let start = self.end.next_multiple_of(align_of::<T>());
        // First shorter, then longer, so that only zeros follow the last piece.
        self.bytes.resize(self.end);
        self.bytes.resize(start);
        let mut count = 0_u32;
        for value in values {
            count = count.checked_add(1).ok_or(LayoutFault::TooLarge)?;
            let at = self.bytes.len();
            let end = at.checked_add(size_of::<T>()).filter(|end| *end <= MAX_SIZE);
            self.bytes.resize(end.ok_or(LayoutFault::TooLarge)?);
            let to = self.bytes.as_mut_slice()[at..].as_mut_ptr();
            // SAFETY: the bytes from there on were just added: the size of a `T`, and all zero.
            unsafe { copy_into(value, to) };
        }
        let size = self.bytes.len() - start;
        if size == 0 {
            return Ok(Placed { piece: None, count });
        }
        self.end = self.bytes.len();
        self.list.push(Piece { start, size, align: align_of::<T>() });
        // Each but the root has a byte of its own, and a `u32` can count the bytes.
        Ok(Placed { piece: Some((self.list.len() - 1) as u32), count })
    }

    /// Lends a value, and finds the field that the closure picks. Returns `None` if it picks no
    /// field of the value.
    ///
    /// # Safety
    ///
    /// - There is a `P` at `offset` in the piece.
    pub(super) unsafe fn locate<P: BlobData, F>(
        &self,
        piece: u32,
        offset: u32,
        pick: impl FnOnce(&P) -> &F,
    ) -> Option<FieldKey> {
        let start = self.list[piece as usize].start + offset as usize;
        let bytes = &self.bytes.as_slice()[start..][..size_of::<P>()];
        // SAFETY: a `P` is at this place, written field by field from a value. Its padding and its
        // relative pointers are zero, which makes the pointers empty. It is aligned, as its piece
        // and the bytes are. It is not written while `self` is borrowed.
        let value = unsafe { &*bytes.as_ptr().cast::<P>() };
        let field: *const F = pick(value);
        // A field has bytes, so if it begins and ends within the value, it is part of it.
        let within = field.addr().checked_sub(bytes.as_ptr().addr())?;
        let end = within.checked_add(size_of::<F>())?;
        (end <= bytes.len() && size_of::<F>() > 0).then_some((piece, offset + within as u32))
    }

    /// Returns the contents of a field.
    pub(super) fn link(&self, field: FieldKey) -> Option<Link> {
        self.links.get(&field).copied()
    }

    /// Sets the contents of a field.
    pub(super) fn set_link(&mut self, field: FieldKey, link: Link) {
        self.links.insert(field, link);
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Lays the pieces out, and writes the offsets.
    pub(super) fn build(&self) -> Result<Block, LayoutFault> {
        let layout = lay_out(&self.list, &self.links)?;
        let mut bytes = AlignedBytes::zeroed(layout.size);
        let block = bytes.as_mut_slice();
        for (piece, position) in self.list.iter().zip(&layout.positions) {
            let values = &self.bytes.as_slice()[piece.start..][..piece.size];
            block[*position..][..piece.size].copy_from_slice(values);
        }
        for ((piece, field), link) in &self.links {
            let at = layout.positions[*piece as usize] + *field as usize;
            // Pointers lead forward, and the size of a block fits a `u32`.
            let offset = |target| (layout.positions[target as usize] - at) as u32;
            let offset = link.target.map_or(0, offset);
            block[at..][..4].copy_from_slice(&offset.to_ne_bytes());
            if let Some(length) = link.length {
                block[at + 4..][..4].copy_from_slice(&length.to_ne_bytes());
            }
        }
        Ok(Block::new(bytes))
    }
}
